#!/usr/bin/env bash
# Runs the experiments of the suite pvm on a GPU that have a bar, a few queries of each graph, in at most SECONDS, 230:
# tables of 8 and 2 times the memory, the switches of GSI, one vertex a phase, both engines, the choice between
# them, and the search for vertices. Results are written as cases end, so that a part that is cut short has some.
# usage: bench-phases.sh PYTHON [FOLDER of the results]
set -uo pipefail

python=$1
results=${2:-$(mktemp -d)}
seconds=${SECONDS_IN_ALL:-230}
export MOTIFLUX_QUERIES=${MOTIFLUX_QUERIES:-3} MOTIFLUX_CASE_SECONDS=${MOTIFLUX_CASE_SECONDS:-0.3}
export MOTIFLUX_LIMIT=${MOTIFLUX_LIMIT:-1}
mkdir -p "$results"

part() {  # a share of the seconds in percent, then the beginning of the names of the cases
    local begun=$SECONDS
    echo "== $2"
    timeout $((seconds * $1 / 100)) "$python" -m motiflux bench pvm --only "$2" --out "$results" >"$results/log" 2>&1
    echo "exit code $?, $((SECONDS - begun)) s"
    tail -3 "$results/log"
}

MOTIFLUX_LIMIT=10 part 32 "memory "
part 18 "published "
part 14 "pv_sv "
part 14 "overall "
part 14 "auto "
part 8 "search "
"$python" - "$results" <<'SCRIPT'
import json, pathlib, sys

for path in sorted(pathlib.Path(sys.argv[1]).glob("pvm*.json")):
    result = json.loads(path.read_text())
    print(path.name, result["device"], len(result["cases"]), "cases")
    for bar in result["bars"]:
        print("   ", bar["bar"], bar["value"], "target", bar["target"], "holds" if bar["holds"] else "MISSED", sep=" | ")
    for case in result["cases"]:
        if case["case"].startswith("memory "):
            print("   ", case["case"], case["engine"], case["count"], case["seconds"], sep=" | ")
            print("       ", {name: round(value, 3) for name, value in case["figures"].items()})
SCRIPT
