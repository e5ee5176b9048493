"""What compute-sanitizer prints of races is read whole, and compared with what is known of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from motiflux.codegen.all_kernels import all_sources
from scripts import racecheck, racecheck_workload
from scripts.racecheck import (
    HEADERS,
    KNOWN,
    TOOL,
    Access,
    Race,
    function_at,
    header_of,
    judge,
    matches,
    parse,
)
from tests.backend.test_every_kernel import family


def line_of(header: str, text: str) -> int:
    """Return the number of the first line of a header that has this text."""
    lines = (HEADERS / header).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


ATOMICS = "/opt/site-packages/motiflux/include/motiflux/device/builtin_atomics.hpp"
LOAD = "T3 motiflux::device::builtin::load<(OrderName)0, (Scope)0, unsigned int>(T3 *)"
STORE = "void motiflux::device::builtin::store<(OrderName)3, (Scope)0, unsigned int>(T3 *, T3)"
LOADS = line_of("device/builtin_atomics.hpp", "__nv_atomic_load_n")
STORES = line_of("device/builtin_atomics.hpp", "__nv_atomic_store_n")
WITHOUT_SHARED_MEMORY = {
    "triangles", "ring", "rmat", "space", "sample", "streaming",
    "local-counts-order", "local-counts-merge", "local-counts-join", "local-counts-ranks",
    "local-counts-five-lists", "local-counts-five-rows", "local-counts-five-edges", "local-counts-five-solve",
}  # fmt: skip

ANALYSIS = f"""\
========= COMPUTE-SANITIZER
counts: 1.2 s; 0 stolen
========= Error: Race reported between Write access at {STORE}+0x120 in {ATOMICS}:{STORES}
=========     and Read access at {LOAD}+0x90 in {ATOMICS}:{LOADS} [1,024 hazards]
=========     and Write access at motiflux_search+0x1e0 in search-count-any-32:7 [4 hazards]
=========
========= Warning: Race reported between Read access at motiflux_search+0x10
=========     and Write access at motiflux_search+0x20 [1 hazard]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""

HAZARDS = f"""\
========= COMPUTE-SANITIZER
========= Warning: Potential WAR hazard detected at __shared__ 0x90 in block (0,0,0) :
=========     Read Thread (32,0,0) at {LOAD}+0x1d0 in {ATOMICS}:{LOADS}
=========     Write Thread (0,0,0) at {STORE}+0x1e0 in {ATOMICS}:{STORES}
=========     Current Value : 0, Incoming Value : 1
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernelEx [0x2f1234] in libcuda.so.1
=========         Host Frame: _PyEval_EvalFrameDefault [0x1234] in python3: error handling
=========
========= Warning: Potential WAR hazard detected at __shared__ 0x91 in block (0,0,0) :
=========     Read Thread (32,0,0) at {LOAD}+0x1d0 in {ATOMICS}:{LOADS}
=========     Write Thread (0,0,0) at {STORE}+0x1e0 in {ATOMICS}:{STORES}
=========     Current Value : 0, Incoming Value : 0
=========
========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)
"""

SILENT = """\
========= COMPUTE-SANITIZER
counts: 1.2 s; 4 stolen
========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)
"""

