"""Values that come from the launch: extents, counts of tiles, the grid, lengths, constants."""

from __future__ import annotations

import pytest

from support.ir import Kernel
from tilewright.analysis.bounds.proofs import Linear, Prover, atom, number
from tilewright.analysis.bounds.symbolic_range import SOURCES
from tilewright.base.dtypes import f32, i32
from tilewright.ir.core import Value
from tilewright.ir.signature import Signature, TensorSpec
from tilewright.ir.types import TensorType


def tiles(extent: tuple[object, ...], by: int) -> Linear:
    return atom(("ceildiv", extent, ("const", by)))


def point(k: Kernel, made: Value) -> Linear | None:
    op = next(op for op in k.block.ops if made in op.results)
    found = SOURCES[op.name](Prover(Signature(tuple(k.specs))), op)
    return None if found is None else found.point


@pytest.fixture
def k():
    return Kernel()


def test_constants(k):
    assert point(k, k.i32(-7)) == number(-7)


def test_extents(k):
    x = k.tensor("x", f32, (None, 5))
    assert point(k, k.emit("extent", x, axis=0)) == atom(("extent", "x", 0))
    assert point(k, k.emit("extent", x, axis=1)) == number(5)


def test_tiles_are_counted_along_the_axis_that_a_view_shows(k):
    x = k.tensor("x", f32, (None, 5))
    plain, turned = k.view(x, (4, 2)), k.view(x, (4, 2), dim_map=(1, 0))
    assert point(k, k.emit("num_tiles", plain, axis=0)) == tiles(("extent", "x", 0), 4)
    assert point(k, k.emit("num_tiles", plain, axis=1)) == number(3)
    assert point(k, k.emit("num_tiles", turned, axis=0)) == number(2)
    assert point(k, k.emit("num_tiles", turned, axis=1)) == tiles(("extent", "x", 0), 2)


def test_tiles_that_overlap_are_counted_by_their_steps(k):
    x = k.tensor("x", f32, 1)
    assert point(k, k.emit("num_tiles", k.view(x, (4,), step=(2,)), axis=0)) == tiles(
        ("extent", "x", 0), 2
    )


def test_tiles_of_a_frame_are_those_of_the_frame(k):
    z = k.output("z", f32, 1, (8,))
    assert point(k, k.emit("num_tiles", k.view(z, (4,), frame=(8,)), axis=0)) == number(2)


def test_blocks_are_those_of_the_grid(k):
    assert point(k, k.emit("num_blocks", axis=1)) == atom(("grid", 1))


def test_lengths_are_of_their_slice(k):
    k.params.append(Value(TensorType(f32, (None,), (1,), False, "s"), "s"))
    k.specs.append(TensorSpec("s", f32, (None,), (1,)))
    assert point(k, k.emit("length", k.params[-1])) == atom(("length", "s"))


def test_what_no_parameter_holds_is_not_known(k):
    base = k.pointer("p", f32)
    made = k.emit("make_tensor", base, [k.scalar("n", i32)], shape=(None, 3), strides=(3, 1))
    assert point(k, k.emit("extent", made, axis=0)) is None
    assert point(k, k.emit("extent", made, axis=1)) == number(3)
