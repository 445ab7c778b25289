"""Finds tileiras, the assembler of Tile IR, and says what it is."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...base.config import current, toolkit_directory
from ...base.errors import Code, CompileError
from ...base.wheels import files_in_wheel
from .encoding.versions import OLDEST, VERSIONS, Version, version_text
from .processes import Ended, run

WHEEL = "nvidia-cuda-tileiras"
NAME = "tileiras"
INSTALL = "pip install 'tilewright[cuda]'"
ASK_SECONDS = 30
MOST_SHOWN = 500
"""Characters of what it says instead of its release."""
RELEASE = re.compile(r"\bV(\d+\.\d+\.\d+)")
DESCRIBED = ".json"
LISTED = re.compile(r"^\s*(\d+)\.(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A tileiras: where it is, its release, the bytecode it reads."""

    path: str
    release: str
    version: Version
    """The newest bytecode that both it and we know."""
    nbytes: int
    is_here: bool = True
    """Whether it can be run; else it is only described, by a file that came with a cache."""

    @property
    def fingerprint(self) -> str:
        """What tells it from others: results are kept on disk under this name."""
        return f"tileiras {self.release}, {self.nbytes} bytes"

    @property
    def disassembler(self) -> str:
        """The program beside it that turns bytecode into text."""
        return str(Path(self.path).with_name("tileirdisasm"))


def find_toolchain() -> Toolchain:
    """The tileiras to use; a CompileError says where it was looked for."""
    path = find()
    size = _size(path)
    return described(str(path), size) if path.suffix == DESCRIBED else identify(str(path), size)


def find() -> Path:
    """Where tileiras is."""
    asked = current().tileiras_path
    if asked:
        path = Path(asked).expanduser()
        if _runs(path) or (path.suffix == DESCRIBED and path.is_file()):
            return path
        raise _missing(f"no program at {path}, which TILEWRIGHT_TILEIRAS_PATH names")
    found = find_program(NAME, WHEEL)
    if found is None:
        raise _missing(f"no wheel {WHEEL}, no CUDA_TOOLKIT_PATH with one, none on PATH")
    return found


def find_program(name: str, wheel: str) -> Path | None:
    """A program of the CUDA toolkit: from its wheel, from a toolkit, or on the path."""
    return next((path for path in _candidates(name, wheel) if _runs(path)), None)


def _candidates(name: str, wheel: str) -> Iterator[Path]:
    yield from files_in_wheel(wheel, name)
    toolkit = toolkit_directory()
    if toolkit is not None:
        yield toolkit / "bin" / name
    on_path = shutil.which(name)
    if on_path is not None:
        yield Path(on_path)


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _size(path: Path) -> int:
    return path.stat().st_size


def _missing(got: str) -> CompileError:
    return CompileError(
        "tileiras, the assembler of CUDA kernels, was not found",
        expected="the program of that name from NVIDIA's CUDA toolkit 13.1 or newer",
        got=got,
        hint=INSTALL,
        code=Code.TOOLCHAIN,
    )


@cache
def identify(path: str, nbytes: int) -> Toolchain:
    """Ask a tileiras who it is; once per process and size of its file."""
    answer = _asked(path, "--version")
    release = RELEASE.search(answer.words) if answer.status == 0 else None
    if release is None:
        raise _unusable(path, _silent(answer))
    known = _listed(path)
    if not known:  # old ones read exactly their own release's bytecode, and cannot list it
        major, minor, _ = release.group(1).split(".")
        known = [(int(major), int(minor))]
    shared = [v for v in VERSIONS if v <= max(known)]
    if not shared:
        raise _unusable(
            path, f"it reads Tile IR up to {version_text(max(known))}, not {version_text(OLDEST)}"
        )
    return Toolchain(path, release.group(1), shared[-1], nbytes)


def _listed(path: str) -> list[Version]:
    answer = _asked(path, "--list-versions")
    return [(int(a), int(b)) for a, b in LISTED.findall(answer.words if answer.status == 0 else "")]


def bytecode_versions(tool: Toolchain) -> list[str]:
    """The versions of the bytecode that a tileiras reads."""
    return [version_text(v) for v in _listed(tool.path) or [tool.version]]


def description(tool: Toolchain) -> str:
    """What makes the cache of this tileiras usable where it is not; see `described`."""
    facts = {"release": tool.release, "version": list(tool.version), "nbytes": tool.nbytes}
    return json.dumps({NAME: facts}, indent=1) + "\n"


@cache
def described(path: str, nbytes: int) -> Toolchain:
    """A tileiras that is elsewhere: kernels it has compiled are found in the cache, by its name."""
    try:
        facts = json.loads(Path(path).read_text(encoding="utf-8"))[NAME]
        release, (major, minor), size = facts["release"], facts["version"], facts["nbytes"]
        known = (int(major), int(minor))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unusable(path, f"no description of {NAME}: {type(error).__name__}") from None
    if known not in VERSIONS:
        raise _unusable(path, f"it describes one for Tile IR {version_text(known)}")
    return Toolchain(path, str(release), known, int(size), is_here=False)


@cache
def architectures(path: str) -> tuple[str, ...]:
    """What a tileiras says it compiles for; nothing where it does not say."""
    return tuple(re.findall(r"=(sm_\d+)\b", _asked(path, "--help").words))


def _asked(path: str, option: str) -> Ended:
    try:
        return run([path, option], ASK_SECONDS)
    except OSError as error:
        return Ended(None, f"it cannot be started: {error}")


def _silent(ended: Ended) -> str:
    """Why one that was asked for its release did not say it, in one line."""
    words = " ".join(ended.words.split())[:MOST_SHOWN] if ended.status is not None else ""
    said = f": {words}" if words else ""
    return f"`{NAME} --version` does not say its release, {ended.manner}{said}"


def _unusable(path: str, why: str) -> CompileError:
    return CompileError(
        f"{path} cannot be used",
        expected="tileiras of CUDA toolkit 13.1 or newer",
        got=why,
        hint=f"install another: {INSTALL}, or set TILEWRIGHT_TILEIRAS_PATH",
        code=Code.TOOLCHAIN,
    )
