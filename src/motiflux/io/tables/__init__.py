"""Matches and graphs as tables: the input of writers."""