OLD = """\
========= ERROR: Race reported between Read access at 0x6360 in /home/a b/match/count.cuh:12:count(int *, int)
=========     and Write access at 0x1fe0 in count(int *, int) [12 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_an_analysis_is_read_pair_by_pair() -> None:
    log = parse(ANALYSIS)
    assert log.faults() == []
    read, write = Access("read", LOAD, ATOMICS, LOADS), Access("write", STORE, ATOMICS, STORES)
    search = "motiflux_search"
    assert log.races == {
        Race("error", write, read): 1024,
        Race("error", write, Access("write", search, "search-count-any-32", 7)): 4,
        Race("warning", Access("read", search), Access("write", search)): 1,
    }


def test_hazards_are_read_and_added_up_whatever_stands_between_them() -> None:
    log = parse(HAZARDS)
    assert log.faults() == []
    pair = Race("warning", Access("read", LOAD, ATOMICS, LOADS), Access("write", STORE, ATOMICS, STORES))
    assert log.races == {pair: 2}
    both = parse(
        HAZARDS.replace(HAZARDS.splitlines()[-1], "") + ANALYSIS.replace("2 hazards d", "4 hazards d")
    )
    assert both.faults() == []
    assert len(both.races) == 4


def test_reports_of_older_versions_are_read() -> None:
    log = parse(OLD)
    function = "count(int *, int)"
    first = Access("read", function, "/home/a b/match/count.cuh", 12)
    assert log.races == {Race("error", first, Access("write", function)): 12}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no summary"),
        (ANALYSIS.replace("2 hazards displayed", "3 hazards displayed"), "3 reports were displayed, 2"),
        (
            "========= Error: Device not supported. Please refer to the documentation\n",
            "Device not supported",
        ),
        (f"========= Target application returned an error\n{ANALYSIS}", "Target application"),
        (f"========= Internal Sanitizer Error: it didn't track the launch\n{ANALYSIS}", "track the launch"),
    ],
)
def test_a_log_that_is_not_whole_is_told(text: str, fault: str) -> None:
    assert any(fault in told for told in parse(text).faults())


@pytest.mark.parametrize(
    ("header", "text", "function"),
    [
        ("device/builtin_atomics.hpp", "__nv_atomic_load_n", "load"),
        ("match/block_work_queue.hpp", "Cursor walk = offered;", "walk_over"),
        ("match/block_sharing.hpp", "theirs[level].cursor = given", "deliver_to_waiting_group"),
        ("match/block_sharing.hpp", "release_offer(offers.words", "take_from_offer"),
        ("match/neighborhood.hpp", "ranks_[slot] =", "enter"),
        ("local_counts/triangles.cuh", "words[vertex / 32] = 0", "erase"),
        ("match/flattened_levels.hpp", "found -= sets::contains", "count_one"),  # in a lambda
        ("sample/choose.hpp", "state.take(level, choice.value)", "settle"),
        ("match/state.hpp", "return other == level ?", "operator()"),
        ("match/levels.hpp", "last_(last) {}", "Levels"),
    ],
)
def test_a_line_of_a_header_is_in_a_function(header: str, text: str, function: str) -> None:
    assert function_at(header, line_of(header, text)) == function


def test_headers_are_known_wherever_they_lie() -> None:
    assert header_of(ATOMICS) == "device/builtin_atomics.hpp"
    assert header_of("builtin_atomics.hpp") == "device/builtin_atomics.hpp"  # paths may be left out
    assert header_of("state.hpp") is None  # there are two
    assert header_of("search-count-any-32") is None
    assert header_of("") is None


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (LOAD, "load"),
        ("motiflux_search", "motiflux_search"),
        ("bool a::Strip<a::Search<(int)8>, b::Step>::count(unsigned long &) const", "count"),
        ("(anonymous namespace)::Shape::at(int)", "at"),
        ("a::f(int)::[lambda(int) (instance 1)]::operator()(int) const", "operator"),
    ],
)
def test_without_a_header_a_function_has_a_short_name(function: str, name: str) -> None:
    assert racecheck.short_name(function) == name


def test_known_races_are_found_in_either_order() -> None:
    logs = {"passive": parse(ANALYSIS)}
    atomics = "read device/builtin_atomics.hpp load | write device/builtin_atomics.hpp store"
    turned = "passive | write device/builtin_atomics.hpp store | read device/builtin_atomics.hpp load"
    for known in (f"passive | {atomics}", turned, "* | * device/builtin_atomics.hpp * | * device/*"):
        verdict = judge(logs, {known: "a reason"})
        assert verdict.seen == {known}
        assert sorted(verdict.new) == [
            "passive | read motiflux_search | write motiflux_search",
            "passive | write device/builtin_atomics.hpp store | write search-count-any-32 motiflux_search",
        ]
    assert f"active | {atomics}" not in judge(logs, {f"active | {atomics}": "a reason"}).seen


def test_a_known_race_needs_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text('{"a | b | c": "a reason"}', encoding="utf-8")
    racecheck.record(["d | e | f"], path)
    known = racecheck.read_known(path)
    assert known == {"a | b | c": "a reason", "d | e | f": ""}
    assert judge({}, known).unexplained == {"d | e | f"}


def test_only_a_star_stands_for_anything() -> None:
    assert matches("a | write x.hpp f | *", "a | write x.hpp f | read y.hpp g")
    assert not matches("a | write x.hpp f | *", "a | write xyhpp f | read y.hpp g")
    assert not matches("a | write x.hpp f", "a | write x.hpp f | read y.hpp g")


def test_logs_that_lie_there_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = tmp_path / "known.json"
    monkeypatch.setattr(racecheck, "KNOWN", known)
    (tmp_path / "counts.log").write_text(HAZARDS, encoding="utf-8")

    def exit_code(*more: str) -> int | str | None:
        monkeypatch.setattr(sys, "argv", ["racecheck.py", "--read", "--logs", str(tmp_path), *more])
        with pytest.raises(SystemExit) as ended:
            racecheck.main()
        return ended.value.code

    key = "counts | read device/builtin_atomics.hpp load | write device/builtin_atomics.hpp store"
    known.write_text("{}", encoding="utf-8")
    assert exit_code("counts") == 1
    assert f"new: {key}" in capsys.readouterr().out
    known.write_text(json.dumps({key: "a reason"}), encoding="utf-8")
    assert exit_code("counts") == 0
    assert "0 new, 1 known, 0 without a reason, 0 wrong" in capsys.readouterr().out
    assert exit_code("counts", "tails") == 1  # which has no log
    assert "tails: there is no" in capsys.readouterr().out


@pytest.mark.parametrize("case", ["counts", "active-tails"])
def test_a_log_without_races_is_wrong_where_work_changes_hands(tmp_path: Path, case: str) -> None:
    (tmp_path / f"{case}.log").write_text(SILENT, encoding="utf-8")
    logs, faults = racecheck.read_logs([case], tmp_path)
    assert logs[case].faults() == []
    told = [f"{case}: the tool saw nothing: were kernels instrumented?"]
    assert faults == (told if case == "active-tails" else [])


def test_cases_that_are_never_silent_have_known_races() -> None:
    known = racecheck.read_known(KNOWN)
    for case in racecheck.NEVER_SILENT:
        assert case in racecheck_workload.CASES
        assert any(matches(key.split(" | ")[0], case) for key in known)


def test_every_known_race_names_its_cases_and_an_access() -> None:
    for key in racecheck.read_known(KNOWN):
        case, *accesses = key.split(" | ")
        assert case != "*"
        assert any("*" not in access for access in accesses), key


def test_a_missing_tool_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(racecheck.shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(sys, "argv", ["racecheck.py", "counts", "--logs", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        racecheck.main()
    assert ended.value.code == 1
    told = capsys.readouterr()
    assert told.err.startswith("expected compute-sanitizer of the CUDA toolkit")
    assert told.out == ""


@pytest.mark.parametrize("failing", ["counts", "compute-sanitizer"])
def test_a_failed_run_reads_no_earlier_log_and_records_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failing: str
) -> None:
    """Either the case fails by itself, or under the tool, which has printed a race before."""

    def run(command: Sequence[str]) -> tuple[int, str]:
        if command[0] != TOOL:
            return int(failing == "counts"), "counts"
        Path(command[command.index("--log-file") + 1]).write_text(HAZARDS, encoding="utf-8")
        return 1, "counts"

    known, log = tmp_path / "known.json", tmp_path / "counts.log"
    known.write_text("{}", encoding="utf-8")
    log.write_text(ANALYSIS, encoding="utf-8")
    monkeypatch.setattr(racecheck, "KNOWN", known)
    monkeypatch.setattr(racecheck, "run", run)
    monkeypatch.setattr(racecheck.shutil, "which", lambda *_, **__: TOOL)
    monkeypatch.setattr(sys, "argv", ["racecheck.py", "counts", "--logs", str(tmp_path), "--record"])
    with pytest.raises(SystemExit) as ended:
        racecheck.main()
    assert ended.value.code == 1
    assert "wrong: a case failed" in capsys.readouterr().out
    assert log.exists() == (failing != "counts")
    assert racecheck.read_known(known) == {}


def test_the_known_races_name_functions_and_have_reasons() -> None:
    known = racecheck.read_known(KNOWN)
    assert all(reason.strip() for reason in known.values())
    for key in known:
        case, *accesses = key.split(" | ")
        assert any(matches(case, name) for name in racecheck_workload.CASES), case
        for access in accesses:
            if access == "*":
                continue
            _, header, function = access.split(" ")
            assert (HEADERS / header).is_file()
            functions = {function_at(header, line) for line in range(1, 400)}
            assert function == "*" or function in functions, key


def test_every_kind_of_kernel_with_shared_memory_is_run() -> None:
    run = {family(unit) for case in racecheck_workload.CASES.values() for unit in case.units}
    wanted = {family(source.name) for source in all_sources()} - WITHOUT_SHARED_MEMORY
    assert wanted <= run
