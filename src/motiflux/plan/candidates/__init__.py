"""Candidate spaces: which data vertices each query vertex may go to."""
