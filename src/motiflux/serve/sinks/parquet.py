"""Alerts in parts of Parquet, each a file that appears whole."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from motiflux.atomic import AtomicFile
from motiflux.errors import MotifluxError, OutputError
from motiflux.packages import require
from motiflux.serve.sinks.sink import Sent, Sink
from motiflux.times.iso import parse_moment

_NAME = re.compile(r"part-([0-9]{16})\.parquet")
_BEGUN = {"begun": True}
"""On disk before the first part is written: parts behind the position are then those of this log."""


class ParquetParts(Sink):
    """Writes parts whose names are the numbers of their first alerts.

    A part whose alerts the log does not count as delivered is removed when the sink is opened: its alerts are
    written again.
    """

    promise = "exactly once"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        options = self.settings.options
        self.linger = options["wait"] / 1e9
        self.most = options["rows"]
        self._arrow = require("pyarrow", f"sink {self.name}")
        self._parquet = require("pyarrow.parquet", f"sink {self.name}")

    def open(self) -> None:
        """Remove parts that were not counted as delivered; those of another log are refused."""
        folder: Path = self.settings.options["folder"]
        folder.mkdir(parents=True, exist_ok=True)
        found = [(_NAME.fullmatch(file.name), file) for file in folder.iterdir()]
        behind = [file for name, file in found if name is not None and int(name[1]) > self.delivered]
        if self.state is None:
            if behind:
                raise OutputError(f"{folder}: expected no parts of another log, found {min(behind).name}")
            self.state = _BEGUN
            self.keep_state()
        for file in behind:
            file.unlink()

    def deliver(self, alerts: Sequence[Sent]) -> Any:
        """Write a part."""
        arrow = self._arrow
        rows = [json.loads(alert.body) for alert in alerts]
        moments = [_moment(row["time"]) for row in rows]
        columns = {
            "id": [alert.id for alert in alerts],
            "pattern": [row["pattern"] for row in rows],
            "sign": arrow.array([row["sign"] for row in rows], arrow.int8()),
            "number": arrow.array([row["number"] for row in rows], arrow.int64()),
            "source": [row["source"] for row in rows],
            "time": arrow.array(moments, arrow.timestamp("ns", tz="UTC")),
            "match": [json.dumps(row["match"], ensure_ascii=False) for row in rows],
            "body": [alert.body for alert in alerts],
        }
        stream = io.BytesIO()
        self._parquet.write_table(arrow.table(columns), stream, compression="zstd")
        with AtomicFile(self.settings.options["folder"] / f"part-{alerts[0].number:016d}.parquet") as file:
            file.write(stream.getbuffer())
        return self.state


def _moment(text: str) -> int:
    found = parse_moment(text)
    if found is None:
        raise MotifluxError(f"time: expected a datetime, found {text!r}")
    return found[0]
