"""Sources: each reads records in a thread of its own, from the position that the log has."""
