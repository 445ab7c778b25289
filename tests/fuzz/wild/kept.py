"""Random kernels that once failed somewhere, cut down, as files: they run in every tier.

`python -m fuzz.wild.campaign --keep` writes what fails to `tests/fuzz/kept`; name the file after
what was wrong, and commit it with the change that mends it.
"""

from __future__ import annotations

import json
from pathlib import Path

from fuzz.wild.program import Wild

FOLDER = Path(__file__).parent.parent / "kept"


def kept() -> dict[str, Wild]:
    """Return the programs by name."""
    return {path.stem: read(path) for path in sorted(FOLDER.glob("*.json"))}


def read(path: Path) -> Wild:
    """Read a program, whose source is a list of lines."""
    given = json.loads(path.read_text(encoding="utf-8"))
    return Wild.of(json.dumps({**given, "source": "\n".join(given["source"]) + "\n"}))


def keep(program: Wild, name: str, folder: Path = FOLDER) -> Path:
    """Write a program, so that a person can read it."""
    given = json.loads(program.text())
    given["source"] = program.source.rstrip("\n").split("\n")
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(given, indent=1) + "\n", encoding="utf-8")
    return path
