"""Families of kernels: cliques, universal vertices, tables of local counts, samples."""
