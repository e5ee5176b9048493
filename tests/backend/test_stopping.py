"""Kernels that are told to stop look at that in the middle of what takes them long."""

from __future__ import annotations

import ctypes
import time

import numpy as np
import pytest

import motiflux as mf
from motiflux.codegen import layout
from motiflux.codegen.kernels import ENTRY
from motiflux.gpu.engine import DfsEngine
from motiflux.gpu.kernels import cliques
from motiflux.gpu.kernels.universal_vertex import parts_of
from motiflux.gpu.runtime.accelerator import open_accelerator
from motiflux.jit import Source
from motiflux.plan import make_plan
from motiflux.request.request import make_request
from tests.backend.cases import clique

pytestmark = pytest.mark.devices("emulated", "cuda", reason="the kernels are not the CPU's")

MEMBERS = 750
"""So many that a block has looked half of them up when it first looks whether to stop."""


@pytest.fixture(scope="module")
def dense() -> mf.Graph:
    return mf.Graph.from_edges(np.transpose(np.triu_indices(MEMBERS, 1)))


@pytest.mark.parametrize("semantics", ["isomorphism", "induced"])
@pytest.mark.parametrize("lacking", [0, 1], ids=["cliques", "cones"])
def test_nothing_is_counted_among_links_that_are_not_all_known(
    device: str, dense: mf.Graph, lacking: int, semantics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first unit of a block is begun although it is told to stop, and neither looked up nor counted.

    With links missing, `induced` would find cones where there are none.
    """
    monkeypatch.setattr(cliques, "_SHARED_BYTES", 98 << 10)  # units in device memory are not even begun
    pattern = mf.Pattern.from_edges(clique(5)[lacking:])
    options = {"semantics": semantics, "symmetry": "subgraphs"}
    request = make_request(**options, device=device, tuning={"bitmaps": "on", "tables": "off"})
    plan = make_plan(dense, pattern, semantics=request.semantics, symmetry=request.symmetry)
    engine = DfsEngine(open_accelerator(device))
    bits = engine.bits(dense, plan, request)
    assert (bits is None) == (lacking == 0)
    part = None if bits is None else parts_of(bits)[0]
    with engine._counting(dense, plan, request, None, None, part=part) as search:
        session = search._on()
        session.main.upload(session.control, session._stop, layout.Control.stop.offset)
        search._stopping = True
        search.launch()
        while not search.done():
            time.sleep(1e-3)
        assert search.task.blocks > search.task.spilled == 0
        assert search.found() == 0


CHOICES = 1 << 15
SLOTS = f"""\
#include "motiflux/lanes/group.hpp"
#include "motiflux/match/distinct_sums.cuh"

namespace {{

using namespace motiflux;

struct Args {{
  std::uint32_t* memory;  // of two branches: vertices, and their ways
  std::uint64_t* out;
  std::uint64_t most;
}};

struct Rows {{
  const view::Adjacency* rows = nullptr;
}};

struct Searching {{
  using Group = motiflux::lanes::Group<32>;
  Group group;
  Rows rows;
  match::SharedState state{{nullptr, 0, 0}};
  std::uint32_t* words = nullptr;
  MOTIFLUX_DEVICE const Group& lanes() const {{ return group; }}
  MOTIFLUX_DEVICE const Rows& plan() const {{ return rows; }}
  MOTIFLUX_DEVICE const match::SharedState& shared() const {{ return state; }}
  MOTIFLUX_DEVICE std::uint32_t* memory() const {{ return words; }}
}};

}}  // namespace

extern "C" __global__ void {ENTRY}(const __grid_constant__ Args args) {{
  __shared__ Number behind[64];
  Searching searching;
  searching.words = args.memory;
  view::Tail tail{{}};
  view::OverlapComponents components{{}};
  components.components = 1, components.branches = 2, components.masks = 4;
  view::OverlapComponent& component = components.all[0];
  component.branches = 2, component.divisor = 1;
  for (std::uint32_t branch = 0; branch < 2; ++branch) {{
    components.branch[branch].at = branch * 3 * {CHOICES};
    components.branch[branch].capacity = {CHOICES};
  }}
  const match::OverlapMemory at(components, behind);
  for (std::uint32_t branch = 0; branch < 2; ++branch)
    at.branches[branch] = {{{{{CHOICES}, 0}}, {CHOICES}, 0}};
  std::uint64_t asked = 0, longest = 0;
  bool overflow = false;
  const match::DistinctSums<Searching> sums(searching, tail, components, component, at);
  const bool whole = sums.fill(overflow, [&](std::uint64_t steps) {{
    longest = steps > longest ? steps : longest;
    return ++asked < args.most;
  }});
  const std::uint64_t both = whole ? sums.ways().low : 0;
  if (threadIdx.x == 0) args.out[0] = whole, args.out[1] = asked, args.out[2] = longest, args.out[3] = both;
}}
"""


class SlotArgs(ctypes.Structure):
    _fields_ = (("memory", ctypes.c_uint64), ("out", ctypes.c_uint64), ("most", ctypes.c_uint64))


@pytest.mark.parametrize("most", [7, 1 << 40], ids=["told to stop", "to the end"])
def test_a_walk_over_all_neighbours_of_a_hub_asks_whether_to_break_off(device: str, most: int) -> None:
    """Two slots with the same choices, one way each: pairs of different ones."""
    accelerator = open_accelerator(device)
    part = [np.arange(CHOICES, dtype=np.uint32), np.ones(CHOICES, np.uint64).view(np.uint32)]
    words, out = np.concatenate(part * 2), np.zeros(4, np.uint64)
    memory = accelerator.device.allocate(words.nbytes, "choices")
    found = accelerator.device.allocate(out.nbytes, "what was found")
    stream = accelerator.device.stream()
    try:
        stream.upload(memory, words)
        kernel = accelerator.kernel(Source("slots", SLOTS))
        stream.launch(kernel, 1, 32, 0, SlotArgs(memory.address, found.address, most))
        stream.download(found, out)
        stream.wait()
    finally:
        stream.close()
    whole, asked, longest, ways = (int(word) for word in out)
    assert longest < 256
    assert bool(whole) == (most > 7)
    assert (asked, ways) == ((16 + 2, CHOICES * (CHOICES - 1)) if whole else (7, 0))
