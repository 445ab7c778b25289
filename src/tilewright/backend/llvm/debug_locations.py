"""Debug locations of LLVM instructions: the lines of Python that they come from.

Only directives are asked for: assembly and PTX name the lines, but objects have no debug sections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import PurePath

from ...base.source import Span
from ...base.stage import Listing, Place, Places

FIRST = 1000
"""The first number of our metadata; what code generation itself refers to has smaller ones."""
FLAGS = "spFlags: DISPFlagDefinition | DISPFlagOptimized"


class DebugLocations:
    """The locations of one function's instructions, as metadata."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._numbers = count(FIRST + 5)
        self._files: dict[str, int] = {}
        self._scopes: dict[str, int] = {}
        self._found: dict[tuple[str, int, int], int] = {}
        self._lines: list[str] = []
        self._first: Span | None = None

    @property
    def subprogram(self) -> str:
        """What the function's head refers to."""
        return f"!dbg !{FIRST + 3}"

    def located(
        self, lines: Sequence[str], origins: Sequence[tuple[int, Span | None]]
    ) -> list[str]:
        """Return instructions with locations; `origins` says from which line on each holds."""
        self._first = next((span for _, span in origins if span is not None), None)
        result: list[str] = []
        waiting, span = list(reversed(origins)), None
        for number, line in enumerate(lines):
            while waiting and waiting[-1][0] <= number:
                span = waiting.pop()[1]
            is_instruction = line.startswith("  ") and not line.startswith("   ")
            known = span if is_instruction else None
            result.append(line if known is None else f"{line}, !dbg !{self._location(known)}")
        return result

    def _location(self, span: Span) -> int:
        key = span.file.name, span.line, span.column + 1
        if key not in self._found:
            scope = self._scope(span.file.name)
            self._found[key] = self._new(
                f"!DILocation(line: {span.line}, column: {span.column + 1}, scope: !{scope})"
            )
        return self._found[key]

    def _scope(self, file: str) -> int:
        if file not in self._scopes:
            text = f"!DILexicalBlockFile(scope: !{FIRST + 3}, file: !{self._file(file)}, "
            self._scopes[file] = self._new(f"{text}discriminator: 0)")
        return self._scopes[file]

    def _file(self, name: str) -> int:
        if name not in self._files:
            self._files[name] = self._new(f'!DIFile(filename: "{_escaped(name)}", directory: "")')
        return self._files[name]

    def _new(self, text: str) -> int:
        number = next(self._numbers)
        self._lines.append(f"!{number} = {text}")
        return number

    def metadata(self) -> list[str]:
        """Return the lines behind the function."""
        first = self._first
        name, line = ("<kernel>", 1) if first is None else (first.file.name, first.line)
        file = self._file(name)
        unit = (
            f"distinct !DICompileUnit(language: DW_LANG_Python, file: !{file},"
            ' producer: "tilewright", isOptimized: true, runtimeVersion: 0,'
            " emissionKind: DebugDirectivesOnly)"
        )
        subprogram = (
            f'distinct !DISubprogram(name: "{_escaped(self._name)}", scope: !{file},'
            f" file: !{file}, line: {line}, type: !{FIRST + 2}, unit: !{FIRST}, {FLAGS})"
        )
        return [
            f"!llvm.dbg.cu = !{{!{FIRST}}}",
            f"!llvm.module.flags = !{{!{FIRST + 1}}}",
            f"!{FIRST} = {unit}",
            f'!{FIRST + 1} = !{{i32 2, !"Debug Info Version", i32 3}}',
            f"!{FIRST + 2} = !DISubroutineType(types: !{{null}})",
            f"!{FIRST + 3} = {subprogram}",
            *self._lines,
        ]


def _escaped(text: str) -> str:
    """Return a text for between the quotes of LLVM: other characters as hexadecimal bytes."""
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
        for byte in text.encode()
    )


def _unescaped(text: str) -> str:
    parts = re.split(r"\\([0-9A-Fa-f]{2})", text)
    found = b"".join(
        bytes.fromhex(part) if number % 2 else part.encode() for number, part in enumerate(parts)
    )
    return found.decode(errors="replace")


# -------------------------------------------------------------------------------------------------
# Places read back from texts: of LLVM, and of assembly and PTX made from it.

_FILE = re.compile(r'!(\d+) = !DIFile\(filename: "([^"]*)"')
_SCOPE = re.compile(r"!(\d+) = !DILexicalBlockFile\(scope: !\d+, file: !(\d+)")
_LOCATION = re.compile(r"!(\d+) = !DILocation\(line: (\d+), column: (\d+), scope: !(\d+)\)")
_USED = re.compile(r", !dbg !(\d+)$")
_HEAD = re.compile(r" !dbg !\d+ \{$")
_METADATA = re.compile(r"!llvm\.(dbg\.cu|module\.flags) = |!1\d{3,} = ")


def llvm_listing(text: str) -> Listing:
    """Return LLVM text with the places of its lines, and without their metadata."""
    files = {number: _unescaped(name) for number, name in _FILE.findall(text)}
    scopes = {number: files[file] for number, file in _SCOPE.findall(text)}
    locations = {
        number: Place(scopes[scope], int(line), int(column))
        for number, line, column, scope in _LOCATION.findall(text)
    }
    lines: list[str] = []
    places: list[Places] = []
    for line in text.splitlines():
        if _METADATA.match(line):
            continue
        used = _USED.search(line)
        lines.append(_HEAD.sub(" {", line[: used.start()] if used else line))
        places.append((locations[used[1]],) if used else ())
    return Listing(tuple(lines), tuple(places))


_LISTED = re.compile(r'\s*\.file\s+(\d+)\s+(?:"([^"]*)"\s+)?"([^"]*)"')
_AT = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?")
_BEGIN = re.compile(r"\s*(\.cfi_startproc|\.visible \.entry|\.func)")


def directive_listing(text: str) -> Listing:
    """Return assembly or PTX with the places that its `.loc` directives name, and without them."""
    files = dict(_listed(text))
    lines: list[str] = []
    places: list[Places] = []
    here: Places = ()
    for line in text.splitlines():
        at = _AT.match(line)
        if at is not None:
            name = files.get(at[1])
            known = name is not None and int(at[2]) > 0
            here = (Place(name or "", int(at[2]), int(at[3] or 0)),) if known else ()
            continue
        if _LISTED.match(line):
            continue
        if _BEGIN.match(line):
            here = ()
        is_code = line[:1] in ("\t", " ", "@") and not line.lstrip().startswith((".", "//", "#"))
        lines.append(line)
        places.append(here if is_code else ())
    return Listing(tuple(lines), tuple(places))


def _listed(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        found = _LISTED.match(line)
        if found is not None:
            number, folder, name = found.groups()
            yield number, str(PurePath(folder or "", name)).replace("\\\\", "\\")
