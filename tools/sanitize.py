"""Runs pytest with the native core built under AddressSanitizer: python tools/sanitize.py ARGUMENTS

Python itself is not built so, hence the sanitizer's library is loaded before everything else, and
Python asks malloc for all of its memory, which is then watched too. Leaks are not looked for: the
interpreter leaves much behind by design.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "native"))

import build_core  # noqa: E402

RUNTIMES = ("libasan.so", "libclang_rt.asan-x86_64.so", "libclang_rt.asan.so")
"""The sanitizer's library: of gcc, and of clang by its two ways of naming it."""

OPTIONS = {
    # Some tests are about processes that die of a signal, and about memory that is not to be had:
    # both are left to Python, as they were.
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1:"
    "handle_segv=0:handle_sigbus=0:handle_sigfpe=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "PYTHONMALLOC": "malloc",
    "TILEWRIGHT_CACHE_DIR": "off",
}


def package(tree: Path, folder: Path) -> None:
    """Make a copy of the packages whose core is the one of a build tree."""
    shutil.rmtree(folder, ignore_errors=True)
    built = shutil.ignore_patterns("_core*.so", "__pycache__")
    shutil.copytree(ROOT / "src", folder, ignore=built)
    for module in tree.glob("_core*.so"):
        shutil.copy2(module, folder / "tilewright")


def runtimes(compiler: str) -> list[str]:
    """Find the libraries to load first; C++'s own is among them, or exceptions are not seen."""
    found = [_library(compiler, name) for name in RUNTIMES]
    sanitizer = next(filter(None, found), None)
    if sanitizer is None:
        raise SystemExit(f"error: {compiler} has no library of AddressSanitizer")
    return [sanitizer, *filter(None, [_library(compiler, "libstdc++.so.6")])]


def _library(compiler: str, name: str) -> str | None:
    asked = [*compiler.split(), f"-print-file-name={name}"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return said if Path(said).is_absolute() else None


def main() -> int:
    """Build the core under AddressSanitizer, run pytest with it, and show what was reported."""
    try:
        tree = build_core.build("asan")
    except build_core.BuildError as error:
        raise SystemExit(f"error: {error}") from None
    folder = ROOT / "build" / "sanitized"
    package(tree, folder)
    libraries = runtimes(build_core.find_tools(tree).compiler)
    environment = {**os.environ, **OPTIONS, "LD_PRELOAD": ":".join(libraries)}
    environment["PYTHONPATH"] = str(folder)
    # Into files, one for each process: what workers of pytest-xdist write elsewhere is lost.
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
        environment[name] += f":log_path={folder / 'report'}"
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *sys.argv[1:]], env=environment, check=False
    )
    reports = [path.read_text(errors="replace") for path in sorted(folder.glob("report.*"))]
    errors = [text for text in reports if re.search(r"ERROR: |runtime error: ", text)]
    print(*errors, sep="\n")  # the others warn of memory that was not to be had
    return ended.returncode or bool(errors)


if __name__ == "__main__":
    sys.exit(main())
