"""Charts of graphs and counts, drawn with matplotlib (``pip install 'motiflux[plot]'``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from motiflux.errors import ArgumentError
from motiflux.graph import Graph
from motiflux.packages import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from motiflux.result.estimate import Estimate
    from motiflux.result.significance import Significance

Direction = Literal["both", "out", "in"]
_MOST_BARS = 64
_MOST_COUNT = 2**128


def degree_distribution(
    graph: Graph, *, direction: Direction = "both", ax: Axes | None = None, label: str | None = None
) -> Axes:
    """Draw which share of a graph's vertices has at least each degree, both on logarithmic scales.

    Parameters
    ----------
    graph
        Vertices without edges count as vertices, but have no place on the scale.
    direction
        Degrees of directed graphs: ``"both"`` counts all edges at a vertex, ``"out"`` and ``"in"`` those
        that leave or enter it. Undirected graphs have one degree.
    ax
        Where to draw; default: a new figure.
    label
        The name in a legend.

    Returns
    -------
    matplotlib.axes.Axes
        Where it was drawn.

    Raises
    ------
    MotifluxError
        There is no matplotlib.

    Examples
    --------
    >>> import motiflux as mf
    >>> from motiflux.plot import tail_shares
    >>> g = mf.Graph.from_edges([(0, 1), (0, 2), (0, 3)])
    >>> [values.tolist() for values in tail_shares(g)]
    [[1, 3], [1.0, 0.25]]
    """
    degrees, shares = tail_shares(graph, direction=direction)
    ax = _axes(ax)
    ax.plot(degrees, shares, marker="o", markersize=4, linestyle="-", linewidth=1, label=label)
    if len(degrees):  # of no values there is no logarithm to take
        ax.set_xscale("log")
        ax.set_yscale("log")
    words = {"both": "degree", "out": "out-degree", "in": "in-degree"}[direction]
    ax.set_xlabel(words)
    ax.set_ylabel(f"share of vertices of at least this {words}")
    ax.grid(visible=True, which="major", alpha=0.3)
    if label is not None:
        ax.legend()
    return ax


def tail_shares(
    graph: Graph, *, direction: Direction = "both"
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the distinct degrees above 0, ascending, and the share of vertices of at least each.

    Examples
    --------
    >>> import motiflux as mf
    >>> g = mf.Graph.from_edges([(0, 1), (0, 2)], directed=True)
    >>> [values.round(2).tolist() for values in tail_shares(g, direction="in")]
    [[1], [0.67]]
    """
    if direction not in ("both", "out", "in"):
        raise ArgumentError("direction", "'both', 'out' or 'in'", direction)
    degrees = graph.reverse.degrees() if direction == "in" else graph.forward.degrees()
    if direction == "both" and graph.directed:
        degrees = degrees + graph.reverse.degrees()
    values, numbers = np.unique(degrees, return_counts=True)
    shares = np.cumsum(numbers[::-1])[::-1] / max(1, len(degrees))
    return values[values > 0], shares[values > 0]


def counts(
    counts: Mapping[str, int] | Sequence[tuple[str, int]],
    *,
    other: Mapping[str, int] | None = None,
    labels: tuple[str, str] = ("here", "there"),
    ax: Axes | None = None,
) -> Axes:
    """Draw counts of patterns as bars, on a logarithmic scale where they span more than a factor of 100.

    Parameters
    ----------
    counts
        Counts by name, drawn from the top down. The number of a `Count` that was cut gets a ``>``.
    other
        Counts of the same patterns elsewhere, drawn beside.
    labels
        The names of the two in the legend.
    ax
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Where it was drawn.

    Raises
    ------
    ArgumentError
        There are no counts, more than 64, a count that is not an integer from 0 to 2**128, a repeated name,
        or `other` has other names.
    MotifluxError
        There is no matplotlib.
    """
    given = _by_name("counts", counts)
    series = [given] if other is None else [given, _by_name("other", other)]
    _check_counts(series)
    ax = _axes(ax)
    height = 0.8 / len(series)
    for place, one in enumerate(series):
        at = np.arange(len(given)) + (place - (len(series) - 1) / 2) * height
        # Numbers of any size: matplotlib takes floats.
        bars = ax.barh(at, [float(one[name]) for name in given], height=height, label=labels[place])
        ax.bar_label(bars, [_number(one[name]) for name in given], padding=3)
    ax.set_yticks(np.arange(len(given)), [name or "unnamed" for name in given])
    ax.invert_yaxis()
    ax.set_xlabel("occurrences")
    sizes = [float(size) for one in series for size in one.values() if size > 0]
    if sizes and max(sizes) > 100 * min(sizes):
        ax.set_xscale("log")
    ax.margins(x=0.3)
    if len(series) > 1:
        ax.legend()
    return ax


