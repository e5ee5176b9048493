"""What searches read in device memory: rows, candidate spaces, candidates of samplers, roots of tables."""
