"""Runs tests of the package with a Python for AArch64, under emulation.

    python tools/emulate_python.py tests/cpu/launch -k "not signal and not fork"
    python tools/emulate_python.py --program file.py

Generated code is loaded into that process. Makes build/aarch64 once: Python as Debian packages it,
and the wheels that the package needs. Needs `aarch64-linux-gnu-g++`, `qemu-aarch64`, and Debian's
`apt-get` and `dpkg-deb`; changes nothing of the system. Emulation is about twenty times as slow:
signals may come faster than they are handled, and it cannot fork a process that has threads.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from emulate import COMPILER, EMULATOR

TREE = Path(__file__).resolve().parent.parent
PLACE = TREE / "build" / "aarch64"
ROOT, SITE, OBJECTS, COPY = (PLACE / name for name in ("root", "site", "objects", "tree"))
PYTHON = ROOT / "usr" / "bin" / "python3.11"
STARTER = PLACE / "python"
"""What tests start as `sys.executable`."""
PACKAGES = (
    "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libpython3.11-dev",
    "libc6", "libgcc-s1", "libstdc++6", "zlib1g", "libexpat1", "libssl3", "libffi8", "libbz2-1.0",
    "liblzma5", "libsqlite3-0", "libuuid1", "libncursesw6", "libtinfo6", "libreadline8",
    "libcrypt1",
)  # fmt: skip
WHEELS = (
    "numpy", "llvmlite", "ml_dtypes", "typing_extensions", "pytest>=8.3", "pytest-xdist",
    "hypothesis", "trio", "anyio",
)  # fmt: skip
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread")
CORE = "_core.cpython-311-aarch64-linux-gnu.so"


def lacking() -> list[str]:
    """The programs that are not here."""
    return [p for p in (COMPILER, EMULATOR, "apt-get", "dpkg-deb") if shutil.which(p) is None]


def apt(folder: Path, *words: str) -> None:
    """Run apt-get for AArch64, on lists of its own."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    options = {
        "APT::Architecture": "arm64", "APT::Architectures": "arm64", "Dir::State": folder,
        "Dir::State::status": folder / "status", "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
    }  # fmt: skip
    given = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    subprocess.run(["apt-get", *given, "-qq", *words], cwd=folder, check=True)


def fetch_python() -> None:
    """Unpack Python and the libraries that it is linked with."""
    apt(PLACE / "apt", "update")
    apt(PLACE / "apt", "download", *PACKAGES)
    for package in sorted((PLACE / "apt").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, ROOT], check=True)


def fetch_wheels() -> None:
    """Unpack the wheels that the package and its tests import."""
    platforms = [f"--platform=manylinux_2_{n}_aarch64" for n in (17, 27, 28)]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", *platforms,
         "--python-version=3.11", f"--target={SITE}", *WHEELS], check=True,
    )  # fmt: skip
    (SITE / "sitecustomize.py").write_text(f"import sys\nsys.executable = {str(STARTER)!r}\n")


def build_core() -> Path:
    """Compile the native core; return the module."""
    native = TREE / "native"
    include = ROOT / "usr" / "include"
    paths = [f"-I{native}", f"-I{include / 'python3.11'}", f"-I{include}"]
    OBJECTS.mkdir(parents=True, exist_ok=True)
    sources = [
        p for part in ("core", "cpu", "cuda", "python") for p in (native / part).glob("*.cpp")
    ]

    def compiled(source: Path) -> Path:
        made = OBJECTS / f"{source.parent.name}_{source.stem}.o"
        subprocess.run([COMPILER, *FLAGS, *paths, "-c", source, "-o", made], check=True)
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources))
    subprocess.run([COMPILER, "-shared", "-pthread", *objects, "-o", PLACE / CORE], check=True)
    return PLACE / CORE


def copy_tree(core: Path) -> None:
    """Copy the files of the checkout to where the module for AArch64 is the only one."""
    shutil.rmtree(COPY, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TREE, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        target = COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (TREE / name).is_file():
            shutil.copy2(TREE / name, target)
    shutil.copy2(core, COPY / "src" / "tilewright" / CORE)


def main(words: Sequence[str]) -> int:
    """Run tests, or a program; return the exit code."""
    if missing := lacking():
        print(f"not here: {', '.join(missing)}")
        return 2
    PLACE.mkdir(parents=True, exist_ok=True)
    if not PYTHON.exists():
        fetch_python()
    if not (SITE / "sitecustomize.py").exists():
        fetch_wheels()
    STARTER.write_text(f'#!/bin/sh\nexec {shutil.which(EMULATOR)} -L {ROOT} {PYTHON} "$@"\n')
    STARTER.chmod(0o755)
    copy_tree(build_core())
    is_program = words[:1] == ["--program"]
    run = list(words[1:]) if is_program else ["-m", "pytest", "-q", "-n0", *words]
    paths = os.pathsep.join(map(str, (COPY / "src", COPY / "tests", SITE)))
    given = os.environ | {"PYTHONPATH": paths, "TILEWRIGHT_CACHE_DIR": str(PLACE / "cache")}
    return subprocess.run(
        [STARTER, *run], cwd=None if is_program else COPY, env=given, check=False
    ).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
