"""Find the programs of the CUDA toolkit, run them, and show their listings."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from ...base.config import child_environment, current, toolkit_directory
from ...base.cubin import sections
from ...base.errors import Code, CompileError
from ...base.files import files_in_wheel
from ...base.stage import Listing, Place, Places
from .bytecode.enums import OLDEST, VERSIONS, Version, version_text

# -------------------------------------------------------------------------------------------------
# Processes: run a program of the CUDA toolkit with a time limit.

MISLEADING = ("CUDA_HOME", "CUDA_PATH")
"""Variables by which these programs would look for their helpers in another toolkit."""
KILL_SECONDS = 5.0

Process: TypeAlias = "subprocess.Popen[bytes]"
Wait: TypeAlias = Callable[[Process, "float | None"], bytes]
"""Wait for a process up to this many seconds; return its output."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a process: its exit status, negative for a signal; None if it was stopped."""

    status: int | None
    words: str
    """What it said; of one that was stopped, what became of it."""

    @property
    def manner(self) -> str:
        """The text of how it ended."""
        if self.status is None:
            return self.words
        if self.status < 0:
            return f"it crashed ({_signal(-self.status)})"
        return f"exit status {self.status}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _simply(process: Process, limit: float | None) -> bytes:
    return process.communicate(timeout=limit)[0]


def run(
    command: Sequence[str],
    limit: float | None,
    wait: Wait = _simply,
    more: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program to its end, or so many seconds; OSError where it cannot be started.

    `more` is what it finds in its environment besides.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**child_environment(MISLEADING), **(more or {})},
        start_new_session=True,  # its child processes must end with it
    )
    try:
        words = wait(process, limit)
    except subprocess.TimeoutExpired:
        _stop(process)
        return Ended(None, f"stopped after {limit:g} seconds")
    except BaseException:
        _stop(process)
        raise
    return Ended(process.returncode, words.decode(errors="replace"))


def _stop(process: Process) -> None:
    """End a process and all it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
    process.communicate(timeout=KILL_SECONDS)


# -------------------------------------------------------------------------------------------------
# Discovery of tileiras, the assembler of Tile IR, and its version.

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
        """The identity of the tool, which is part of cache keys."""
        return f"tileiras {self.release}, {self.nbytes} bytes"

    @property
    def disassembler(self) -> str:
        """The program beside it that turns bytecode into text."""
        return str(Path(self.path).with_name("tileirdisasm"))


def find_toolchain() -> Toolchain:
    """Return the tileiras to use; a CompileError says where it was looked for."""
    path = find()
    size = _size(path)
    return described(str(path), size) if path.suffix == DESCRIBED else identify(str(path), size)


def find() -> Path:
    """Find tileiras, by the settings and the usual places."""
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
    """Return a program of the CUDA toolkit: from its wheel, from a toolkit, or on the path."""
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
    """Return the version of a tileiras; it runs once per process and size of its file."""
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
    """Return the versions of the bytecode that a tileiras reads."""
    return [version_text(v) for v in _listed(tool.path) or [tool.version]]


def description(tool: Toolchain) -> str:
    """Return the description by which other machines can use its cache; see `described`."""
    facts = {"release": tool.release, "version": list(tool.version), "nbytes": tool.nbytes}
    return json.dumps({NAME: facts}, indent=1) + "\n"


@cache
def described(path: str, nbytes: int) -> Toolchain:
    """Return a tileiras of another machine: kernels it has compiled are found by its name."""
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
    """Return the architectures that a tileiras lists; none if it lists none."""
    return tuple(re.findall(r"=(sm_\d+)\b", _asked(path, "--help").words))


def _asked(path: str, option: str) -> Ended:
    try:
        return run([path, option], ASK_SECONDS)
    except OSError as error:
        return Ended(None, f"it cannot be started: {error}")


def _silent(ended: Ended) -> str:
    """Return the reason why a program did not report its release, in one line."""
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


# -------------------------------------------------------------------------------------------------
# Listings of a cubin: the PTX it was made from, and its machine instructions.
#
# Cubins with line information contain the PTX; their instructions are the same as in others.

PTX = ".nv_debug_ptx_txt"
APPENDED = ".nv_intermediate_source_section"
"""What the assembler writes behind the PTX."""
DISASSEMBLER = "nvdisasm"
NVDISASM_WHEEL = "nvidia-cuda-nvdisasm"
SECONDS = 60


def listings(cubin: bytes) -> dict[str, Listing]:
    """Return the available texts by name; machine code needs NVIDIA's disassembler."""
    code, of_ptx = _with_places(_disassembled(cubin))
    found = {"ptx": _ptx_listing(cubin, of_ptx), "sass": code}
    return {name: listing for name, listing in found.items() if listing.lines}


def ptx(cubin: bytes) -> str:
    """Return the PTX; empty where the cubin has none."""
    return _ptx_listing(cubin, {}).text


def _ptx_listing(cubin: bytes, places: Mapping[int, Places]) -> Listing:
    """Return the PTX without its empty lines; `places` are those of its lines, counted from 1."""
    for section in sections(cubin):
        if section.name == PTX:
            text = section.data.decode(errors="replace").replace("\0", "\n")
            lines = enumerate(text.partition(APPENDED)[0].splitlines(), 1)
            kept = [(line, places.get(number, ())) for number, line in lines if line.strip()]
            return Listing(tuple(line for line, _ in kept), tuple(at for _, at in kept))
    return Listing((), ())


def sass(cubin: bytes) -> str:
    """Return the machine instructions under their lines of Python; empty without nvdisasm."""
    return _with_places(_disassembled(cubin))[0].text


def _disassembled(cubin: bytes) -> str:
    """Return the machine instructions under their lines of Python and of PTX."""
    program = find_program(DISASSEMBLER, NVDISASM_WHEEL)
    if program is None:
        return ""
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        options = ["--print-code", "--print-line-info", "--print-line-info-ptx"]
        ended = run([str(program), *options, str(path)], SECONDS)
    return ended.words if ended.status == 0 else f"{program}: {ended.manner}: {ended.words}"


_HEADING = re.compile(
    r'\s*//## File "(?P<file>[^"]*)", line (?P<line>\d+)(?P<inlined> inlined at)?'
)


def _with_places(text: str) -> tuple[Listing, dict[int, Places]]:
    """Return machine code with the lines of Python that the headings of its parts name.

    Also return the lines of Python that most instructions of each line of PTX come from.
    """
    lines, places = list[str](), list[Places]()
    votes: dict[int, Counter[Places]] = {}
    here: Places = ()
    goes_on, of_ptx = False, 0
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading is not None and heading["file"] == PTX:
            of_ptx = int(heading["line"])
            continue
        if heading is not None:
            place = Place(heading["file"], int(heading["line"]))
            # The call that a function was inlined at has a heading below that of the function.
            here = (*here, place) if goes_on else (place,)
            goes_on = heading["inlined"] is not None
        is_code = line.lstrip().startswith("/*")
        if is_code and here:
            votes.setdefault(of_ptx, Counter())[here] += 1
        lines.append(line)
        places.append(here if is_code or heading is not None else ())
    best = {number: counts.most_common(1)[0][0] for number, counts in votes.items()}
    return Listing(tuple(lines), tuple(places)), best
