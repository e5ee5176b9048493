"""A report as data that JSON can represent."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from motiflux.plan.report.data import PlanReport

SCHEMA = 1
"""Version of the format."""


def to_dict(report: PlanReport) -> dict[str, Any]:
    """Return the report as dictionaries, lists, strings and numbers, ``"schema": 1`` first.

    Keys are the fields of `motiflux.plan.report.PlanReport` and of the dataclasses in it; None becomes null.
    """
    return {"schema": SCHEMA, **_plain(report)}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
