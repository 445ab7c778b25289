from __future__ import annotations

from typing import Literal, TypeVar, TypeVarTuple

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

E = TypeVar("E")
M = TypeVar("M")
N = TypeVar("N")
S = TypeVarTuple("S")


@pytest.fixture(autouse=True)
def on_reference():
    with tw.device("reference"):
        yield


@tw.entry
def linked(z: tl.TensorMut[E, M, tl.Dyn], x: tl.Tensor[E, M, N], y: tl.Tensor[E, N]) -> None:
    z.store(tl.full(z.shape, M, E))


@tw.entry
def fixed(z: tl.TensorMut[f32, Literal[4]], x: tl.Tensor[f32, Literal[8]]) -> None:
    z.store(tl.full(z.shape, x.shape[0], f32))


@tw.entry
def packed(z: tl.TensorMut[f32, *S], x: tl.Tensor[f32, *S, tl.Dyn]) -> None:
    z.store(tl.full(z.shape, x.shape[0], f32))


@tw.entry
def scalar_typed(z: tl.TensorMut[f32], a: E) -> None:
    z.store(tl.full(z.shape, 1, f32))


@tw.entry
def by_hand(z: tl.TensorMut[i32]) -> None:
    z.store(tl.full(z.shape, N, i32))


def ones(*shape, dtype="f4"):
    return np.ones(shape, dtype)


def out(*shape, dtype=f32, tile):
    return tw.empty(shape, dtype).sync().partition(tile)


WRONG = {
    "dtypes": lambda: linked(out(2, 2, tile=(2, 2)), ones(2, 3, dtype="f2"), ones(3)),
    "extents": lambda: linked(out(2, 2, tile=(2, 2)), ones(2, 3), ones(4)),
    "tile-and-extent": lambda: linked(out(4, 4, tile=(2, 2)), ones(4, 3), ones(3)),
    "fixed-extent": lambda: fixed(out(8, tile=4), ones(9)),
    "fixed-tile": lambda: fixed(out(8, tile=2), ones(8)),
    "pack": lambda: packed(out(4, 4, tile=(2, 2)), ones(2, 4, 7)),
    "by-hand": lambda: linked(out(2, 2, tile=(2, 2)), ones(2, 3), ones(3)).generics(N=5),
    "no-such-generic": lambda: fixed(out(8, tile=4), ones(8)).generics(Q=5),
    "not-inferred": lambda: scalar_typed(out(8, tile=4), 2).sync(),
}


@pytest.mark.parametrize("name", WRONG)
def test_disagreements(name, golden, places):
    with pytest.raises((TypeError, tw.Error)) as caught:
        WRONG[name]()
    golden(places(caught.value), name)


def test_names_are_constants_in_the_body():
    z = linked(out(2, 2, tile=(2, 2)), ones(2, 3), ones(3)).out().to_numpy().sync()
    assert (z == 2).all()


def test_a_pack_stands_for_a_shape():
    z = packed(out(2, 4, tile=(2, 4)), ones(2, 4, 7)).out().to_numpy().sync()
    assert (z == 2).all()


def test_extents_fixed_by_annotation_are_known_to_the_compiler():
    signature = fixed.compile(out(8, tile=4), ones(8)).signature
    assert signature.params[1].shape == (8,)
    assert signature.params[0].shape == (None,)


def test_a_dim_that_an_output_fixes_is_known_for_inputs():
    signature = linked.compile(out(2, 2, tile=(2, 2)), ones(2, 3), ones(3)).signature
    assert signature.params[1].shape == (2, None)
    assert dict(signature.constants) == {"E": f32, "M": 2}


def test_generics_by_hand():
    scalar_typed(out(8, tile=4), 2).generics(E=tw.f16).sync()
    z = by_hand(out(8, dtype=i32, tile=4)).generics(N=7).out().to_numpy().sync()
    assert (z == 7).all()
    with pytest.raises(tw.ShapeError, match="out of range"):
        scalar_typed(out(8, tile=4), 1e30).generics(E=tw.f16)


@tw.entry
def tied(z: tl.TensorMut[f32, *S], x: tl.Tensor[f32, *S], y: tl.Tensor[f32, N, *S]) -> None:
    z.store(tl.load_tile_like(x, z) + float(len(S)) + float(S[-1]) + float(N))


@pytest.mark.parametrize("shape", [(7,), (5, 6), (3, 5, 9)])
def test_a_pack_ties_an_output_to_inputs_however_it_is_cut(shape):
    """And is a tuple of extents in the body, as a name that only inputs share is an extent."""
    tile, expected = (4,) * len(shape), 1 + len(shape) + shape[-1] + 2
    z = tied(out(*shape, tile=tile), ones(*shape), ones(2, *shape)).out().to_numpy().sync()
    assert (z == expected).all()
    longer = (*shape[:-1], shape[-1] + 1)
    for given in ((shape, longer, shape), (shape, shape, longer), (longer, shape, shape)):
        of_z, of_x, of_y = given
        with pytest.raises(tw.ShapeError, match="`S` of `tied` has two shapes"):
            tied(out(*of_z, tile=tile), ones(*of_x), ones(2, *of_y))


def test_extents_of_packs_are_no_part_of_the_compilation():
    first, second = (
        tied.compile(out(n, 6, tile=(4, 4)), ones(n, 6), ones(2, n, 6)).signature for n in (5, 9)
    )
    assert first is second
    assert "S" not in dict(first.constants)


def test_a_pack_beside_dims_of_the_tile():
    @tw.entry
    def rows(z: tl.TensorMut[f32, M, *S], x: tl.Tensor[f32, tl.Dyn, *S]) -> None:
        z.store(tl.load_tile_like(x, z) + float(M) + float(S[0]))

    z = rows(out(5, 6, tile=(4, 4)), ones(5, 6)).out().to_numpy().sync()
    assert (z == 1 + 4 + 6).all()
    with pytest.raises(tw.LaunchError, match="must have the extents of `z`"):
        rows(out(5, 6, tile=(4, 4)), ones(4, 6)).sync()


def test_a_global_is_not_taken_for_a_linked_name():
    """A TypeVar may be kept under another name than its own."""

    @tw.entry
    def named(z: tl.TensorMut[f32], x: tl.Tensor[f32, OTHER]) -> None:
        z.store(tl.full(z.shape, THREE, f32))

    assert (named(out(4, tile=4), ones(8)).out().to_numpy().sync() == 3).all()


OTHER = TypeVar("THREE")
THREE = 3
