"""``engine="streaming"``: one kernel stays on a GPU and answers updates one by one (DCSM)."""

from motiflux.codegen.streaming import INSERTION, JUDGED, UPDATE
from motiflux.gpu.streaming.records import COUNT, Taken
from motiflux.gpu.streaming.resident import ResidentStream
from motiflux.gpu.streaming.settings import StreamSettings
from motiflux.gpu.streaming.watching import StreamProgress, StreamStalledError

__all__ = [
    "COUNT",
    "INSERTION",
    "JUDGED",
    "UPDATE",
    "ResidentStream",
    "StreamProgress",
    "StreamSettings",
    "StreamStalledError",
    "Taken",
]
