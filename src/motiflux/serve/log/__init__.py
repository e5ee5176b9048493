"""The log: records, alerts, positions and patterns in one database."""
