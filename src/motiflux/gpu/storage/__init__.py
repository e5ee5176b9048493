"""What searches read in device memory: rows of graphs, candidate spaces, candidates of samplers."""
