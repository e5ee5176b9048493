"""Figures as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from motiflux.serve.core import Core
from motiflux.serve.figures import BOUNDS, Histogram
from motiflux.serve.status import memory_bytes, troubles


class _Figures(Collector):
    """Reads the figures of a service when they are asked for."""

    def __init__(self, service: Core) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Yield all figures."""
        service, figures = self._service, self._service.figures
        yield _counters("motiflux_records", "Records taken, by source.", "source", figures.records)
        yield _counters("motiflux_refused", "Records refused when they were read.", "source", figures.refused)
        refused, late = figures.refused_by_monitors, figures.late
        yield CounterMetricFamily("motiflux_refused_by_monitors", "Records that a monitor refused.", refused)
        yield CounterMetricFamily("motiflux_late", "Records that were late.", late)
        yield CounterMetricFamily("motiflux_alerts", "Alerts.", figures.alerts)
        yield _counters("motiflux_delivered", "Alerts delivered, by sink.", "sink", figures.delivered)
        lags = {sink.name: sink.lag for sink in service.sinks}
        yield _gauges("motiflux_sink_lag_alerts", "Alerts that a sink does not have yet.", "sink", lags)
        yield _gauges(
            "motiflux_source_lag", "Messages, or bytes of a file, that wait.", "source", figures.lag
        )
        yield _counters(
            "motiflux_gaps", "Times that records were lost before they were read.", "source", figures.gaps
        )
        yield _counters(
            "motiflux_lost", "Messages, or bytes of a file, that were lost, at least.", "source", figures.lost
        )
        yield GaugeMetricFamily("motiflux_waiting_records", "Records in the queue.", service.intake.waiting)
        held = len(service.engine.ordering)
        yield GaugeMetricFamily("motiflux_held_records", "Records that wait for earlier ones.", held)
        yield GaugeMetricFamily("motiflux_memory_bytes", "Resident memory.", memory_bytes())
        yield GaugeMetricFamily(
            "motiflux_ready", "Whether records are applied and written.", service.is_ready
        )
        behind = service.engine.clock.behind
        yield GaugeMetricFamily("motiflux_clock_seconds", "By how much the system's clock has moved.", behind)
        yield _gauges(
            "motiflux_trouble", "Parts that do not work.", "part", dict.fromkeys(troubles(service), 1)
        )
        rows = service.patterns()
        found = CounterMetricFamily(
            "motiflux_matches", "Matches by pattern and change.", labels=["pattern", "change"]
        )
        for row in rows:
            found.add_metric([row.settings.name, "appeared"], row.positive)
            found.add_metric([row.settings.name, "vanished"], row.negative)
        yield found
        suppressed = {row.settings.name: row.suppressed for row in rows}
        yield _counters("motiflux_suppressed", "Matches beyond limit or rate.", "pattern", suppressed)
        active = {row.settings.name: int(row.state == "active") for row in rows}
        yield _gauges("motiflux_pattern_active", "Whether a pattern is matched.", "pattern", active)
        yield _histogram("motiflux_latency_seconds", "From arrival to disk.", figures.latency)
        yield _histogram("motiflux_commit_seconds", "Transactions of the log.", figures.commit_time)
        yield _histogram(
            "motiflux_checkpoint_seconds", "Until a checkpoint was on disk.", figures.checkpoint_time
        )
        yield _histogram(
            "motiflux_checkpoint_hold_seconds",
            "How long records waited for a checkpoint.",
            figures.checkpoint_hold,
        )


def _counters(name: str, about: str, label: str, values: dict[str, int]) -> Metric:
    family = CounterMetricFamily(name, about, labels=[label])
    for key, value in list(values.items()):
        family.add_metric([key], value)
    return family


def _gauges(name: str, about: str, label: str, values: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=[label])
    for key, value in list(values.items()):
        family.add_metric([key], value)
    return family


def _histogram(name: str, about: str, histogram: Histogram) -> Metric:
    buckets, total = [], 0
    for bound, count in zip([*map(str, BOUNDS), "+Inf"], list(histogram.counts), strict=True):
        total += count
        buckets.append((bound, total))
    return HistogramMetricFamily(name, about, buckets=buckets, sum_value=histogram.sum)


class Metrics:
    """Text for Prometheus.

    Parameters
    ----------
    service
        The service.
    """

    def __init__(self, service: Core) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Figures(service))

    def text(self) -> bytes:
        """Return all figures."""
        return generate_latest(self._registry)
