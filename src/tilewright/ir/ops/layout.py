"""Creation of tiles, and rearrangement of their elements."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.shapes import Shape
from ..opdef import Attrs, Trait, declare, need, tile
from ..types import I32, TileType, Type

# -------------------------------------------------------------------------------------------------
# Creation: constants, ranges, broadcasts.


def _constant(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return (TileType(attrs["dtype"], attrs["shape"]),)


def _iota(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    need(attrs["dtype"].is_int, "iota makes integers")
    return (TileType(attrs["dtype"], (attrs["size"],)),)


CONSTANT = declare(
    "constant",
    "core",
    "",
    _constant,
    "A tile whose elements all are `value`, already exact in `dtype`.",
    attrs={"value": 0, "dtype": None, "shape": ()},
    traits=Trait.REMATERIALIZABLE | Trait.OF_THREAD,
    cost=0,
)
IOTA = declare(
    "iota",
    "tile",
    "",
    _iota,
    "0, 1, ..., size - 1, wrapping in `dtype`.",
    attrs={"size": 1, "dtype": None},
    traits=Trait.REMATERIALIZABLE,
)

CREATION_OPS = (CONSTANT, IOTA)


# -------------------------------------------------------------------------------------------------
# Rearrangement: the elements stay the same, their arrangement changes.


def _reshape(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg = tile(types[0])
    result = arg.with_shape(attrs["shape"])
    need(result.size == arg.size, "{} has not as many elements as {}", arg, result)
    return (result,)


def _broadcast(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg, shape = tile(types[0]), attrs["shape"]
    need(arg.rank == len(shape), "rank of {} is not {}", arg, len(shape))
    need(all(a in (1, n) for a, n in zip(arg.shape, shape, strict=True)), "{} to {}", arg, shape)
    return (arg.with_shape(shape),)


def _permute(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg = tile(types[0])
    order: Shape = attrs["order"]
    need(sorted(order) == list(range(arg.rank)), "{} is no permutation of {}'s axes", order, arg)
    return (arg.with_shape(tuple(arg.shape[k] for k in order)),)


def _cat(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    a, b = tile(types[0]), tile(types[1])
    axis: int = attrs["axis"]
    need(a.elem == b.elem and a.rank == b.rank and 0 <= axis < a.rank, "{} and {}", a, b)
    for k in range(a.rank):
        need(k == axis or a.shape[k] == b.shape[k], "{} and {} differ on axis {}", a, b, k)
    shape = (*a.shape[:axis], a.shape[axis] + b.shape[axis], *a.shape[axis + 1 :])
    return (TileType(a.elem, shape),)


def _extract(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    arg, shape = tile(types[0]), attrs["shape"]
    need(len(shape) == arg.rank == len(types) - 1, "{} needs {} indices", arg, arg.rank)
    need(all(t == I32 for t in types[1:]), "indices are scalar i32")
    need(all(n % m == 0 for n, m in zip(arg.shape, shape, strict=True)), "{} in {}", shape, arg)
    return (arg.with_shape(shape),)


MOVES = Trait.REARRANGES | Trait.REMATERIALIZABLE

RESHAPE = declare(
    "reshape",
    "tile",
    "arg",
    _reshape,
    "The same elements in row-major order.",
    attrs={"shape": ()},
    traits=MOVES,
    cost=0,
)
BROADCAST = declare(
    "broadcast",
    "tile",
    "arg",
    _broadcast,
    "Repeats along axes of length 1.",
    attrs={"shape": ()},
    traits=MOVES,
    cost=0,
)
PERMUTE = declare(
    "permute",
    "tile",
    "arg",
    _permute,
    "Result axis i is argument axis order[i].",
    attrs={"order": ()},
    traits=MOVES,
    cost=0,
)
CAT = declare(
    "cat",
    "tile",
    "lhs rhs",
    _cat,
    "Both, one after the other along `axis`.",
    attrs={"axis": 0},
    conditions=(1.0, 1.0),
)
EXTRACT = declare(
    "extract",
    "tile",
    "arg index*",
    _extract,
    "The part of `shape` at `index`, counted in parts; an index outside wraps (modulo).",
    attrs={"shape": ()},
    traits=MOVES,
    cost=0,
)

LAYOUT_OPS = (RESHAPE, BROADCAST, PERMUTE, CAT, EXTRACT)


OPS = (*CREATION_OPS, *LAYOUT_OPS)
"""All ops of the family."""
