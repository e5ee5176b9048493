#!/usr/bin/env bash
# Builds wheels into dist/: one for each Python 3.11 at hand, one for 3.12 and later (the stable ABI), each with
# the kernels in src/motiflux/cubins and the lowest manylinux tag that can be reached; then installs each into an
# empty environment, without a compiler, for every Python that it is for.
# usage: [PYTHONS="python3.11 python3.13"] build-wheels.sh
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '==> %s\n' "$*"; }
pip() { "$1" -m pip --disable-pip-version-check -qq "${@:2}"; }

# The Pythons of PYTHONS, or those on PATH and of pyenv, by version.
pythons() {
    local candidates=() minor
    if [[ ${PYTHONS:-} ]]; then
        read -ra candidates <<< "$PYTHONS"
    else
        for minor in 11 12 13 14; do
            candidates+=("python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python)
        done
    fi
    local candidate version known=" "
    for candidate in "${candidates[@]}"; do
        version=$("$candidate" -c 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])' 2> /dev/null) || continue
        [[ $known == *" $version "* ]] && continue
        known+="$version "
        printf '%s %s\n' "$version" "$candidate"
    done
}

mapfile -t found < <(pythons)
if [[ ${#found[@]} == 0 ]]; then
    printf 'missing: Python 3.11 or later with venv; name it: make wheels PYTHONS=/path/to/python3\n' >&2
    exit 1
fi

rm -rf build/wheels/raw* build/wheels/tagged*
mkdir -p build/wheels dist
rm -f dist/motiflux-*.whl
built=()
stable=
for one in "${found[@]}"; do
    read -r version python <<< "$one"
    [[ $version != 3.11 && $stable ]] && continue
    [[ $version != 3.11 ]] && stable=yes
    say "building for Python $version$([[ $version == 3.11 ]] || printf ' and later')"
    environment=build/wheels/python$version
    "$python" -m venv "$environment"
    its="$environment/bin/python"
    pip "$its" install --upgrade 'pip>=25.1'
    pip "$its" install --group build --group wheels
    pip "$its" install 'ziglang>=0.13' 2> /dev/null || say "no zig: the wheel needs a glibc as new as this machine's"
    headers=$(scripts/python-headers.sh "$its" "build/wheels/headers$version")
    mapfile -t flags <<< "$headers"
    CXX=$PWD/scripts/wheel-cxx.sh WHEEL_PYTHON=$PWD/$its pip "$its" wheel . --no-deps --no-build-isolation \
        --wheel-dir "build/wheels/raw$version" -Cbuild-dir="build/wheels/objects$version" ${headers:+"${flags[@]}"}
    PATH="$PWD/$environment/bin:$PATH" "$its" -m auditwheel repair -w "build/wheels/tagged$version" \
        "build/wheels/raw$version"/*.whl > "build/wheels/auditwheel$version.log" 2>&1 ||
        { cat "build/wheels/auditwheel$version.log" >&2; exit 1; }
    for wheel in "build/wheels/tagged$version"/*.whl; do
        mv "$wheel" dist/
        built+=("dist/${wheel##*/}")
    done
done

for wheel in "${built[@]}"; do
    for one in "${found[@]}"; do
        read -r version python <<< "$one"
        case $wheel in
            *-cp311-cp311-*) [[ $version == 3.11 ]] || continue ;;
            *) [[ $version != 3.11 ]] || continue ;;
        esac
        scripts/check-wheel.sh "$wheel" "$python"
    done
done
