"""The CPU engine and the oracle that judges it."""
