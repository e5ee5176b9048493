"""Real data that motiflux brings with it."""

from motiflux.datasets.synsets import wordnet

__all__ = ["wordnet"]
