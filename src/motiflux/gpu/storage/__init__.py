"""Data that kernels read in device memory: rows, candidate spaces, sampling candidates, roots of tables."""
