"""Expected results, times and memory of plans."""
