"""Moves: of registers, special registers and addresses; vectors, choices, generic addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .layout import LOCAL_WINDOW, SHARED_WINDOW, Layout
from .program import Instr
from .values import BITS, Action, Array, Lanes, Maker, bits_of, form, pure, reader, unknown, writer

if TYPE_CHECKING:
    from .threads import Threads

WINDOWS = {"global": 0, "const": 0, "shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


def _move(layout: Layout, instr: Instr) -> Action:
    kind = form(instr, r"mov\.([bsu](?:16|32|64)|f32|f64|pred)", 2)[1]
    target, source = instr.operands
    if isinstance(source, tuple):
        return _pack(layout, instr, kind)
    if isinstance(target, tuple):
        return _unpack(layout, instr, kind)
    return pure(layout, instr, kind, (kind,), lambda a: a)


def _parts(instr: Instr, kind: str, count: int) -> str:
    bits = bits_of(kind) // count
    if bits not in BITS:
        unknown(instr)
    return f"b{bits}"


def _pack(layout: Layout, instr: Instr, kind: str) -> Action:
    """Pack a vector into one number; its first part has the lowest bits."""
    target, source = instr.operands
    assert isinstance(source, tuple), "a vector"
    part = _parts(instr, kind, len(source))
    reads = [reader(layout, instr, each, part) for each in source]
    write = writer(instr, target, f"b{bits_of(kind)}")
    dtype = BITS[bits_of(kind)]

    def act(threads: Threads, lanes: Lanes) -> None:
        made: Array = np.asarray(0, dtype)
        for number, read in enumerate(reads):
            by = dtype.type(number * bits_of(part))
            made = made | (read(threads, lanes).astype(dtype) << by)
        write(threads, lanes, made)

    return act


def _unpack(layout: Layout, instr: Instr, kind: str) -> Action:
    target, source = instr.operands
    assert isinstance(target, tuple), "a vector"
    part = _parts(instr, kind, len(target))
    read = reader(layout, instr, source, f"b{bits_of(kind)}")
    writes = [writer(instr, each, part) for each in target]
    dtype, narrow = BITS[bits_of(kind)], BITS[bits_of(part)]

    def act(threads: Threads, lanes: Lanes) -> None:
        value = read(threads, lanes)
        parts = [
            (value >> dtype.type(number * bits_of(part))).astype(narrow)
            for number in range(len(writes))
        ]
        for write, made in zip(writes, parts, strict=True):
            write(threads, lanes, made)

    return act


def _select(layout: Layout, instr: Instr) -> Action:
    kind = form(instr, r"selp\.([bsu](?:16|32|64)|f16|f32|f64)", 4)[1]
    kind = f"b{bits_of(kind)}"
    return pure(layout, instr, kind, (kind, kind, "pred"), _chosen)


def _chosen(a: Array, b: Array, holds: Array) -> Array:
    return np.where(holds, a, b)


def _generic(layout: Layout, instr: Instr) -> Action:
    """Run `cvta`: convert an address of a space to a generic one, or back."""
    match = form(instr, r"cvta(\.to)?\.(global|const|shared|local)\.u64", 2)
    window = np.uint64(WINDOWS[match[2]])
    back = bool(match[1])
    return pure(layout, instr, "u64", ("u64",), lambda a: a - window if back else a + window)


RULES: dict[str, Maker] = {"mov": _move, "selp": _select, "cvta": _generic}
