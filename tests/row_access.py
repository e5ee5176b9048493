"""Ways in which searches open rows of the host, drawn together: each has kernels of its own to compile."""

from __future__ import annotations

from collections.abc import Mapping

ROW_ACCESS: tuple[Mapping[str, str], ...] = (
    {},
    {"cache_lookup": "bisect", "row_staging": "on"},
    {"cache_lookup": "hash", "row_staging": "always", "touched_rows": "two_parts"},
)
