"""The results of calls."""
