"""Requests: the same arguments are checked once."""

from __future__ import annotations

from typing import Any

from motiflux.request.request import make_request


def test_the_same_arguments_make_the_same_request() -> None:
    def asked(**more: Any) -> object:
        return make_request(semantics="isomorphism", symmetry="embeddings", **more)

    assert asked(tuning={"tables": "on"}) is asked(tuning={"tables": "on"})
    assert asked(timeout=1) is not asked(timeout=2)
    watched = make_request(semantics="isomorphism", symmetry="embeddings", progress=print)
    assert watched.progress is print
    assert make_request(semantics="isomorphism", symmetry="embeddings").progress is None
