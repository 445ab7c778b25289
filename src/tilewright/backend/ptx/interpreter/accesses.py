"""Loads and stores, in every space; fences order nothing here, where accesses happen in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .layout import LOCAL_WINDOW, SHARED_WINDOW, Layout
from .program import Address, Instr, Number, Operand, PtxError, Register, Scalar, Symbol
from .values import (
    ALL,
    BITS,
    TYPES,
    Action,
    Array,
    Lanes,
    Maker,
    UndefinedError,
    bits_of,
    first,
    form,
    reader,
    unknown,
    writer,
)

if TYPE_CHECKING:
    from .threads import Threads

SCOPES = "cta|cluster|gpu|sys"
ORDER = rf"(?:\.(?:volatile|mmio|weak)|\.(?:relaxed|acquire|release)\.(?:{SCOPES}))?"
SPACE = r"(?:\.(?P<space>global|const|shared|local|param))?"
TYPE = r"(?:\.(?P<vector>v2|v4))?\.(?P<kind>[bsu](?:8|16|32|64)|f32|f64)"
LOAD = rf"ld{ORDER}{SPACE}(?P<constant>\.nc)?{TYPE}"
STORE = rf"st{ORDER}{SPACE}{TYPE}"
WINDOW = 1 << 40
"""Bytes of a window of generic addresses; no space has as many."""
Locate = Callable[["Threads", Lanes], Array]
Put = Callable[["Threads", Lanes, Array], None]
"""Writes a row of elements for each thread."""


def located(layout: Layout, instr: Instr, address: Address) -> Locate:
    """Return the addresses of an access, as signed numbers, one for each thread."""
    base = address.base
    if isinstance(base, Register):
        read = reader(layout, instr, base, "s64")
        return lambda threads, lanes: read(threads, lanes) + address.offset
    fixed = base.value if isinstance(base, Number) else layout.address(base.name)
    return lambda threads, lanes: np.full(len(threads.pc[lanes]), fixed + address.offset, np.int64)


def check_aligned(addresses: Array, nbytes: int) -> None:
    """Raise for an address that is no multiple of what is accessed there."""
    wrong = addresses % nbytes != 0
    if wrong.any():
        which = first(wrong)
        raise UndefinedError(
            f"the address {int(addresses[which]):#x} is no multiple of {nbytes}", which
        )


def by_space(space: str, addresses: Array) -> list[tuple[str, Array | slice, Array]]:
    """Return where accesses go: spaces, which of the threads, addresses in the space."""
    if space:
        return [(space, ALL, addresses)]
    found: list[tuple[str, Array | slice, Array]] = []
    shared = (addresses >= SHARED_WINDOW) & (addresses < SHARED_WINDOW + WINDOW)
    local = (addresses >= LOCAL_WINDOW) & (addresses < LOCAL_WINDOW + WINDOW)
    if not (shared | local).any():
        return [("global", ALL, addresses)]
    kinds = (("shared", shared, SHARED_WINDOW), ("local", local, LOCAL_WINDOW),
             ("global", ~(shared | local), 0))  # fmt: skip
    for name, mask, window in kinds:
        chosen = np.flatnonzero(mask)
        if len(chosen):
            found.append((name, chosen, addresses[chosen] - window))
    return found


def load_from(
    threads: Threads, lanes: Lanes, addresses: Array, space: str, size: int, columns: Array,
    *, constant: bool = False,
) -> Array:  # fmt: skip
    """Read a row of elements for each thread."""
    numbers = threads.numbers(lanes)
    made = np.empty((len(addresses), len(columns)), BITS[8 * size])
    for name, chosen, there in by_space(space, addresses):
        if name == "shared":
            made[chosen] = threads.shared.load(numbers[chosen], there, size, columns)
        elif name == "local":
            made[chosen] = threads.local.load(numbers[chosen], there, size, columns)
        else:
            memory = threads.launch.memory
            made[chosen] = memory.load(there, size, columns, constant=constant)
    return made


def store_to(threads: Threads, lanes: Lanes, addresses: Array, space: str, values: Array) -> None:
    """Write a row of elements for each thread."""
    numbers = threads.numbers(lanes)
    for name, chosen, there in by_space(space, addresses):
        if name == "shared":
            threads.shared.store(numbers[chosen], there, values[chosen])
        elif name == "local":
            threads.local.store(numbers[chosen], there, values[chosen])
        elif name == "global":
            threads.launch.memory.store(there, values[chosen])
        else:
            raise UndefinedError(f"a store to {name} memory", 0)


def _vector(instr: Instr, match: re.Match[str], operand: Operand) -> tuple[Scalar, ...]:
    if isinstance(operand, Address):
        unknown(instr)
    parts = operand if isinstance(operand, tuple) else (operand,)
    if len(parts) != int((match["vector"] or "v1")[1:]):
        unknown(instr)
    return parts


def _address(instr: Instr, operand: Operand) -> Address:
    if not isinstance(operand, Address):
        unknown(instr)
    return operand


def _load(layout: Layout, instr: Instr) -> Action:
    match = form(instr, LOAD, 2)
    space, kind = match["space"] or "", match["kind"]
    parts = _vector(instr, match, instr.operands[0])
    address = _address(instr, instr.operands[1])
    # LLVM makes vectors of loads with gaps between them; unread gaps need not be memory.
    used = [number for number, part in enumerate(parts) if layout.is_used(part)]
    taken = used or list(range(len(parts)))
    columns = np.array(taken)
    writes = [writer(instr, parts[number], kind, wide=True) for number in taken]
    take = (_load_param if space == "param" else _load_memory)(
        layout, instr, address, match, len(parts), columns
    )
    dtype = TYPES[kind]

    def act(threads: Threads, lanes: Lanes) -> None:
        rows = take(threads, lanes)
        for number, write in enumerate(writes):
            write(threads, lanes, np.ascontiguousarray(rows[:, number]).view(dtype))

    return act


def _load_memory(
    layout: Layout, instr: Instr, address: Address, match: re.Match[str], count: int,
    columns: Array,
) -> Callable[[Threads, Lanes], Array]:  # fmt: skip
    locate = located(layout, instr, address)
    size, space = bits_of(match["kind"]) // 8, match["space"] or ""
    constant = bool(match["constant"])

    def take(threads: Threads, lanes: Lanes) -> Array:
        there = locate(threads, lanes)
        check_aligned(there, size * count)
        return load_from(threads, lanes, there, space, size, columns, constant=constant)

    return take


def _load_param(
    layout: Layout, instr: Instr, address: Address, match: re.Match[str], count: int,
    columns: Array,
) -> Callable[[Threads, Lanes], Array]:  # fmt: skip
    """Read a parameter: of the kernel, the same for all; of a function, that of each thread."""
    name, size = _param_name(instr, address), bits_of(match["kind"]) // 8
    nbytes = size * count
    place = layout.kernel_params.get(name) if layout.function.is_entry else None
    if place is not None:
        start = place.start + address.offset
        if address.offset + nbytes > place.nbytes:
            raise PtxError(f"{instr} reads beyond {name}")

        def take(threads: Threads, lanes: Lanes) -> Array:
            raw = threads.launch.params[start : start + nbytes]
            row = np.frombuffer(raw, BITS[8 * size])[columns]
            return np.broadcast_to(row, (len(threads.pc[lanes]), len(columns)))

        return take
    start = _param_start(layout, instr, name, address.offset, nbytes)
    return lambda threads, lanes: threads.params.load(
        threads.numbers(lanes), np.full(len(threads.pc[lanes]), start), size, columns
    )


def _param_name(instr: Instr, address: Address) -> str:
    if not isinstance(address.base, Symbol):
        unknown(instr)
    return address.base.name


def _param_start(layout: Layout, instr: Instr, name: str, offset: int, nbytes: int) -> int:
    place = layout.param(name)
    if offset + nbytes > place.nbytes:
        raise PtxError(f"{instr} reaches beyond {name}")
    return place.start + offset


def _store(layout: Layout, instr: Instr) -> Action:
    match = form(instr, STORE, 2)
    space, kind = match["space"] or "", match["kind"]
    address = _address(instr, instr.operands[0])
    parts = _vector(instr, match, instr.operands[1])
    reads = [reader(layout, instr, part, kind, wide=True) for part in parts]
    size = bits_of(kind) // 8
    put = (_put_param if space == "param" else _put_memory)(layout, instr, address, space)

    def act(threads: Threads, lanes: Lanes) -> None:
        count = len(threads.pc[lanes])
        rows = np.empty((count, len(parts)), BITS[8 * size])
        for number, read in enumerate(reads):
            rows[:, number] = read(threads, lanes).view(BITS[8 * size])
        put(threads, lanes, rows)

    return act


def _put_param(layout: Layout, instr: Instr, address: Address, space: str) -> Put:
    name, offset = _param_name(instr, address), address.offset
    place = layout.param(name)

    def put(threads: Threads, lanes: Lanes, rows: Array) -> None:
        if offset + rows.shape[1] * rows.dtype.itemsize > place.nbytes:
            raise PtxError(f"{instr} reaches beyond {name}")
        start = np.full(len(rows), place.start + offset)
        threads.params.store(threads.numbers(lanes), start, rows)

    return put


def _put_memory(layout: Layout, instr: Instr, address: Address, space: str) -> Put:
    locate = located(layout, instr, address)

    def put(threads: Threads, lanes: Lanes, rows: Array) -> None:
        there = locate(threads, lanes)
        check_aligned(there, rows.shape[1] * rows.dtype.itemsize)
        store_to(threads, lanes, there, space, rows)

    return put


def _fence(layout: Layout, instr: Instr) -> Action:
    pattern = rf"fence\.(?:sc|acq_rel)\.(?:{SCOPES})|membar\.(?:cta|gl|sys)"
    form(instr, pattern, 0)
    return lambda threads, lanes: None


def _sleep(layout: Layout, instr: Instr) -> Action:
    form(instr, r"nanosleep\.u32", 1)
    return lambda threads, lanes: None


RULES: dict[str, Maker] = {
    "ld": _load, "st": _store, "fence": _fence, "membar": _fence, "nanosleep": _sleep,
}  # fmt: skip
