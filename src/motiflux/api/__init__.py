"""The public calls: they check their arguments, ask an engine or a sampler, and return its results."""
