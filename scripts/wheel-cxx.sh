#!/usr/bin/env bash
# The compiler of `make wheels`: g++ compiles, and where zig can be had it links against an old glibc, so that
# the wheel runs on systems from 2014 on. zig's own compiler (clang) would make slower code: counts of
# email_enron take up to 1.7 times as long, listings 1.5.
# usage: WHEEL_PYTHON=python-with-ziglang wheel-cxx.sh ARGUMENTS OF g++
set -euo pipefail

GLIBC=2.17
here=$(cd "$(dirname "$0")" && pwd)

links=
for argument; do
    [[ $argument == -shared ]] && links=yes
done
if [[ ! $links ]] || ! "$WHEEL_PYTHON" -c 'import ziglang' 2> /dev/null; then
    exec g++ "$@"
fi

zig=("$WHEEL_PYTHON" -m ziglang cc -target "$(uname -m)-linux-gnu.$GLIBC")
shim=$(mktemp --suffix .o)
trap 'rm -f "$shim"' EXIT
"${zig[@]}" -O2 -fPIC -fvisibility=hidden -c "$here/old_glibc.c" -o "$shim"
"${zig[@]}" -nostdlib++ -Wl,-z,undefs -Wl,--version-script="$here/exports.map" "$@" "$shim" \
    "$(g++ -print-file-name=libstdc++.a)" "$(g++ -print-file-name=libgcc_s.so.1)" "$(g++ -print-file-name=libgcc.a)" \
    -lm -lpthread -ldl

# Objects of g++ are compiled with this machine's headers of glibc: all that they use must be in the old one.
output=
for argument; do
    [[ $output == next ]] && output=$argument
    [[ $argument == -o ]] && output=next
done
missing=$(nm --dynamic --undefined-only "$output" | awk '$1 == "U" && $2 !~ /@/ && $2 !~ /^_?Py/ { print $2 }')
if [[ $missing ]]; then
    printf 'wheel-cxx.sh: glibc %s has no %s: add it to scripts/old_glibc.c\n' "$GLIBC" "${missing//$'\n'/, }" >&2
    exit 1
fi
