"""Writes a random kernel from a seed: tiles of many types and shapes, branches, loops, views."""

from __future__ import annotations

import random

from fuzz.wild.author import ALL, FLOATS, INTEGERS, LIMIT, TINY, Author, Shape, Var
from fuzz.wild.program import DTYPES, LAYOUTS, SMALL, Wild
from fuzz.wild.rules import SIMPLE, is_bool, is_int, is_number
from tilewright.base.dtypes import bool_

RESULTS = (*INTEGERS, *FLOATS, bool_)
"""Types of outputs."""
DEEPEST = 3


# --- control flow --------------------------------------------------------------------------------


def _condition(a: Author) -> str:
    kind = a.rng.randrange(4)
    truth, number = a.pick(is_bool), a.pick(is_int)
    if kind == 0 and truth is not None:
        return f"tl.{a.rng.choice(['any', 'all'])}({truth.name}).item()"
    if kind == 1 and number is not None:
        return f"tl.reduce_max({number.name}).item() > {a.rng.randint(0, 5)}"
    if kind == 2 and (a.loops or a.blocks):
        return f"{a.rng.choice([*a.loops, *a.blocks])} % 2 == {a.rng.randint(0, 1)}"
    return f"n {a.rng.choice(['>', '==', '!=', '<='])} {a.rng.randint(0, 3)}"


def _some(a: Author, least: int, most: int) -> None:
    for _ in range(a.rng.randint(least, most)):
        step(a)


def branch(a: Author) -> None:
    """Two arms that give values of one kind; some give one from outside."""
    name = a.fresh()
    with a.block(f"if {_condition(a)}:"):
        _some(a, 0, 3)
        first = a.pick(lambda v: v.dtype not in TINY)
        if first is None:
            return
        a.line(f"{name} = {first.name}")
    with a.block("else:"):
        _some(a, 0, 3)
        other = a.pick(lambda v: (v.dtype, v.shape) == (first.dtype, first.shape))
        if other is None or a.chance(0.1):
            value, bound = a.constant(first.dtype)
            text = f"tl.full({first.shape}, {value}, {first.dtype.__name__})"
            other = Var(text, first.dtype, first.shape, bound)
        a.line(f"{name} = {other.name}")
    a.scopes[-1].append(Var(name, first.dtype, first.shape, max(first.bound, other.bound)))


STEPS = {"i": ("+", "^", "*", "-", "&"), "b": ("^", "&", "|"), "f": ("+", "-")}


def loop(a: Author) -> None:
    """A value that is carried; a float not too far, and not seen inside."""
    first = a.pick(lambda v: is_number(v) or is_bool(v))
    if first is None:
        return
    name, at, rounds = a.fresh(), f"r{a.count}", a.rng.randint(0, 4)
    trips = "n" if a.chance(0.3) else str(rounds)
    kind = "f" if first.dtype in FLOATS else "b" if is_bool(first) else "i"
    a.line(f"{name} = {first.name}")
    counted = a.chance(0.7)
    if not counted:
        a.line(f"{at} = 0")
    with a.block(f"for {at} in range({trips}):" if counted else f"while {at} < {trips}:"):
        a.loops.append(at)
        if kind != "f":
            a.scopes[-1].append(Var(name, first.dtype, first.shape))
        _some(a, 0, 3)
        more = a.pick(lambda v: (v.dtype, v.shape) == (first.dtype, first.shape))
        assert more is not None, "the one from outside is there"
        a.line(f"{name} = {name} {a.rng.choice(STEPS[kind])} {more.name}")
        if not counted:
            a.line(f"{at} += 1")
        if a.chance(0.3):
            a.line(f"if {at} {a.rng.choice(['==', '!='])} {a.rng.randint(0, 3)}:")
            a.line(f"    {a.rng.choice(['break', 'continue'])}")
        a.loops.pop()
        bound = first.bound + 4 * more.bound
    if bound <= LIMIT.get(first.dtype, bound):
        a.scopes[-1].append(Var(name, first.dtype, first.shape, bound))


def step(a: Author) -> None:
    """Go on by one rule."""
    if a.depth <= DEEPEST and a.chance(0.18):
        a.rng.choice([branch, branch, loop])(a)
    else:
        a.rng.choice(SIMPLE)(a)


# --- the kernel ----------------------------------------------------------------------------------


def _bits(v: Var) -> str:
    """A value as integers of its own width."""
    if is_bool(v):
        return f"{v.name}.astype(i8)"
    bits = f"i{v.dtype.bits}"
    return v.name if v.dtype.__name__ == bits else f"tl.bitcast({v.name}, {bits})"


