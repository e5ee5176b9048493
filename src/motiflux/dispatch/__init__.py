"""The choice of the engine for a call, and its reason."""
