"""Mutants of the native core: each is compiled, linked with the unit tests, and run against them.

Only `native/core` and its unit tests are compiled, so that a mutant takes a second: plain, and if
no test fails, under AddressSanitizer, as `make native` runs them. Objects that a mutant does not
change are compiled once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from mutating import Mutant

ROOT = Path(__file__).resolve().parent.parent
NATIVE = ROOT / "native"
TESTS = ("test_borrow", "test_borrow_again", "test_memory_state", "test_timeline")
PRESETS = {
    "plain": ("-O1",),
    "asan": ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
}
OBJECTS = "native-objects"
"""The folder of what is compiled once, in that of the results."""
LIMIT = 300.0
"""Seconds for a compilation or a test, which take less than one on a quiet machine."""


def sources() -> list[Path]:
    """The files that are compiled, relative to `native`."""
    core = sorted((NATIVE / "core").glob("*.cpp"))
    return [
        *(path.relative_to(NATIVE) for path in core),
        *(Path("tests") / f"{name}.cpp" for name in TESTS),
    ]


def prepare(out: Path) -> None:
    """Compile the core as it is, and see that its unit tests pass."""
    shutil.rmtree(out / OBJECTS, ignore_errors=True)
    for preset in PRESETS:
        objects = out / OBJECTS / preset
        objects.mkdir(parents=True)
        for source in sources():
            _run([*_compile(preset), *_from_to(NATIVE, source, objects)], check=True)
        how, by = _tested([objects / _object(source) for source in sources()], objects, preset)
        if how != "survived":
            raise SystemExit(f"a unit test of the core does not pass as it is: {by}")


def judged(mutant: Mutant, out: Path) -> tuple[str, str]:
    """Return what became of a mutant, and which test noticed it."""
    inner = mutant.path.relative_to(NATIVE)
    with tempfile.TemporaryDirectory(dir=out) as name:
        folder = Path(name)
        for part in ("core", "tests"):
            shutil.copytree(NATIVE / part, folder / part)
        text = mutant.applied(mutant.path.read_text(encoding="utf-8"))
        (folder / inner).write_text(text, encoding="utf-8")
        changed = [inner] if inner.suffix == ".cpp" else sources()
        how, by = "survived", ""
        for preset in PRESETS:
            if how == "survived":
                how, by = _built(folder, changed, out / OBJECTS / preset, preset)
        return how, by


def _built(folder: Path, changed: Sequence[Path], objects: Path, preset: str) -> tuple[str, str]:
    """Compile what has changed, and test it with all else as it is."""
    for source in changed:
        if _run([*_compile(preset), *_from_to(folder, source, folder)]).returncode:
            return "killed", "the compiler"
    made = [(folder if s in changed else objects) / _object(s) for s in sources()]
    return _tested(made, folder, preset)


def _tested(objects: Iterable[Path], folder: Path, preset: str) -> tuple[str, str]:
    """Link each unit test with the core, and run it."""
    every = list(objects)
    core = [str(path) for path in every if path.stem not in TESTS]
    for name in TESTS:
        own = [str(path) for path in every if path.stem == name]
        program = str(folder / name)
        if _run([*_compile(preset), *own, *core, "-pthread", "-o", program]).returncode:
            return "killed", "the linker"
        try:
            done = _run([program])
        except subprocess.TimeoutExpired:
            return "timeout", name
        if done.returncode:
            failed = re.search(r"^.*(?:FAIL|ERROR|error).*$", done.stdout + done.stderr, re.M)
            return "killed", f"{name}: {failed[0][:80] if failed else done.returncode}"
    return "survived", ""


def _from_to(tree: Path, source: Path, objects: Path) -> list[str]:
    return ["-c", str(tree / source), "-I", str(tree), "-o", str(objects / _object(source))]


def _object(source: Path) -> str:
    return f"{source.stem}.o"


def _compile(preset: str) -> list[str]:
    found = os.environ.get("CXX") or shutil.which("c++") or shutil.which("clang++")
    if not found:
        raise SystemExit("mutants of the native core need a C++ compiler")
    return [*found.split(), "-std=c++20", "-w", *PRESETS[preset]]


def _run(command: Sequence[str], *, check: bool = False) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, timeout=LIMIT, capture_output=True, text=True, check=check)
