"""Which engine serves a call, and why."""
