"""The CPU engine, and a reference implementation for tests."""
