"""Long outputs that are cut short, with nothing left behind. And long ones in bounded memory."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from itertools import product
from pathlib import Path

import pytest

from tests.rotating import rotating
from tests.simt.gxx import sanitized
from tests.waiting import wait_until

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SUFFIXES = (".npy", ".csv", ".csv.gz", ".csv.zst", ".parquet", ".arrow")

INTERRUPTED = """
    import signal, sys, threading, time
    import motiflux as mf
    from motiflux.io import write_matches

    graph = mf.Graph.from_edges(
        [(u, v) for v in range(300) for u in range(v)],
        vertex_ids=list(range(300)) if sys.argv[2] == "numbers" else None,
        edge_attributes={"amount": list(range(300 * 299 // 2))},
    )
    edges = sys.argv[2] == "edges"
    matches = mf.match(graph, "(a)--(b)--(c)--(d)", edges=edges, attributes=["amount"] if edges else ())

    def interrupt():
        while matches.rows == 0:
            time.sleep(0.01)
        time.sleep(0.3)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        write_matches(matches, sys.argv[1])
    except KeyboardInterrupt:
        print(matches.rows)
"""


@pytest.mark.turns(8)
@pytest.mark.parametrize(("suffix", "what"), rotating(list(product(SUFFIXES, ["numbers", "edges"])), 4))
def test_ctrl_c_ends_a_long_output_and_removes_it(tmp_path: Path, suffix: str, what: str) -> None:
    if suffix in (".parquet", ".arrow"):
        pytest.importorskip("pyarrow")
    folder = tmp_path / "out"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(folder / f"rows{suffix}"), what],
        capture_output=True,
        text=True,
        timeout=120,  # all 8,000 million rows would take much longer
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 0
    assert list(folder.iterdir()) == []


@pytest.mark.turns(8)
@pytest.mark.parametrize(
    ("suffix", "stop"), rotating(list(product(SUFFIXES, [signal.SIGINT, signal.SIGTERM])), 4)
)
def test_a_signal_to_the_command_leaves_no_file(tmp_path: Path, suffix: str, stop: signal.Signals) -> None:
    if suffix in (".parquet", ".arrow"):
        pytest.importorskip("pyarrow")
    folder = tmp_path / "out"
    folder.mkdir()
    graph = tmp_path / "graph.txt"
    graph.write_text("".join(f"{u} {v}\n" for v in range(300) for u in range(v)))
    command = [sys.executable, "-m", "motiflux", "match", str(graph), "(a)--(b)--(c)--(d)", "--edges"]
    process = subprocess.Popen([*command, "-o", str(folder / f"rows{suffix}")], stderr=subprocess.PIPE)
    try:
        wait_until(
            lambda: any(entry.stat().st_size for entry in folder.iterdir()), "the first bytes", of=process
        )
        process.send_signal(stop)
        assert process.wait(120) == (1 if stop is signal.SIGINT else 143)
    finally:
        process.kill()
        process.communicate()
    assert list(folder.iterdir()) == []


ENDLESS = """
    import sys
    import pyarrow as pa
    import pyarrow.parquet as pq
    import motiflux as mf
    from motiflux.io.text import csv_writer

    class Nowhere:
        closed = False
        bytes = 0
        def write(self, data):
            self.bytes += memoryview(data).nbytes
            return memoryview(data).nbytes
        def tell(self): return self.bytes
        def flush(self): pass
        def close(self): pass
        def writable(self): return True
        def readable(self): return False
        def seekable(self): return False

    def peak():
        lines = open("/proc/self/status").readlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024

    graph = mf.Graph.from_edges([(u, v) for v in range(1002) for u in range(v)])
    def search(limit):
        return mf.match(graph, "(a)--(b)--(c)", limit=limit, edges=sys.argv[1] == "edges")

    def send(limit):
        sink = Nowhere()
        with search(limit) as matches:
            if sys.argv[1] == "csv":
                return csv_writer.write_to(sink, matches, name="nowhere"), sink.bytes
            rows = 0
            reader = pa.RecordBatchReader.from_stream(matches)
            target = pa.PythonFile(sink, mode="w")
            is_parquet = sys.argv[1] == "parquet"
            make = pq.ParquetWriter if is_parquet else pa.ipc.new_stream
            with make(target, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
                    rows += batch.num_rows
            return rows, sink.bytes

    send(20_000_000)
    before = peak()
    rows, size = send(int(sys.argv[2]))
    growth = peak() - before
    ballast = bytearray(300 << 20)
    print(rows, size, growth, peak() - before)
"""


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.skipif(sanitized(), reason="the memory of the address sanitizer itself grows")
@pytest.mark.parametrize(
    ("how", "rows"), [("arrow", 10**9), ("edges", 10**8), ("csv", 10**8), ("parquet", 10**8)]
)
def test_a_billion_rows_pass_in_flat_memory(how: str, rows: int) -> None:
    pytest.importorskip("pyarrow")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ENDLESS), how, str(rows)],
        capture_output=True,
        text=True,
        timeout=1000,
    )
    assert done.returncode == 0, done.stderr
    written, size, growth, ballast = map(float, done.stdout.split())
    assert written == rows
    assert size > (rows if how != "parquet" else 10**6)
    assert growth < 32
    assert ballast > 250, "the peak is not measured"
