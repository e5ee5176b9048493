"""A plan as plain data that JSON has words for."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from motiflux.plan.report.data import PlanReport

SCHEMA = 1
"""Version of the object."""


def to_dict(report: PlanReport) -> dict[str, Any]:
    """Return the report as dictionaries, lists, strings and numbers, ``"schema": 1`` first.

    Keys are the fields of `motiflux.plan.report.PlanReport` and what it is made of; None is JSON's null.
    """
    return {"schema": SCHEMA, **_plain(report)}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
