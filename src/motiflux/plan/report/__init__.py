"""Plans described for people and other programs."""
