#!/usr/bin/env bash
# Says what is missing to build motiflux, and the one command that brings it.
# usage: check-tools.sh PYTHON      (CXX names another C++ compiler)
set -euo pipefail

python=${1:-python3}
cxx=${CXX:-c++}
packages=()

missing() { # message, package
    printf 'missing: %s\n' "$1" >&2
    packages+=("$2")
}

check_python() {
    if ! command -v "$python" >/dev/null; then
        missing "Python 3.11 or newer ($python is not on the PATH)" python3
        packages+=(python3-venv)
        return
    fi
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        printf 'missing: Python 3.11 or newer (%s is %s)\n' "$python" "$("$python" -V 2>&1)" >&2
        printf 'Name a newer one:\n\n    make setup PYTHON=python3.12\n\n' >&2
        exit 1
    fi
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        missing "the venv module of $python" python3-venv
}

check_compiler() {
    if ! command -v "$cxx" >/dev/null; then
        missing "a C++20 compiler ($cxx is not on the PATH)" g++
    elif ! printf '#include <bit>\n#include <concepts>\n#include <span>\nint main() { return std::popcount(0u); }\n' |
        "$cxx" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null; then
        printf 'missing: a C++20 compiler (%s is %s; GCC 11 or newer will do)\n' \
            "$cxx" "$("$cxx" --version 2>&1 | head -n 1)" >&2
        printf 'Install a newer one and name it:\n\n    sudo apt-get install --yes g++-12 && make setup CXX=g++-12\n\n' >&2
        exit 1
    fi
}

check_python
check_compiler
if ((${#packages[@]})); then
    printf 'Install it, then run make again:\n\n    sudo apt-get install --yes %s\n\n' "${packages[*]}" >&2
    exit 1
fi
