"""Candidate spaces: the data vertices to which each query vertex may be matched."""
