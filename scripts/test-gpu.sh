#!/usr/bin/env bash
# Runs the tests that have a device on the GPU of this machine, a process for each file, as many at a time as there
# are cores: most of the time goes into compiling kernels. Tests that fill the GPU's memory come last, alone.
# usage: test-gpu.sh PYTHON [OPTIONS OF PYTEST...]
set -euo pipefail

python=$1
shift
options=(-q -p no:cacheprovider --device cuda "$@")
alone=tests/fault/test_device_memory_faults.py
folder=$(mktemp -d)
trap 'end' EXIT
# Each process of pytest is in a process group of its own, which does not end with this one.
end() {
    local one
    for one in $(jobs -rp); do kill -TERM -- "-$one" 2> /dev/null || true; done
    rm -rf "$folder"
}

lanes=$(nproc)
((lanes <= 16)) || lanes=16

"$python" -m pytest "${options[@]}" --collect-only > "$folder/collected" 2>&1 ||
    { tail -n 30 "$folder/collected" >&2; exit 1; }
# The files with most tests begin.
mapfile -t files < <(grep -o '^tests/[^:]*\.py::' "$folder/collected" | sort | uniq -c | sort -rn | awk '{ print substr($2, 1, length($2) - 2) }')

run() {
    local log=$folder/${1//\//-}.log status=0
    "$python" -m pytest "${options[@]}" "$1" < /dev/null > "$log" 2>&1 || status=$?
    if ((status == 0 || status == 5)); then
        printf '%s: %s\n' "$1" "$(tail -n 1 "$log")"
    else
        touch "$folder/failed"
        flock "$folder/collected" bash -c 'printf "==> %s failed\n" "$1"; tail -n 100 "$2"' - "$1" "$log"
    fi
}

set -m # without it, what runs beside a script ignores Ctrl-C, which some tests send to themselves
for file in "${files[@]}"; do
    [[ $file == "$alone" ]] && continue
    while (($(jobs -rp | wc -l) >= lanes)); do
        wait -n || true
    done
    run "$file" &
done
wait
set +m
[[ " ${files[*]} " != *" $alone "* ]] || run "$alone"
[[ ! -e $folder/failed ]]
