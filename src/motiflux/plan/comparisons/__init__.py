"""Comparisons between attributes in plans: bound to a graph, in an order of search, for the native code."""
