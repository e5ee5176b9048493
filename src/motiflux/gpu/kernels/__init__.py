"""One family of kernels per file: cliques, universal vertices, tables, samples."""
