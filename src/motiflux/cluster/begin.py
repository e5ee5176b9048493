"""What listings on clusters whose rows come back as `Matches` begin with."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from motiflux.api.matching import DEFAULT_BATCH_ROWS, MAX_BATCH_ROWS
from motiflux.arguments import check_integer
from motiflux.request.deadline import Deadline
from motiflux.request.progress import FoundSoFar, progress_callback
from motiflux.request.request import Request, make_request


def begun(
    options: Mapping[str, Any], chosen: Mapping[str, Any], bar: ExitStack
) -> tuple[int, Request, Deadline]:
    """Return the rows of a batch, the request and its deadline; the bar of progress ends with `bar`.

    Parameters
    ----------
    chosen
        The options of the search.
    """
    given = options.get("batch_rows", DEFAULT_BATCH_ROWS)
    batch_rows = check_integer("batch_rows", given, 1, MAX_BATCH_ROWS)
    callback = bar.enter_context(progress_callback(options.get("progress", False), "matching"))
    request = make_request(**chosen, progress=None if callback is None else FoundSoFar(callback))
    return batch_rows, request, Deadline.after(request.timeout)
