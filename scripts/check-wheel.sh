#!/usr/bin/env bash
# Installs a wheel into an empty environment where no compiler can be found, and counts with it.
# usage: check-wheel.sh WHEEL PYTHON
set -euo pipefail

wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$2" -m venv "$folder/venv"
cd "$folder"
mapfile -t settings < <(env | grep '^PIP_' || true)
only_its() { env -i HOME="$HOME" PATH="$folder/venv/bin" "${settings[@]}" "$@"; }
if only_its bash -c true 2> /dev/null || only_its g++ --version 2> /dev/null; then
    printf 'check-wheel.sh: expected an environment without other programs\n' >&2
    exit 1
fi
only_its python -m pip --disable-pip-version-check -qq install "$wheel"
printf '1 2\n2 3\n3 1\n3 4\n' > graph.txt
[[ $(only_its motiflux count graph.txt '(a)--(b)--(c)--(a)' --device cpu) == 6\ embeddings* ]]
only_its python - <<'END'
import motiflux as mf
from motiflux.jit.prebuilt import FOLDER
graph = mf.datasets.wordnet()
rows = mf.match(graph, "(a)-->(b)-->(c)", device="cpu", threads=2).to_numpy()
assert len(rows) == mf.count(graph, "(a)-->(b)-->(c)", device="cpu") > 0
archives = sorted(path.stem for path in FOLDER.glob("*.zip"))
print(f"    {len(rows):,} rows on the CPU; kernels for {', '.join(archives) or 'no GPU'}")
END
printf '    %s works with %s\n' "${wheel##*/}" "$(only_its python -V)"
