"""Tile IR as NVIDIA's own disassembler writes it, with the places that its locations name."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ...base.stage import Listing, Place, Places
from .lowered import Lowered
from .toolchain import SECONDS, Toolchain, run

NAME = "tileirdisasm"


def disassembled(made: Lowered, tool: Toolchain) -> dict[str, Listing]:
    """Return the text of a program's bytecode, by the name of the disassembler; {} without one."""
    program = Path(tool.disassembler)
    if not program.is_file():
        return {}
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        path = Path(folder, "kernel.tileirbc")
        path.write_bytes(made.bytecode())
        ended = run([str(program), "--print-debug-info", str(path)], SECONDS)
    if ended.status != 0:
        return {NAME: Listing.plain(f"{program}: {ended.manner}: {ended.words}")}
    return {NAME: with_places(ended.words)}


_FILE = re.compile(r'(#[\w.]+) = #cuda_tile\.di_file<"([^"]*)" in "([^"]*)">')
_SUBPROGRAM = re.compile(r"(#[\w.]+) = #cuda_tile\.di_subprogram<file = (#[\w.]+)")
_DEFINED = re.compile(r"(#loc\d*) = (.*)")
_PLACE = re.compile(r'loc\("([^"]*)":(\d+):(\d+)\)')
_IN = re.compile(r"#cuda_tile\.di_loc<(#loc\d*) in (#[\w.]+)>")
_CALL = re.compile(r"loc\(callsite\((#loc\d*) at (#loc\d*)\)\)")
_USED = re.compile(r" loc\((#loc\d*)\)$")
_ALIAS = re.compile(r"#[\w.]+ = ")


def with_places(text: str) -> Listing:
    """Return a disassembled program without its locations, and the places that they name."""
    files = {alias: str(PurePosixPath(folder, name)) for alias, name, folder in _FILE.findall(text)}
    owners = {alias: files.get(file, "") for alias, file in _SUBPROGRAM.findall(text)}
    defined = dict(_DEFINED.findall(text))
    lines: list[str] = []
    places: list[Places] = []
    for line in text.splitlines():
        if _ALIAS.match(line):
            continue
        used = _USED.search(line)
        lines.append(line[: used.start()] if used else line)
        places.append(_places(used[1], defined, owners) if used else ())
    return Listing(tuple(lines), tuple(places))


def _places(
    alias: str, defined: Mapping[str, str], owners: Mapping[str, str], file: str = ""
) -> Places:
    """Return what an alias stands for: a place, in the file of a function, or a call of one."""
    text = defined.get(alias, "")
    if place := _PLACE.fullmatch(text):
        return (Place(file or place[1], int(place[2]), int(place[3])),)
    if inside := _IN.fullmatch(text):
        return _places(inside[1], defined, owners, owners.get(inside[2], ""))
    if call := _CALL.fullmatch(text):
        return _places(call[1], defined, owners) + _places(call[2], defined, owners)
    return ()
