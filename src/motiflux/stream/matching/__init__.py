"""A graph that changes, the patterns watched on it, and the changes of their matches."""
