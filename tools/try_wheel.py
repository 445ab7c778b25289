"""Installs a wheel into empty environments and runs the README there, with each Python.

    python tools/try_wheel.py                               build the wheels, with every Python here
    python tools/try_wheel.py --wheels dist python3.12      take the wheel of dist, with one Python
    python tools/try_wheel.py --sbom tilewright.cdx.json    list what was installed, as CycloneDX

Nothing of the checkout is seen by the programs: they run in an empty folder, and isolated. For each
Python the time of the installation is printed, and the bytes of each distribution. The exit code is
1 if an installation is larger than `--most` megabytes, or if the README prints something else than
it says.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import snippets

ROOT = Path(__file__).parent.parent
MEGABYTE = 1_000_000

MEASURE = """
import importlib.metadata as m, json
sizes = {}
for d in m.distributions():
    files = d.files or []
    total = sum(f.locate().stat().st_size for f in files if f.locate().is_file())
    sizes[f"{d.name} {d.version}"] = total
print(json.dumps(sizes))
"""
"""Prints the bytes of each distribution of an environment; caches of bytecode count."""

PROGRAMS = (
    ("tilewright", "run", "hello_world"),
    ("tilewright", "run", "softmax"),
    ("tilewright", "doctor"),
)
"""What else must end well."""


class FailedError(Exception):
    """Something did not go as it must."""


@dataclass(frozen=True)
class Tried:
    """One Python: how long its installation took, and what it weighs."""

    python: str
    wheel: str
    seconds: float
    sizes: dict[str, int]

    @property
    def megabytes(self) -> float:
        """The weight of all but what was there before: pip, and setuptools up to Python 3.11."""
        ours = [n for name, n in self.sizes.items() if name.split()[0] not in {"pip", "setuptools"}]
        return sum(ours) / MEGABYTE

    def __str__(self) -> str:
        parts = sorted(self.sizes.items(), key=lambda item: -item[1])
        listed = ", ".join(f"{name} {n / MEGABYTE:.1f}" for name, n in parts)
        return (
            f"{self.python}: {self.wheel} installed in {self.seconds:.1f} s,"
            f" {self.megabytes:.0f} MB ({listed}); the README prints what it says"
        )


def run(command: Sequence[str | Path], folder: Path) -> str:
    """Run a program of an environment without ours; return what it prints."""
    left_out = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    kept = {name: text for name, text in os.environ.items() if name not in left_out}
    kept["TILEWRIGHT_CACHE_DIR"] = str(folder / "cache")
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=kept, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise FailedError(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def readme() -> tuple[str, list[str]]:
    """The README as one program, and the lines it says it prints."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    outputs = [block.lines for block in snippets.blocks(text) if block.language == "output"]
    return snippets.extract(text), [line for lines in outputs for line in lines]


def wheel_of(python: str, wheels: Path | None, folder: Path) -> Path:
    """Build the wheel of a Python, or find it among wheels that are there."""
    if wheels is None:
        run([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT], folder)
        return next(folder.glob("tilewright-*.whl"))
    tag = run([python, "-c", "import sys; print('cp%d%d' % sys.version_info[:2])"], folder).strip()
    found = [path for path in wheels.glob("tilewright-*.whl") if f"-{tag}-{tag}-" in path.name]
    if not found:
        raise FailedError(f"no wheel of {tag} in {wheels}")
    return found[0].absolute()


def attempt(python: str, wheels: Path | None, sbom: Path | None) -> Tried:
    """Install and run everything with one Python."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = wheel_of(python, wheels, folder)
        run([python, "-m", "venv", folder / "env"], folder)
        inside = folder / "env/bin/python"
        begun = time.monotonic()
        run([inside, "-m", "pip", "install", "-q", wheel], folder)
        seconds = time.monotonic() - begun
        sizes: dict[str, int] = json.loads(run([inside, "-I", "-c", MEASURE], folder))
        program, expected = readme()
        (folder / "readme.py").write_text(program, encoding="utf-8")
        printed = run([inside, "readme.py"], folder).splitlines()
        if printed != expected:
            raise FailedError(f"the README says {expected}, and prints {printed}")
        for command in PROGRAMS:
            run([inside.with_name(command[0]), *command[1:]], folder)
        if sbom is not None:
            list_components(inside, sbom)
        version = run([inside, "-c", "import sys; print(sys.version.split()[0])"], folder).strip()
        return Tried(f"Python {version}", wheel.name, seconds, sizes)


def list_components(inside: Path, target: Path) -> None:
    """Write a CycloneDX list of an environment; needs the distribution cyclonedx-bom here."""
    command = [
        sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject",
        str(ROOT / "pyproject.toml"), "--mc-type", "library", "--output-reproducible",
        "--of", "JSON", "-o", str(target.absolute()), str(inside),
    ]  # fmt: skip
    subprocess.run(command, check=True)


def pythons() -> list[str]:
    """This Python, and the others that are here."""
    command = [str(ROOT / "tools/pythons.sh"), sys.executable]
    return [sys.executable, *subprocess.check_output(command, text=True).split()]


def main(arguments: Sequence[str]) -> int:
    """Try every Python; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("pythons", nargs="*", help="Pythons to try; all that are here")
    parser.add_argument("--wheels", type=Path, help="a folder of wheels; else they are built")
    parser.add_argument("--most", type=float, default=300, help="megabytes that may be installed")
    parser.add_argument("--sbom", type=Path, help="write a CycloneDX file of the first one")
    options = parser.parse_args(arguments)
    failed = False
    sbom: Path | None = options.sbom
    for python in options.pythons or pythons():
        try:
            tried = attempt(python, options.wheels, sbom)
        except FailedError as error:
            print(f"{python}: {error}")
            failed = True
            continue
        sbom = None
        heavy = tried.megabytes > options.most
        print(f"{tried}{'; TOO LARGE' if heavy else ''}", flush=True)
        failed = failed or heavy
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
