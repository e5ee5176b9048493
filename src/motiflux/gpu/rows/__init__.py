"""Rows of embeddings, from device memory to the caller."""
