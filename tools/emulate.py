"""Builds the native core's unit tests for AArch64, and runs them under emulation.

    python tools/emulate.py                    all of them
    python tools/emulate.py test_pool          some

Needs `aarch64-linux-gnu-g++` and `qemu-aarch64`: Debian's g++-aarch64-linux-gnu and qemu-user. The
code of kernels is tested by tests/cpu/backend/llvm/test_object_emulated.py.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

NATIVE = Path(__file__).parent.parent / "native"
COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"
FLAGS = ("-std=c++20", "-O1", "-static", "-pthread", f"-I{NATIVE}")
SECONDS = 300
"""For one program; emulation is fifty times as slow."""


def lacking() -> list[str]:
    """The programs that are not here."""
    return [program for program in (COMPILER, EMULATOR) if shutil.which(program) is None]


def build_core(folder: Path) -> list[Path]:
    """Compile what the unit tests share; give its object files."""
    made: list[Path] = []
    parts = [NATIVE / part for part in ("core", "cpu", "cuda")]
    for source in [path for part in parts for path in sorted(part.glob("*.cpp"))]:
        made.append(folder / f"{source.parent.name}_{source.stem}.o")
        subprocess.run([COMPILER, *FLAGS, "-c", source, "-o", made[-1]], check=True)
    return made


def run(test: Path, core: Sequence[Path], folder: Path) -> str:
    """Build and run one test; give what went wrong, or nothing."""
    program = folder / test.stem
    subprocess.run([COMPILER, *FLAGS, test, *core, "-o", program], check=True)
    try:
        ended = subprocess.run(
            [EMULATOR, program], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not over after {SECONDS} s"
    return "" if ended.returncode == 0 else f"exit {ended.returncode}: {ended.stdout}{ended.stderr}"


def main(names: Sequence[str]) -> int:
    """Run the tests of these names, or all; return the exit code."""
    if missing := lacking():
        print(f"not here: {', '.join(missing)}")
        return 2
    failed = False
    with tempfile.TemporaryDirectory() as name:
        core = build_core(Path(name))
        for test in sorted((NATIVE / "tests").glob("test_*.cpp")):
            if names and test.stem not in names:
                continue
            problem = run(test, core, Path(name))
            print(f"{test.stem}: {problem or 'passed'}", flush=True)
            failed = failed or bool(problem)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
