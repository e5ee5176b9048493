"""The structures of `motiflux.codegen.layout` are those of the headers: same sizes, same offsets."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motiflux.codegen import (
    access_walks,
    changing,
    compared,
    gpma,
    layout,
    local_counts_layout,
    pcsr,
    pvm,
    row_access,
    sampling,
    space,
    streaming,
)
from motiflux.codegen import universal_vertex as universal_vertex_layout
from motiflux.codegen.kernels import LANES, THREADS, Goal, clique, search_source
from motiflux.gpu.changing.plans import ReadsBefore
from motiflux.plan.graphlets import EDGE_ORBITS, ORBITS
from motiflux.plan.neighborhood.universal_vertex import MOST_LEVELS, ClosedForm

REPOSITORY = Path(__file__).parents[2]
INCLUDE = REPOSITORY / "src/motiflux/include"
SIMT = REPOSITORY / "tests/simt"

STATIC = layout.static_args(3, 3)
STATIC_TAIL = layout.static_args(3, 3, tail=True)
STATIC_IMAGES = layout.static_args(3, 3, images=True)
STRUCTURES: dict[str, Any] = {
    "motiflux::view::Adjacency": layout.Adjacency,
    "motiflux::view::StepShape": layout.StepShape,
    "motiflux::view::StepArgs": layout.StepArgs,
    "motiflux::match::RuntimePlan": layout.RuntimePlan,
    "motiflux::match::SearchArgs<motiflux::match::RuntimePlan>": layout.RuntimeArgs,
    "motiflux::match::Control": layout.Control,
    "motiflux::match::Task": layout.Task,
    "motiflux::match::WorkQueue": layout.WorkQueue,
    "motiflux::match::Split": layout.Split,
    "motiflux::match::Cursor": layout.Cursor,
    "motiflux::match::LevelState": layout.LevelState,
    "motiflux::match::Place": layout.Place,
    "motiflux::match::Saved": layout.Saved,
    "motiflux::view::TailSource": layout.TailSource,
    "motiflux::view::TailSet": layout.TailSet,
    "motiflux::view::TailComponent": layout.TailComponent,
    "motiflux::view::TailTerm": layout.TailTerm,
    "motiflux::view::TailLevel": layout.TailLevel,
    "motiflux::view::Tail": layout.Tail,
    "motiflux::match::TailFrame": layout.TailFrame,
    "motiflux::match::KeptNumber": layout.KeptNumber,
    "motiflux::match::TailArgs<motiflux::match::RuntimePlan>": layout.RuntimeTailArgs,
    "motiflux::match::TailArgs<Plan>": STATIC_TAIL,
    "motiflux::match::ImagePlace": layout.ImagePlace,
    "motiflux::match::ImageTask": layout.ImageTask,
    "motiflux::match::ImageArgs<motiflux::match::RuntimePlan>": layout.RuntimeImageArgs,
    "motiflux::match::ImageArgs<Plan>": STATIC_IMAGES,
    "motiflux::sets::Span": layout.Span,
    "motiflux::device::Ring": layout.Ring,
    "motiflux::device::Tickets": layout.Tickets,
    "motiflux::random::Permutation": layout.Permutation,
    "motiflux::generate::Quadrants": layout.Quadrants,
    "motiflux::generate::Rmat": layout.Rmat,
    "motiflux::generate::RmatArgs": layout.RmatArgs,
    "motiflux::candidates::Group": space.Group,
    "motiflux::candidates::RowSet": space.RowSet,
    "motiflux::candidates::Report": space.Report,
    "motiflux::candidates::SpaceArgs": space.SpaceArgs,
    "motiflux::match::CliqueTask": layout.CliqueTask,
    "motiflux::match::CliqueArgs": layout.CliqueArgs,
    "motiflux::match::UniversalVertexBase": universal_vertex_layout.Base,
    "motiflux::match::UniversalVertexStep": universal_vertex_layout.Step,
    "motiflux::match::UniversalVertexShape": universal_vertex_layout.Shape,
    "motiflux::match::UniversalVertexTask": universal_vertex_layout.Task,
    "motiflux::match::UniversalVertexArgs": universal_vertex_layout.Args,
    "motiflux::match::ChangingSource": changing.ChangingSource,
    "motiflux::match::TailPart": changing.TailPart,
    "motiflux::match::ChangingPlan": changing.ChangingPlan,
    "motiflux::match::ChangingPlans": changing.ChangingPlans,
    "motiflux::match::SearchArgs<motiflux::match::ChangingPlans>": changing.ChangingArgs,
    "motiflux::match::Pool": changing.Pool,
    "motiflux::match::PooledPlans": changing.PooledPlans,
    "motiflux::match::SearchArgs<motiflux::match::PooledPlans>": changing.PooledArgs,
    "motiflux::changing::CandidateArgs": changing.CandidateArgs,
    "motiflux::changing::EncodeArgs": changing.EncodeArgs,
    "motiflux::changing::CacheArgs": changing.CacheArgs,
    "motiflux::changing::WriteArgs": changing.WriteArgs,
    "motiflux::changing::WritesArgs": changing.WritesArgs,
    "motiflux::changing::WalkArgs": access_walks.WalkArgs,
    "motiflux::view::RowBitmaps": changing.RowBitmaps,
    "motiflux::changing::RowBitmapsArgs": changing.RowBitmapsArgs,
    "motiflux::changing::PackedArray": gpma.PackedArray,
    "motiflux::changing::PackedRows": gpma.PackedRows,
    "motiflux::changing::PackedArgs": gpma.PackedArgs,
    "motiflux::changing::PackedMergeArgs": gpma.PackedMergeArgs,
    "motiflux::match::TriangleTask": layout.TriangleTask,
    "motiflux::match::TriangleArgs": layout.TriangleArgs,
    "motiflux::view::RowTile": layout.RowTile,
    "motiflux::match::TriangleTileTask": layout.TriangleTileTask,
    "motiflux::match::TriangleTileArgs": layout.TriangleTileArgs,
    "motiflux::rows::NumberArgs": layout.NumberArgs,
    "motiflux::device::EchoArgs": layout.EchoArgs,
    "motiflux::device::FloodArgs": layout.FloodArgs,
    "motiflux::view::IntervalRows": pcsr.IntervalRows,
    "motiflux::view::HashRows": pcsr.HashRows,
    "motiflux::pvm::Columns": pvm.Columns,
    "motiflux::pvm::PhaseControl": pvm.PhaseControl,
    "motiflux::pvm::Work": pvm.Work,
    "motiflux::pvm::CandidateSet": pvm.CandidateSet,
    "motiflux::pvm::ArcTest": pvm.ArcTest,
    "motiflux::pvm::ExtendArgs": pvm.ExtendArgs,
    "motiflux::pvm::BucketArgs": pvm.BucketArgs,
    "motiflux::pvm::EliminateArgs": pvm.EliminateArgs,
    "motiflux::pvm::ExtendByHashArgs": pvm.ExtendByHashArgs,
    "motiflux::pvm::EliminateByHashArgs": pvm.EliminateByHashArgs,
    "motiflux::pvm::OffsetArgs": pvm.OffsetArgs,
    "motiflux::pvm::FilterArgs": pvm.FilterArgs,
    "motiflux::pcsr::FindArgs<motiflux::view::IntervalRows>": pcsr.FindByInterval,
    "motiflux::pcsr::FindArgs<motiflux::view::HashRows>": pcsr.FindByHash,
    "motiflux::streaming::PoolCounts": streaming.PoolCounts,
    "motiflux::streaming::Pool": streaming.Pool,
    "motiflux::streaming::Progress": streaming.Progress,
    "motiflux::streaming::Stages": streaming.Stages,
    "motiflux::streaming::StreamGraph": streaming.StreamGraph,
    "motiflux::streaming::LoadArgs": streaming.LoadArgs,
    "motiflux::streaming::MoveArgs": streaming.MoveArgs,
    "motiflux::view::Versions": streaming.Versions,
    "Plan": dict(STATIC._fields_)["plan"],
    "motiflux::match::SearchArgs<Plan>": STATIC,
    "motiflux::compared::Range": compared.Range,
    "motiflux::compared::Variable": compared.Variable,
    "motiflux::compared::Comparison": compared.Comparison,
    "motiflux::compared::Span": compared.Span,
    "motiflux::compared::Network": compared.Network,
    "motiflux::match::ComparedArgs<motiflux::match::RuntimePlan>": compared.RuntimeArgs,
    "motiflux::match::ComparedArgs<Plan>": compared.static_args(3, 3),
}
ARRAYS: dict[str, np.dtype[Any]] = {
    "motiflux::view::ChangingRow": changing.ROW,
    "motiflux::view::ChangingRows": changing.ROWS,
    "motiflux::match::UpdateRoot": changing.ROOT,
    "motiflux::match::Pooled": changing.POOLED,
    "motiflux::match::Utilisation": changing.UTILISATION,
    "motiflux::changing::Change": changing.CHANGE,
    "motiflux::changing::TouchedRow": changing.TOUCHED,
    "motiflux::changing::Piece": changing.PIECE,
    "motiflux::changing::MovedRow": changing.MOVED_ROW,
    "motiflux::changing::EncodeItem": changing.ENCODE_ITEM,
    "motiflux::changing::EncodeColumn": changing.ENCODE_COLUMN,
    "motiflux::changing::WalkLevel": access_walks.WALK_LEVEL,
    "motiflux::changing::OpenedRow": access_walks.OPENED_ROW,
    "motiflux::changing::PackedUpdate": gpma.UPDATE,
    "motiflux::changing::Window": gpma.WINDOW,
    "motiflux::changing::PackedChoice": gpma.CHOICE,
    "motiflux::view::RowHead": streaming.HEAD,
    "motiflux::view::TargetVersions": streaming.TARGET_VERSIONS,
    "motiflux::streaming::Update": streaming.UPDATE,
    "motiflux::streaming::Place": streaming.PLACE,
    "motiflux::streaming::UpdateSlot": streaming.UPDATE_SLOT,
    "motiflux::streaming::CopiedRows": streaming.COPIED_ROWS,
    "motiflux::pcsr::FoundRow": pcsr.FOUND_ROW,
    "motiflux::pvm::Items": pvm.ITEMS,
}
"""Structures that arrays of numpy hold."""
CONSTANTS: dict[str, int | str] = {
    "motiflux::view::Life::kForever": changing.FOREVER,
    "sizeof(motiflux::view::Life)": changing.LIFE_BYTES,
    "motiflux::match::kSpansOfTimed": changing.SPANS_OF_TIMED,
    "motiflux::changing::kSizeClasses": changing.SIZE_CLASSES,
    "motiflux::changing::kWalkThreads": access_walks.WALK_THREADS,
    "4 * motiflux::view::RowBitmaps::kWordsOfBlock": changing.BLOCK_BYTES,
    "motiflux::view::RowBitmaps::kIdsOfBlock": changing.IDS_OF_BLOCK,
    "motiflux::changing::kPackedThreads": gpma.THREADS,
    "motiflux::changing::kWindowLevels": gpma.WINDOW_LEVELS,
    "motiflux::changing::kMediumSlots": gpma.MEDIUM_SLOTS,
    "motiflux::changing::kTileSlots": gpma.TILE_SLOTS,
    "motiflux::changing::kWindowsOfWarp": gpma.WINDOWS_OF_WARP,
    "motiflux::changing::kSumTile": gpma.SUM_TILE,
    "motiflux::changing::kLargeShift": gpma.LARGE_SHIFT,
    "motiflux::changing::PackedUpdate::kInserts": gpma.INSERTS,
    **{
        f"static_cast<int>(motiflux::view::Repeats::k{name})": value
        for name, value in (
            ("None", changing.Repeats.NONE),
            ("InGaps", changing.Repeats.IN_GAPS),
            ("OfEdges", changing.Repeats.OF_EDGES),
        )
    },
    **{
        f"static_cast<int>(motiflux::changing::GroupSizes::k{sizes.name.title()})": sizes.value
        for sizes in gpma.GroupSizes
    },
    "motiflux::compared::kMostVariables": compared.MOST_VARIABLES,
    "motiflux::compared::kMostComparisons": compared.MOST_COMPARISONS,
    "motiflux::compared::kMostColumns": compared.MOST_COLUMNS,
    "motiflux::compared::kNoSource": compared.NO_SOURCE,
    **{
        f"static_cast<int>(motiflux::compared::Form::k{name})": value
        for name, value in (
            ("Plain", compared.PLAIN),
            ("Integers", compared.INTEGERS),
            ("Floats", compared.FLOATS),
        )
    },
    "motiflux::pvm::kMostTables": pvm.MOST_TABLES,
    "motiflux::pvm::kMostMembers": pvm.MOST_MEMBERS,
    "motiflux::pvm::kMostTests": pvm.MOST_TESTS,
    "motiflux::pvm::kThreads": pvm.THREADS,
    "motiflux::pvm::kBatch": pvm.BATCH,
    "motiflux::pvm::kAnyLabel": pvm.ANY_LABEL,
    "motiflux::pvm::kMember": pvm.MEMBER,
    "motiflux::pvm::kOffsetThreads": pvm.OFFSET_THREADS,
    "motiflux::pvm::kFilterThreads": pvm.FILTER_THREADS,
    "motiflux::pvm::kSignatureWords": pvm.SIGNATURE_WORDS,
    "motiflux::pvm::kEveryLabel": pvm.EVERY_LABEL,
    "sizeof(motiflux::pvm::OpenedBatch)": pvm.OPENED_BYTES,
    "motiflux::view::HashGroup::kWords": pcsr.GROUP_WORDS,
    "motiflux::view::HashGroup::kKeys": pcsr.GROUP_KEYS,
    "motiflux::view::HashGroup::kNone": pcsr.NO_KEY,
    "motiflux::pcsr::kFindThreads": pcsr.FIND_THREADS,
    "motiflux::view::kMaxLevels": layout.MAX_PATTERN_VERTICES,
    "motiflux::streaming::kUnitBytes": streaming.UNIT_BYTES,
    "motiflux::streaming::kSizeClasses": streaming.SIZE_CLASSES,
    "motiflux::view::kVersionUnit": streaming.UNIT_BYTES,
    "motiflux::streaming::kMostUpdates": streaming.MOST_UPDATES,
    "motiflux::streaming::kMostChanges": streaming.MOST_CHANGES,
    "motiflux::view::kMostInFlight": streaming.MOST_IN_FLIGHT,
    "motiflux::view::kFarthestEnd": streaming.FARTHEST_END,
    "sizeof(motiflux::view::Version)": streaming.VERSION_BYTES,
    "sizeof(motiflux::view::Slab)": streaming.SLAB_BYTES,
    "sizeof(motiflux::streaming::Batch)": streaming.BATCH_BYTES,
    "motiflux::view::bytes_of_version(7)": streaming.bytes_of_version(7),
    **{
        f"static_cast<int>(motiflux::streaming::Effect::k{effect.name.title()})": effect.value
        for effect in streaming.Effect
    },
    "static_cast<int>(motiflux::streaming::Early::kNot)": ReadsBefore.NO,
    "static_cast<int>(motiflux::streaming::Early::kNext)": ReadsBefore.YES,
    "static_cast<int>(motiflux::streaming::Early::kOfPair)": ReadsBefore.ROWS_OF_PAIR,
    "motiflux::match::kMaxSources": layout.MAX_PATTERN_EDGES,
    "motiflux::match::kClosedCopies": layout.CLOSED_COPIES,
    "motiflux::match::kClosedStride": layout.CLOSED_STRIDE,
    "motiflux::changing::kMostWrites": changing.MOST_WRITES,
    "motiflux::match::kMostGroups": THREADS // min(LANES),
    "motiflux::generate::kMaxLevels": layout.MAX_RMAT_LEVELS,
    "motiflux::view::kMostTailSets": layout.MOST_TAIL_SETS,
    "motiflux::view::kMostTailSources": layout.MOST_TAIL_SOURCES,
    "motiflux::view::kMostTailTerms": layout.MOST_TAIL_TERMS,
    "motiflux::view::kMostFactors": layout.MOST_TAIL_FACTORS,
    "motiflux::view::kMostSizes": layout.MOST_TAIL_SIZES,
    "motiflux::view::kMostKeyGroups": layout.MOST_KEY_GROUPS,
    "motiflux::view::kMostKeyWords": layout.MOST_KEY_WORDS,
    "static_cast<int>(motiflux::view::TailKind::kSame)": layout.TAIL_SAME,
    "static_cast<int>(motiflux::view::TailKind::kPair)": layout.TAIL_PAIR,
    "static_cast<int>(motiflux::view::TailKind::kMixed)": layout.TAIL_MIXED,
    "motiflux::candidates::kMaxKinds": space.MAX_KINDS,
    "motiflux::candidates::kMaxGroups": space.MAX_GROUPS,
    "motiflux::candidates::kMaxRowSets": space.MAX_ROW_SETS,
    "motiflux::candidates::kMaxRounds": space.MAX_ROUNDS,
    "motiflux::candidates::kTile": space.TILE,
    "motiflux::match::kMostUniversalVertexLevels": MOST_LEVELS,
    **{
        f"static_cast<int>(motiflux::match::UniversalVertexClosedForm::k{close.name.title()})": close
        for close in ClosedForm
    },
    "motiflux::match::kMostPlaces": layout.MOST_PLACES,
    "motiflux::match::kNoLevel": layout.NO_LEVEL,
    "motiflux::match::kNoLimit": f"{layout.NO_LIMIT}ull",
    "motiflux::match::kStaged": layout.STAGED_ROWS,
    "static_cast<int>(motiflux::match::Stop::kPause)": layout.STOP_PAUSE,
    "static_cast<int>(motiflux::match::Stop::kLimit)": layout.STOP_LIMIT,
    "static_cast<int>(motiflux::match::Stop::kHost)": layout.STOP_HOST,
}
# These are within headers of kernels, which need the emulator's definitions.
LOCAL_STRUCTURES: dict[str, Any] = {
    f"motiflux::local_counts::{structure.__name__}": structure
    for structure in (
        local_counts_layout.Frame,
        local_counts_layout.Roots,
        local_counts_layout.RankArgs,
        local_counts_layout.OrderArgs,
        local_counts_layout.TriangleArgs,
        local_counts_layout.WedgeArgs,
        local_counts_layout.MergeArgs,
        local_counts_layout.WedgeKind,
        local_counts_layout.KindArgs,
        local_counts_layout.WalkStep,
        local_counts_layout.WalkArgs,
        local_counts_layout.Factor,
        local_counts_layout.Product,
        local_counts_layout.Domain,
        local_counts_layout.SumArgs,
        local_counts_layout.Lesser,
        local_counts_layout.JoinArgs,
        local_counts_layout.DiamondArgs,
        local_counts_layout.OrbitArgs,
        local_counts_layout.FiveGraph,
        local_counts_layout.ListArgs,
        local_counts_layout.HubArgs,
        local_counts_layout.OppositeArgs,
        local_counts_layout.CounterArgs,
        local_counts_layout.CloseArgs,
        local_counts_layout.EdgeArgs,
        local_counts_layout.SolveArgs,
    )
}
LOCAL_CONSTANTS: dict[str, int | str] = {
    "motiflux::local_counts::kScratchBytes": local_counts_layout.SCRATCH_BYTES,
    "motiflux::local_counts::kMostFactors": local_counts_layout.MOST_FACTORS,
    "motiflux::local_counts::kMostProducts": local_counts_layout.MOST_PRODUCTS,
    "motiflux::local_counts::kMostLesser": local_counts_layout.MOST_LESSER,
    "motiflux::local_counts::kMostKinds": local_counts_layout.MOST_KINDS,
    "motiflux::local_counts::kMostSteps": local_counts_layout.MOST_STEPS,
    "motiflux::local_counts::kMostRegisters": local_counts_layout.MOST_REGISTERS,
    "motiflux::local_counts::kRowSums": local_counts_layout.ROW_SUMS,
    "motiflux::local_counts::kFiveSums": ORBITS[5] - ORBITS[4],
    "motiflux::local_counts::kSmallOrbits": ORBITS[4],
    "motiflux::local_counts::kFiveEdgeSums": EDGE_ORBITS[5] - EDGE_ORBITS[4],
    "motiflux::local_counts::kSmallEdgeOrbits": EDGE_ORBITS[4],
    "static_cast<int>(motiflux::local_counts::At::kSource)": local_counts_layout.SOURCE,
    "static_cast<int>(motiflux::local_counts::At::kTarget)": local_counts_layout.TARGET,
}

SAMPLING_STRUCTURES: dict[str, Any] = {
    "motiflux::sample::Source": sampling.SampleSource,
    "motiflux::sample::Level": sampling.Level,
    "motiflux::sample::CandidateGraph": sampling.CandidateGraph,
    "motiflux::sample::DrawArgs": sampling.DrawArgs,
    "motiflux::sample::BitsArgs": sampling.BitsArgs,
}
SAMPLING_CONSTANTS: dict[str, int | str] = {
    "motiflux::sample::kGroup": sampling.GROUP,
    "motiflux::sample::kPoolBytes": sampling.POOL_BYTES,
    **{
        f"motiflux::sample::scratch_bytes(motiflux::sample::Pick::{pick}, 7)": sampling.scratch_bytes(
            estimator, 7
        )
        for pick, estimator in (
            ("kAny", sampling.WANDERJOIN),
            ("kRefined", sampling.ALLEY),
            ("kSums", sampling.TREE),
            ("kWeighted", sampling.custom_estimator("")),
        )
    },
}


STREAM_STRUCTURES: dict[str, Any] = {
    "motiflux::match::UpdateRoot": streaming.UpdateRoot,
    "motiflux::streaming::Work": streaming.Work,
    "motiflux::streaming::WorkList": streaming.WorkList,
    "motiflux::streaming::Stream": streaming.Stream,
}
STREAM_ARRAYS: dict[str, np.dtype[Any]] = {
    "motiflux::match::UpdateRoot": streaming.VERSIONED_ROOT,
    "motiflux::streaming::WorkCounts": streaming.WORK_COUNTS,
    "motiflux::streaming::StreamControl": streaming.CONTROL,
    "motiflux::streaming::StreamStatus": streaming.STATUS,
    "motiflux::streaming::Pending": streaming.PENDING,
    "motiflux::streaming::StepTimes": streaming.STEP_TIMES,
}
STREAM_CONSTANTS: dict[str, int | str] = {
    "motiflux::streaming::kSteps": len(streaming.STEPS),
    "motiflux::streaming::kStamps": len(streaming.STAMPS),
    "8 * motiflux::streaming::kStamps": "sizeof(motiflux::streaming::UpdateStamps)",
    "sizeof(motiflux::streaming::AnswerLine)": 8 * streaming.LINE_WORDS,
    "sizeof(motiflux::streaming::UpdateLine)": 8 * streaming.UPDATE_LINE_WORDS,
    "motiflux::streaming::Update::kInsertion": streaming.INSERTION,
    "motiflux::streaming::Update::kJudged": streaming.JUDGED,
    "motiflux::streaming::kHeaderWords": streaming.HEADER_WORDS,
    "motiflux::streaming::kCountWords": streaming.COUNT_WORDS,
    "motiflux::streaming::kMostRecords": streaming.MOST_RECORDS,
    "motiflux::streaming::kAppears": streaming.APPEARS,
    "motiflux::streaming::kIsRow": streaming.IS_ROW,
    **{
        f"static_cast<int>(motiflux::streaming::End::k{''.join(end.name.title().split('_'))})": end.value
        for end in streaming.End
    },
}

ACCESS_STRUCTURES: dict[str, Any] = {"motiflux::changing::HashArgs": row_access.HashArgs}
ACCESS_ARRAYS: dict[str, np.dtype[Any]] = {
    "motiflux::view::ChangingRow": changing.ROW,
    "motiflux::view::ChangingRows": row_access.ROWS_WITH_COPIES,
    "motiflux::view::RowCopies": row_access.ROW_COPIES,
    "motiflux::view::CopiedRow": row_access.COPIED_ROW,
    "motiflux::view::HashedRow": row_access.HASHED_ROW,
}
"""In units that open rows of the host in other ways than by default."""


def assertions(structures: dict[str, Any], constants: dict[str, int | str]) -> Iterator[str]:
    for name, structure in structures.items():
        yield f'static_assert(sizeof({name}) == {ctypes.sizeof(structure)}, "{name}");'
        for field, *_ in structure._fields_:
            offset = getattr(structure, field).offset
            member = field.removesuffix("_")
            yield f'static_assert(__builtin_offsetof({name}, {member}) == {offset}, "{name}.{field}");'
    for name, value in constants.items():
        yield f'static_assert({name} == {value}, "{name}");'


def compiled(text: str, tmp_path: Path) -> str:
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        pytest.skip("no C++ compiler")
    source = tmp_path / "layout.cpp"
    source.write_text(text)
    flags = ["-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", f"-I{INCLUDE}", f"-I{SIMT}"]
    command = [compiler, *flags, str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def header() -> str:
    text = search_source(Goal.COUNT, 8, clique(3)).text
    shape = text[text.index("namespace {") : text.index('extern "C"')]
    includes = (
        "match/task.hpp",
        "match/universal_vertex_task.hpp",
        "match/state.hpp",
        "match/changing_plan.hpp",
        "match/pooled_plans.hpp",
        "match/timed_sets.hpp",
        "changing/gpma.hpp",
        "changing/encode_candidates.cuh",
        "changing/write_candidates.cuh",
        "changing/access_walks.hpp",
        "changing/cache_rows.cuh",
        "changing/row_bitmaps.cuh",
        "changing/write_rows.cuh",
        "pcsr/find_args.hpp",
        "pvm/extend.cuh",
        "pvm/filter.cuh",
        "pvm/offsets.cuh",
        "match/plan_policy.hpp",
        "match/compared_task.hpp",
        "match/tail_task.hpp",
        "match/image_task.hpp",
        "candidates/space.hpp",
        "device/echo.cuh",
        "generate/rmat.cuh",
        "rows/number.cuh",
        "streaming/batch.hpp",
        "streaming/copy_long_rows.hpp",
        "streaming/load.cuh",
        "streaming/move_rows.cuh",
    )
    found = [f'#include "motiflux/{name}"' for name in includes]
    return "\n".join(['#include "simt.hpp"', *found, shape])  # first: kernels of phases need it


@pytest.mark.turns(8)
def test_sizes_and_offsets_agree(tmp_path: Path) -> None:
    assert compiled("\n".join([header(), *assertions(STRUCTURES, CONSTANTS)]), tmp_path) == ""


def assertions_of_arrays(arrays: dict[str, np.dtype[Any]]) -> Iterator[str]:
    for name, dtype in arrays.items():
        yield f"static_assert(sizeof({name}) == {dtype.itemsize});"
        for field, (_, offset, *_) in (dtype.fields or {}).items():
            yield f'static_assert(__builtin_offsetof({name}, {field}) == {offset}, "{field}");'


@pytest.mark.turns(8)
def test_sizes_and_offsets_of_array_elements_agree(tmp_path: Path) -> None:
    assert compiled("\n".join([header(), *assertions_of_arrays(ARRAYS)]), tmp_path) == ""


@pytest.mark.turns(8)
def test_sizes_and_offsets_agree_where_rows_are_opened_in_other_ways(tmp_path: Path) -> None:
    access = row_access.RowAccess("hash", "on", two_parts=True)
    text = "\n".join(
        [
            *(f"#define MOTIFLUX_{name}" for name in access.defined),
            '#include "simt.hpp"',
            '#include "motiflux/match/timed_sets.hpp"',
            '#include "motiflux/changing/hash_copies.cuh"',
            *assertions(
                ACCESS_STRUCTURES,
                {
                    "motiflux::match::kSpansOfTimed": access.spans_of_timed,
                    "motiflux::match::kMark": row_access.MARK,
                },
            ),
            *assertions_of_arrays(ACCESS_ARRAYS),
        ]
    )
    assert compiled(text, tmp_path) == ""


@pytest.mark.turns(8)
def test_sizes_and_offsets_of_searches_over_versions_agree(tmp_path: Path) -> None:
    text = "\n".join(
        [
            '#define MOTIFLUX_VERSIONS\n#include "simt.hpp"\n#include "motiflux/match/timed_sets.hpp"',
            *assertions({}, {"motiflux::match::kSpansOfTimed": changing.SPANS_OF_TIMED}),
            *assertions_of_arrays({"motiflux::match::UpdateRoot": streaming.VERSIONED_ROOT}),
        ]
    )
    assert compiled(text, tmp_path) == ""


@pytest.mark.turns(8)
def test_sizes_and_offsets_of_streams_agree(tmp_path: Path) -> None:
    text = "\n".join(
        [
            '#include "simt.hpp"\n#include "motiflux/streaming/resident.cuh"',
            *assertions(STREAM_STRUCTURES, STREAM_CONSTANTS),
            *assertions_of_arrays(STREAM_ARRAYS),
        ]
    )
    assert compiled(text, tmp_path) == ""


@pytest.mark.turns(8)
def test_sizes_and_offsets_of_local_counts_agree(tmp_path: Path) -> None:
    names = ("order", "triangles", "kinds", "walks", "combine", "diamonds", "orbits")
    names += tuple(f"five/{name}" for name in ("lists", "hub", "opposites", "pairs", "walks"))
    names += ("five/close", "five/edges", "five/solve")
    headers = ["simt.hpp", *(f"motiflux/local_counts/{name}.cuh" for name in names)]
    includes = [f'#include "{name}"' for name in headers]
    text = "\n".join([*includes, *assertions(LOCAL_STRUCTURES, LOCAL_CONSTANTS)])
    assert compiled(text, tmp_path) == ""


@pytest.mark.turns(8)
def test_sizes_and_offsets_of_sampling_agree(tmp_path: Path) -> None:
    names = ("simt.hpp", "motiflux/sample/draw.cuh", "motiflux/sample/bits.cuh")
    includes = [f'#include "{name}"' for name in names]
    text = "\n".join([*includes, *assertions(SAMPLING_STRUCTURES, SAMPLING_CONSTANTS)])
    assert compiled(text, tmp_path) == ""


@pytest.mark.turns(8)
def test_a_difference_would_be_seen(tmp_path: Path) -> None:
    wrong = "static_assert(sizeof(motiflux::match::Task) == 8);"
    assert "static assertion failed" in compiled(f"{header()}\n{wrong}", tmp_path)