def significance(result: Significance, *, ax: Axes | None = None) -> Axes:
    """Draw the z-scores of classes or patterns as bars, with the adjusted p-values.

    Parameters
    ----------
    result
        The result of `motiflux.significance`. Of more than 64 rows, those with the greatest z-scores of
        either sign are drawn; rows without a finite z-score are left out.
    ax
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Where it was drawn.

    Raises
    ------
    ArgumentError
        No z-score is finite.
    MotifluxError
        There is no matplotlib.
    """
    finite = np.flatnonzero(np.isfinite(result.z))
    if len(finite) == 0:
        raise ArgumentError("result", "a finite z-score", result)
    greatest = finite[np.argsort(-np.abs(result.z[finite]), kind="stable")][:_MOST_BARS]
    chosen = np.sort(greatest)
    ax = _axes(ax)
    at = np.arange(len(chosen))
    bars = ax.barh(at, result.z[chosen])
    ax.bar_label(bars, [f"p = {value:.2g}" for value in result.adjusted[chosen]], padding=3)
    ax.set_yticks(at, [result.names[place] for place in chosen])
    ax.invert_yaxis()
    ax.axvline(0, color="black", linewidth=1)
    ax.set_xlabel(f"z-score against {len(result.null_counts):,} random graphs")
    ax.margins(x=0.3)
    return ax


def estimate(result: Estimate, *, true: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw how an estimate went: its value and interval over the number of samples.

    Parameters
    ----------
    result
        The result of `motiflux.estimate`.
    true
        The true count, if it is known: a line across.
    ax
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Where it was drawn.

    Raises
    ------
    ArgumentError
        The estimate has no trace: nothing had to be sampled, or there was no time to.
    MotifluxError
        There is no matplotlib.
    """
    if not result.trace:
        raise ArgumentError("result", "an estimate with a trace", result)
    ax = _axes(ax)
    samples = [point.samples for point in result.trace]
    ax.plot(samples, [point.value for point in result.trace], marker="o", markersize=3, label="estimate")
    low, high = ([getattr(point, end) for point in result.trace] for end in ("low", "high"))
    ax.fill_between(samples, low, high, alpha=0.2, label=f"{100 * result.confidence:g} % interval")
    if true is not None:
        ax.axhline(true, color="black", linewidth=1, linestyle="--", label="true count")
    ax.set_xscale("log")
    ax.set_xlabel("samples")
    ax.set_ylabel("occurrences")
    ax.legend()
    return ax


def _by_name(argument: str, counts: Any) -> dict[str, int]:
    """Return counts by name, each a number that can be drawn."""
    try:
        pairs = list(counts.items() if isinstance(counts, Mapping) else counts)
        names, numbers = [name for name, _ in pairs], [number for _, number in pairs]
    except (TypeError, ValueError):
        raise ArgumentError(argument, "counts by name, or pairs of a name and a count", counts) from None
    seen: set[str] = set()
    for name, number in zip(names, numbers, strict=True):
        if not isinstance(name, str):
            raise ArgumentError(argument, "names that are strings", name)
        if name in seen:
            raise ArgumentError(argument, "each name once", name)
        seen.add(name)
        whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if not whole or not 0 <= number <= _MOST_COUNT:
            raise ArgumentError(f"{argument}[{name!r}]", "an integer from 0 to 2**128", number)
    return dict(zip(names, numbers, strict=True))


def _check_counts(series: Sequence[Mapping[str, int]]) -> None:
    first = series[0]
    if not 0 < len(first) <= _MOST_BARS:
        raise ArgumentError("counts", f"1 to {_MOST_BARS} counts", len(first))
    if any(one.keys() != first.keys() for one in series):
        raise ArgumentError("other", f"counts of {', '.join(first)}", list(series[1]))


def _number(count: int) -> str:
    text = f"{int(count):,}" if count < 10**9 else f"{float(count):.3g}"
    return text if getattr(count, "complete", True) else f"> {text}"


def _axes(ax: Axes | None) -> Any:
    if ax is not None:
        return ax
    return require("matplotlib.pyplot", "motiflux.plot").subplots()[1]
