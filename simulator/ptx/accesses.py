"""Moves, loads, stores and atomic updates, in every space."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .memory import LOCAL_WINDOW, SHARED_WINDOW, WORD, PtxLayout
from .program import Operand, PtxAddress, PtxError, PtxInstr, PtxNumber, PtxSymbol, Register, Scalar
from .values import (
    ALL,
    BITS,
    TYPES,
    Action,
    Array,
    Lanes,
    Maker,
    Reader,
    UndefinedPtxError,
    bits_of,
    canonical,
    first,
    flushed,
    form,
    pure,
    reader,
    unknown,
    writer,
)

if TYPE_CHECKING:
    from .threads import PtxThreads

# --- moves -------------------------------------------------------------------------------------

WINDOWS = {"global": 0, "const": 0, "shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


def _move(layout: PtxLayout, instr: PtxInstr) -> Action:
    kind = form(instr, r"mov\.([bsu](?:16|32|64)|f32|f64|pred)", 2)[1]
    target, source = instr.operands
    if isinstance(source, tuple):
        return _pack(layout, instr, kind)
    if isinstance(target, tuple):
        return _unpack(layout, instr, kind)
    return pure(layout, instr, kind, (kind,), lambda a: a)


def _parts(instr: PtxInstr, kind: str, count: int) -> str:
    bits = bits_of(kind) // count
    if bits not in BITS:
        unknown(instr)
    return f"b{bits}"


def _pack(layout: PtxLayout, instr: PtxInstr, kind: str) -> Action:
    """Pack a vector into one number; its first part has the lowest bits."""
    target, source = instr.operands
    assert isinstance(source, tuple), "a vector"
    part = _parts(instr, kind, len(source))
    reads = [reader(layout, instr, each, part) for each in source]
    write = writer(instr, target, f"b{bits_of(kind)}")
    dtype = BITS[bits_of(kind)]

    def act(threads: PtxThreads, lanes: Lanes) -> None:
        made: Array = np.asarray(0, dtype)
        for number, read in enumerate(reads):
            by = dtype.type(number * bits_of(part))
            made = made | (read(threads, lanes).astype(dtype) << by)
        write(threads, lanes, made)

    return act


def _unpack(layout: PtxLayout, instr: PtxInstr, kind: str) -> Action:
    target, source = instr.operands
    assert isinstance(target, tuple), "a vector"
    part = _parts(instr, kind, len(target))
    read = reader(layout, instr, source, f"b{bits_of(kind)}")
    writes = [writer(instr, each, part) for each in target]
    dtype, narrow = BITS[bits_of(kind)], BITS[bits_of(part)]

    def act(threads: PtxThreads, lanes: Lanes) -> None:
        value = read(threads, lanes)
        parts = [
            (value >> dtype.type(number * bits_of(part))).astype(narrow)
            for number in range(len(writes))
        ]
        for write, made in zip(writes, parts, strict=True):
            write(threads, lanes, made)

    return act


def _select(layout: PtxLayout, instr: PtxInstr) -> Action:
    kind = form(instr, r"selp\.([bsu](?:16|32|64)|f16|f32|f64)", 4)[1]
    kind = f"b{bits_of(kind)}"
    return pure(layout, instr, kind, (kind, kind, "pred"), _chosen)


def _chosen(a: Array, b: Array, holds: Array) -> Array:
    return np.where(holds, a, b)


def _generic(layout: PtxLayout, instr: PtxInstr) -> Action:
    """Run `cvta`: convert an address of a space to a generic one, or back."""
    match = form(instr, r"cvta(\.to)?\.(global|const|shared|local)\.u64", 2)
    window = np.uint64(WINDOWS[match[2]])
    back = bool(match[1])
    return pure(layout, instr, "u64", ("u64",), lambda a: a - window if back else a + window)


# --- loads and stores, in every space ----------------------------------------------------------

SCOPES = "cta|cluster|gpu|sys"
ORDER = rf"(?:\.(?:volatile|mmio|weak)|\.(?:relaxed|acquire|release)\.(?:{SCOPES}))?"
SPACE = r"(?:\.(?P<space>global|const|shared|local|param))?"
TYPE = r"(?:\.(?P<vector>v2|v4))?\.(?P<kind>[bsu](?:8|16|32|64)|f32|f64)"
LOAD = rf"ld{ORDER}{SPACE}(?P<constant>\.nc)?{TYPE}"
STORE = rf"st{ORDER}{SPACE}{TYPE}"
WINDOW = 1 << 40
"""Bytes of a window of generic addresses; no space has as many."""
Locate = Callable[["PtxThreads", Lanes], Array]
Put = Callable[["PtxThreads", Lanes, Array], None]
"""Writes a row of elements for each thread."""


def located(layout: PtxLayout, instr: PtxInstr, address: PtxAddress) -> Locate:
    """Return the addresses of an access, as signed numbers, one for each thread."""
    base = address.base
    if isinstance(base, Register):
        read = reader(layout, instr, base, "s64")
        return lambda threads, lanes: read(threads, lanes) + address.offset
    fixed = base.value if isinstance(base, PtxNumber) else layout.address(base.name)
    return lambda threads, lanes: np.full(len(threads.pc[lanes]), fixed + address.offset, np.int64)


def check_aligned(addresses: Array, nbytes: int) -> None:
    """Raise for an address that is not a multiple of the access size."""
    wrong = addresses % nbytes != 0
    if wrong.any():
        which = first(wrong)
        raise UndefinedPtxError(
            f"the address {int(addresses[which]):#x} is no multiple of {nbytes}", which
        )


def by_space(space: str, addresses: Array) -> list[tuple[str, Array | slice, Array]]:
    """Resolve generic addresses: the spaces, the threads in each, and addresses in the space."""
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
    threads: PtxThreads, lanes: Lanes, addresses: Array, space: str, size: int, columns: Array,
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


def store_to(
    threads: PtxThreads, lanes: Lanes, addresses: Array, space: str, values: Array
) -> None:
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
            raise UndefinedPtxError(f"a store to {name} memory", 0)


def _vector(instr: PtxInstr, match: re.Match[str], operand: Operand) -> tuple[Scalar, ...]:
    if isinstance(operand, PtxAddress):
        unknown(instr)
    parts = operand if isinstance(operand, tuple) else (operand,)
    if len(parts) != int((match["vector"] or "v1")[1:]):
        unknown(instr)
    return parts


def _address(instr: PtxInstr, operand: Operand) -> PtxAddress:
    if not isinstance(operand, PtxAddress):
        unknown(instr)
    return operand


def _load(layout: PtxLayout, instr: PtxInstr) -> Action:
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

    def act(threads: PtxThreads, lanes: Lanes) -> None:
        rows = take(threads, lanes)
        for number, write in enumerate(writes):
            write(threads, lanes, np.ascontiguousarray(rows[:, number]).view(dtype))

    return act


def _load_memory(
    layout: PtxLayout, instr: PtxInstr, address: PtxAddress, match: re.Match[str], count: int,
    columns: Array,
) -> Callable[[PtxThreads, Lanes], Array]:  # fmt: skip
    locate = located(layout, instr, address)
    size, space = bits_of(match["kind"]) // 8, match["space"] or ""
    constant = bool(match["constant"])

    def take(threads: PtxThreads, lanes: Lanes) -> Array:
        there = locate(threads, lanes)
        check_aligned(there, size * count)
        return load_from(threads, lanes, there, space, size, columns, constant=constant)

    return take


def _load_param(
    layout: PtxLayout, instr: PtxInstr, address: PtxAddress, match: re.Match[str], count: int,
    columns: Array,
) -> Callable[[PtxThreads, Lanes], Array]:  # fmt: skip
    """Read a parameter: of the kernel, the same for all; of a function, that of each thread."""
    name, size = _param_name(instr, address), bits_of(match["kind"]) // 8
    nbytes = size * count
    place = layout.kernel_params.get(name) if layout.function.is_entry else None
    if place is not None:
        start = place.start + address.offset
        if address.offset + nbytes > place.nbytes:
            raise PtxError(f"{instr} reads beyond {name}")

        def take(threads: PtxThreads, lanes: Lanes) -> Array:
            raw = threads.launch.params[start : start + nbytes]
            row = np.frombuffer(raw, BITS[8 * size])[columns]
            return np.broadcast_to(row, (len(threads.pc[lanes]), len(columns)))

        return take
    start = _param_start(layout, instr, name, address.offset, nbytes)
    return lambda threads, lanes: threads.params.load(
        threads.numbers(lanes), np.full(len(threads.pc[lanes]), start), size, columns
    )


def _param_name(instr: PtxInstr, address: PtxAddress) -> str:
    if not isinstance(address.base, PtxSymbol):
        unknown(instr)
    return address.base.name


def _param_start(layout: PtxLayout, instr: PtxInstr, name: str, offset: int, nbytes: int) -> int:
    place = layout.param(name)
    if offset + nbytes > place.nbytes:
        raise PtxError(f"{instr} reaches beyond {name}")
    return place.start + offset


def _store(layout: PtxLayout, instr: PtxInstr) -> Action:
    match = form(instr, STORE, 2)
    space, kind = match["space"] or "", match["kind"]
    address = _address(instr, instr.operands[0])
    parts = _vector(instr, match, instr.operands[1])
    reads = [reader(layout, instr, part, kind, wide=True) for part in parts]
    size = bits_of(kind) // 8
    put = (_put_param if space == "param" else _put_memory)(layout, instr, address, space)

    def act(threads: PtxThreads, lanes: Lanes) -> None:
        count = len(threads.pc[lanes])
        rows = np.empty((count, len(parts)), BITS[8 * size])
        for number, read in enumerate(reads):
            rows[:, number] = read(threads, lanes).view(BITS[8 * size])
        put(threads, lanes, rows)

    return act


def _put_param(layout: PtxLayout, instr: PtxInstr, address: PtxAddress, space: str) -> Put:
    name, offset = _param_name(instr, address), address.offset
    place = layout.param(name)

    def put(threads: PtxThreads, lanes: Lanes, rows: Array) -> None:
        if offset + rows.shape[1] * rows.dtype.itemsize > place.nbytes:
            raise PtxError(f"{instr} reaches beyond {name}")
        start = np.full(len(rows), place.start + offset)
        threads.params.store(threads.numbers(lanes), start, rows)

    return put


def _put_memory(layout: PtxLayout, instr: PtxInstr, address: PtxAddress, space: str) -> Put:
    locate = located(layout, instr, address)

    def put(threads: PtxThreads, lanes: Lanes, rows: Array) -> None:
        there = locate(threads, lanes)
        check_aligned(there, rows.shape[1] * rows.dtype.itemsize)
        store_to(threads, lanes, there, space, rows)

    return put


def _fence(layout: PtxLayout, instr: PtxInstr) -> Action:
    pattern = rf"fence\.(?:sc|acq_rel)\.(?:{SCOPES})|membar\.(?:cta|gl|sys)"
    form(instr, pattern, 0)
    return lambda threads, lanes: None


def _sleep(layout: PtxLayout, instr: PtxInstr) -> Action:
    form(instr, r"nanosleep\.u32", 1)
    return lambda threads, lanes: None


# --- atomic updates. Those of one instruction to one address happen one after the other --------

PATTERN = (
    rf"(?:atom|red)(?:\.(?:relaxed|acquire|release|acq_rel))?(?:\.(?:{SCOPES}))?"
    r"(?:\.(?P<space>global|shared))?\.(?P<name>add|min|max|and|or|xor|exch|cas|inc|dec)"
    r"(?P<noftz>\.noftz)?\.(?P<kind>[bsu](?:16|32|64)|f16|bf16|f32|f64)"
)
Combine: TypeAlias = Callable[[Array, Array], Array] | Callable[[Array, Array, Array], Array]
"""From what is there and the operands to what shall be there."""


def _swapped(old: Array, expected: Array, new: Array) -> Array:
    return np.where(old == expected, new, old)


def _increased(old: Array, most: Array) -> Array:
    return np.where(old >= most, 0, old + 1)


def _decreased(old: Array, most: Array) -> Array:
    return np.where((old == 0) | (old > most), most, old - 1)


COMBINE: dict[str, Combine] = {
    "add": lambda old, a: old + a,
    "min": np.minimum,
    "max": np.maximum,
    "and": lambda old, a: old & a,
    "or": lambda old, a: old | a,
    "xor": lambda old, a: old ^ a,
    "exch": lambda old, a: a,
    "cas": _swapped,
    "inc": _increased,
    "dec": _decreased,
}
TYPES_OF = {
    "add": ("u32", "s32", "u64", "f32", "f64", "f16", "bf16"),
    "min": ("u32", "s32", "u64", "s64"), "max": ("u32", "s32", "u64", "s64"),
    "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"),
    "exch": ("b32", "b64"), "cas": ("b16", "b32", "b64", "u32", "u64"),
    "inc": ("u32",), "dec": ("u32",),
}  # fmt: skip


def _atomic(layout: PtxLayout, instr: PtxInstr) -> Action:
    returns = instr.opcode.startswith("atom.")
    count = 2 if ".cas." in instr.opcode else 1
    match = form(instr, PATTERN, 1 + returns + count)
    name, kind, space = match["name"], match["kind"], match["space"] or ""
    if kind not in TYPES_OF[name] or bool(match["noftz"]) != (kind in ("f16", "bf16")):
        unknown(instr)
    address = instr.operands[int(returns)]
    if not isinstance(address, PtxAddress):
        unknown(instr)
    locate = located(layout, instr, address)
    reads = [reader(layout, instr, each, kind) for each in instr.operands[1 + returns :]]
    write = writer(instr, instr.operands[0], kind) if returns else None

    def act(threads: PtxThreads, lanes: Lanes) -> None:
        there = locate(threads, lanes)
        check_aligned(there, bits_of(kind) // 8)
        given = _rows(reads, threads, lanes, len(there))
        old = np.empty(len(there), TYPES[kind])
        numbers = threads.numbers(lanes)
        for where, chosen, addresses in by_space(space, there):
            part = [row[chosen] for row in given]
            combine = _combined(name, kind, where)
            update = _in_shared if where == "shared" else _in_global
            if where not in ("shared", "global"):
                raise UndefinedPtxError(f"an atomic update of {where} memory", 0)
            old[chosen] = update(threads, numbers[chosen], addresses, kind, part, combine)
        if write is not None:
            write(threads, lanes, old)

    return act


def _rows(reads: list[Reader], threads: PtxThreads, lanes: Lanes, count: int) -> list[Array]:
    return [np.broadcast_to(read(threads, lanes), (count,)) for read in reads]


def _combined(name: str, kind: str, space: str) -> Combine:
    """Return the updated values; sums of f32 in memory of the device flush subnormal numbers."""
    if "f" not in kind:
        return COMBINE[name]
    if kind == "f32" and space == "global":
        return lambda old, a: canonical(flushed(flushed(old) + flushed(a)))
    return lambda old, a: canonical(old + a)


def _in_turns(
    words: Array, at: Array, kind: str, given: list[Array], combine: Combine, order: Array
) -> Array:
    """Update words; of those at one place, one in each turn."""
    compute: Callable[..., Array] = combine
    old = np.empty(len(at), TYPES[kind])
    left = order
    while len(left):
        _, chosen = np.unique(at[left], return_index=True)
        now = left[chosen]
        there = words[at[now]].view(TYPES[kind])
        old[now] = there
        made = np.asarray(compute(there, *[row[now] for row in given]), TYPES[kind])
        words[at[now]] = made.view(words.dtype)
        left = np.delete(left, chosen)
    return old


def _in_shared(
    threads: PtxThreads, numbers: Array, addresses: Array, kind: str, given: list[Array],
    combine: Combine,
) -> Array:  # fmt: skip
    words, at = threads.shared.update(numbers, addresses, bits_of(kind) // 8)
    order = threads.launch.rng.permutation(len(at))
    return _in_turns(words, at, kind, given, combine, order)


def _in_global(
    threads: PtxThreads, numbers: Array, addresses: Array, kind: str, given: list[Array],
    combine: Combine,
) -> Array:  # fmt: skip
    """Update memory of the device: read all words there are, update them, write them back."""
    memory, size = threads.launch.memory, bits_of(kind) // 8
    places, at = np.unique(addresses, return_inverse=True)
    words = memory.load(places, size, slack=WORD)[:, 0]
    order = threads.launch.rng.permutation(len(at))
    old = _in_turns(words, at.reshape(-1), kind, given, combine, order)
    memory.store(places, words[:, None].astype(BITS[8 * size]), slack=WORD)
    return old


RULES: dict[str, Maker] = {
    "mov": _move,
    "selp": _select,
    "cvta": _generic,
    "ld": _load,
    "st": _store,
    "fence": _fence,
    "membar": _fence,
    "nanosleep": _sleep,
    "atom": _atomic,
    "red": _atomic,
}
"""Moves and accesses by the first word of their names."""
