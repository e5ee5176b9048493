#!/usr/bin/env bash
# Makes sure Python.h can be compiled against, without root: Debian keeps it in a package of its own, which is
# fetched and unpacked into FOLDER where the machine does not have it.
# usage: python-headers.sh PYTHON FOLDER      prints what pip needs to know, if anything
set -euo pipefail

python=$1
folder=$2

if "$python" -c 'import os, sys, sysconfig as s; sys.exit(not os.path.exists(s.get_path("include") + "/Python.h"))'; then
    exit 0
fi

version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
headers=$folder/usr/include/$version
if [[ ! -e $headers/Python.h ]]; then
    mkdir -p "$folder"
    if ! (cd "$folder" && rm -f ./*.deb && apt-get download -qq "lib$version-dev" && dpkg-deb -x ./*.deb .) >&2; then
        printf 'missing: the C headers of %s (Python.h)\n' "$python" >&2
        printf 'Install them, then run make again:\n\n    sudo apt-get install --yes python3-dev\n\n' >&2
        exit 1
    fi
fi
printf -- '--config-settings=cmake.define.Python_INCLUDE_DIR=%s\n' "$PWD/$headers"
# pyconfig.h includes <x86_64-linux-gnu/python3.x/pyconfig.h>, beside the folder of the headers.
printf -- '--config-settings=cmake.define.CMAKE_CXX_FLAGS=-isystem"%s"\n' "$PWD/$folder/usr/include"
