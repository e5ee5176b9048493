"""The passes that make and change the steps of a plan, one per file."""
