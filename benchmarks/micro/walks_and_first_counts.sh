#!/usr/bin/env bash
# What is not known of walks on a device and of first counts without a GPU, in less than two minutes on one:
#
#   1. walks on the device and on the host: exactness, and coverage for equal times (access_walks.py)
#   2. batches with each of them (motiflux bench outofcore --only "walks ...")
#   3. the first count of triangles of an R-MAT file, never counted and counted before, and its parts
#
# usage: walks_and_first_counts.sh [PYTHON [FOLDER [SCALE]]]     SCALE: of the file, 24 unless it is given
set -uo pipefail

python=${1:-.venv/bin/python}
folder=${2:-$(mktemp -d)}
scale=${3:-24}
device=${MOTIFLUX_DEVICE:-cuda}
here=$(dirname "${BASH_SOURCE[0]}")
file=$folder/rmat-$scale.mfg
triangle="(a)--(b)--(c)--(a)"
mkdir -p "$folder"
# Else each process compiles the modules that it imports, which takes longer than the imports.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$folder/bytecode

echo "==> walks: exactness, and coverage for equal times"
timeout 30 "$python" "$here/access_walks.py" "$device" "${MOTIFLUX_RMAT:-20}" Q3 "$folder"

echo "==> batches by each of the walks"
MOTIFLUX_RMAT=${MOTIFLUX_RMAT:-20} timeout 25 "$python" -m motiflux bench outofcore --only "walks Q3" --out "$folder"

drawn() {
  timeout 35 "$python" -c "
import sys
from motiflux.generate import Rmat
Rmat(scale=int(sys.argv[2]), edges=16 << int(sys.argv[2]), directed=False, duplicates='drop', seed=1).write(sys.argv[1])
" "$1" "$2"
}

echo "==> first counts of a file of scale $scale"
drawn "$folder/small.mfg" 8
MOTIFLUX_CACHE=$folder/kernels timeout 15 "$python" "$here/../suite/outofcore_parts/child.py" "$folder/small.mfg" "$device" \
  "$triangle" >/dev/null # compiles modules; its kernels are kept elsewhere
drawn "$file" "$scale"
for which in "never counted" "counted before"; do
  echo "$which: $(timeout 10 "$python" "$here/../suite/outofcore_parts/child.py" "$file" "$device" "$triangle")"
done
timeout 10 "$python" "$here/first_parts.py" "$file" "$device" "$triangle"
rm -f "$file"
