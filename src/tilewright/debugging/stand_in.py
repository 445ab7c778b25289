"""Code objects that stand in for functions of a kernel: the same file, name and lines."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import starmap
from operator import call
from types import CodeType
from typing import Any

from ..ir.attrs import DebuggedFunction

GO, NEXT, LINE, ENDED, RESULT, DRAIN, EACH, CALL, REPEAT = (
    f"__tilewright_{name}__"
    for name in ("go", "next", "line", "ended", "result", "drain", "each", "call", "repeat")
)
"""Names among the globals of a stand-in; its locals are the variables of the kernel alone."""
NO_LINE = 1 << 24
"""Stands for the lines of code that has none."""
_drain: Callable[[Iterator[object]], None] = deque[object](maxlen=0).extend


def globals_of(
    function: DebuggedFunction,
    go: Callable[[], object],
    step: Callable[[], object],
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the globals of a stand-in.

    `step` gives the next line, `go` runs a line: it returns calls to be made, and at last None.
    """
    own = {GO: go, NEXT: step, DRAIN: _drain, EACH: starmap, CALL: call, REPEAT: iter}
    return {**function.globals, **more, **own, LINE: 0, ENDED: False, RESULT: None}


@lru_cache(512)
def code_of(function: DebuggedFunction) -> CodeType:
    """Return code that goes to any line of a function, in any order.

        while True:
            line = next()
            if line == 10:
                drain(each(call, repeat(go, None))); if ended: return result

    for each line. Only the last line of this has a place, that of the statement: so all that
    debuggers see is a line that runs, and calls of other stand-ins in it.
    """
    body = [
        _parsed(f"{LINE} = {NEXT}()", NO_LINE),
        *[_case(line) for line in function.lines],
        _parsed(f"if {ENDED}: return {RESULT}", NO_LINE),
    ]
    loop = ast.While(ast.Constant(value=True), body, [])
    made = ast.parse(f"def stand_in():\n    global {LINE}").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body.append(_placed(loop, NO_LINE))
    made.lineno = made.end_lineno = function.first_line
    made.body[0].lineno = made.body[0].end_lineno = function.first_line
    module = compile(ast.Module([made], []), function.file, "exec")
    (code,) = (const for const in module.co_consts if isinstance(const, CodeType))
    flags = code.co_flags & ~(OPTIMIZED | NEW_LOCALS)  # its locals are what `exec` is given
    return code.replace(
        co_name=function.name, co_qualname=function.name, co_flags=flags,
        co_linetable=_without_lines(code),
    )  # fmt: skip


OPTIMIZED, NEW_LOCALS = 1, 2


def _case(line: int) -> ast.stmt:
    run = _parsed(f"{DRAIN}({EACH}({CALL}, {REPEAT}({GO}, None)))", line)
    end = _parsed(f"if {ENDED}: return {RESULT}", line)
    test = _parsed(f"if {LINE} == {line}: pass", NO_LINE)
    assert isinstance(test, ast.If)
    test.body = [run, end]
    return test


def _parsed(text: str, line: int) -> ast.stmt:
    # A function around it: `return` has to be in one.
    function = ast.parse(f"def f(): {text}" if "\n" in text else f"def f():\n {text}").body[0]
    assert isinstance(function, ast.FunctionDef)
    return _placed(function.body[0], line)


def _placed(statement: ast.stmt, line: int) -> ast.stmt:
    for node in ast.walk(statement):
        if isinstance(node, ast.expr | ast.stmt) and getattr(node, "lineno", 0) < NO_LINE:
            known = getattr(node, "placed", False)
            if not known:
                node.lineno = node.end_lineno = line
                node.col_offset = node.end_col_offset = 0
                node.placed = True  # type: ignore[union-attr]
    return statement


# -------------------------------------------------------------------------------------------------
# Tables of lines, as CPython lays them out (Objects/locations.md).

NOWHERE, NO_COLUMNS = 15, 13
"""Kinds of entries: instructions without a place; a line without columns."""
MOST_UNITS = 8
"""Units of code that an entry is about."""


def _without_lines(code: CodeType) -> bytes:
    """Return the table of a code object in which what is at `NO_LINE` has no place."""
    runs: list[tuple[int | None, int]] = []
    for line, *_ in code.co_positions():
        shown = None if line is None or line >= NO_LINE else line
        if runs and runs[-1][0] == shown and runs[-1][1] < MOST_UNITS:
            runs[-1] = shown, runs[-1][1] + 1
        else:
            runs.append((shown, 1))
    table, last = bytearray(), code.co_firstlineno
    for shown, units in runs:
        kind = NOWHERE if shown is None else NO_COLUMNS
        table.append(0x80 | kind << 3 | units - 1)
        if shown is not None:
            table += _signed(shown - last)
            last = shown
    return bytes(table)


def _signed(number: int) -> bytes:
    """Return a number in parts of six bits, the sign in the lowest."""
    rest = -number << 1 | 1 if number < 0 else number << 1
    parts = bytearray()
    while rest >= 0x40:
        parts.append(0x40 | rest & 0x3F)
        rest >>= 6
    parts.append(rest)
    return bytes(parts)