def _digest(a: Author) -> None:
    """One number made of the bits of many values, so that they count."""
    values = [v for v in a.scopes[0] if v.dtype not in TINY]
    a.rng.shuffle(values)
    parts: list[str] = []
    for v in values[: a.rng.randint(1, 6)]:
        text, rank = _bits(v), len(v.shape)
        if a.chance(0.3):
            text, rank = f"{text}.reshape({v.size})", 1
        for _ in range(rank):
            text = f"tl.reduce({text}, 0, 0, lambda p, q: p ^ q)"
        parts.append(f"{text}.astype(i64)")
    if parts:
        a.make(" ^ ".join(parts), DTYPES["i64"], ())


def _stored(a: Author) -> list[tuple[str, Var]]:
    """What is stored: values of the tile's size, or that can be repeated to its shape."""
    found: list[tuple[str, Var]] = []
    count = a.rng.randint(1, 3)
    values = [v for v in a.scopes[0] if v.dtype in RESULTS]
    a.rng.shuffle(values)
    for v in sorted(values, key=lambda v: -int(v.name[1:]) if a.chance(0.7) else 0):
        text = _shaped(v, a.tile)
        if text is not None and len(found) < count:
            found.append((text, v))
    return found


def _shaped(v: Var, tile: Shape) -> str | None:
    if v.shape == tile:
        return v.name
    size = 1
    for n in tile:
        size *= n
    if v.size == size:
        return f"{v.name}.reshape({', '.join(map(str, tile))})"
    rest = tile[len(tile) - len(v.shape) :] if len(v.shape) <= len(tile) else None
    fits = rest is not None and all(n in (1, m) for n, m in zip(v.shape, rest, strict=True))
    return f"tl.broadcast({v.name}, {tile})" if fits else None


def _extents(rng: random.Random, tile: Shape) -> Shape:
    choices = [[n, n - 1, n + 1, 2 * n, 2 * n + 1, 3 * n - 1, 1] for n in tile]
    return tuple(max(1, rng.choice(each)) for each in choices)


def write(seed: int) -> Wild:
    """The program of a seed."""
    for attempt in range(100):
        made = _written(seed, random.Random(f"{seed} {attempt}"))
        if made is not None:
            return made
    raise AssertionError(f"no program for seed {seed}")


def _written(seed: int, rng: random.Random) -> Wild | None:
    rank = rng.choice([1, 1, 2, 2, 2, 3, 4])
    blocks = [f"b{k}" for k in range(min(rank, 3))]
    mapped = rng.random() < 0.3
    a = Author(rng, (), blocks, depth=2 if mapped else 1)
    a.tile = a.shape_of(1 << rng.randint(0, rng.choice([4, 6, 8])), rank)
    extents = _extents(rng, a.tile)
    for _ in range(rng.randint(1, 3)):
        dtype = rng.choice(ALL)
        x = a.new_input(dtype, extents, LAYOUTS)
        place = ", ".join(f"b{k}" if k < 3 else "0" for k in range(rank))
        text = f"{x}.partition({a.tile}).load([{place}])" if mapped or rank > 3 else (
            f"tl.load_tile_like({x}, o0)"
        )  # fmt: skip
        a.make(text, dtype, a.tile, float(SMALL) if dtype.is_float else 0.0)
    for _ in range(rng.randint(3, 22)):
        step(a)
    if a.chance(0.6):
        _digest(a)
    stored = _stored(a)
    if not stored:
        return None
    map_shape = tuple(rng.choice([1, 2, 4]) for _ in a.tile) if mapped else None
    source = _source(a, [text for text, _ in stored], mapped=mapped)
    outputs = tuple(v.dtype.__name__ for _, v in stored)
    return Wild(
        seed, source, a.tile, extents, outputs, tuple(a.inputs), rng.randint(0, 4), map_shape
    )


def _source(a: Author, stored: list[str], *, mapped: bool) -> str:
    outs = [f"o{k}" for k in range(len(stored))]
    kind = "MappedPartitionMut" if mapped else "TensorMut"
    names = [f"{o}: tl.{kind}" for o in outs]
    names += [f"x{k}: tl.Tensor" for k in range(len(a.inputs))]
    lines = [*a.helpers, f"def k({', '.join(names)}, n: i32) -> None:"]
    if mapped:
        visit = f"iter_indices_with({', '.join(outs[1:])})" if outs[1:] else "iter_indices()"
        lines.append(f"    for ix in o0.{visit}:")
        lines += [f"        b{k} = ix[{k}]" for k in range(len(a.blocks))]
    else:
        lines += [f"    {b} = tl.block_id({k})" for k, b in enumerate(a.blocks)]
    lines += a.lines
    last = ", ix" if mapped else ""
    indent = "    " * (2 if mapped else 1)
    lines += [f"{indent}{o}.store({text}{last})" for o, text in zip(outs, stored, strict=True)]
    return "\n".join(lines) + "\n"
