#!/bin/sh
# Names the Pythons that are here beside the one given, one for each minor version: on the PATH, or pyenv's.
# A `t` is for those without a global interpreter lock.
given=$("$1" -c 'import sys; print(f"{sys.version_info[1]}{sys.abiflags}")') || exit 1
for minor in 11 12 13 14 14t; do
    [ "$minor" = "$given" ] && continue
    for python in "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.${minor%t}".*/bin/"python3.$minor"; do
        if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$python"
            break
        fi
    done
done
