"""The service on the network: records, patterns, metrics and the page."""
