"""Arguments written as text give the signatures that such arguments have."""

from __future__ import annotations

from typing import TypeVar

import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import simt
from tilewright.launch.inspection import Inspection
from tilewright.tools.choosing import call_of, is_enough, suggestion
from tilewright.tools.subcommand import UsageError

E = TypeVar("E", bound=tw.DType)


@tw.entry
def gemm(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor[tw.bf16], *, BK: tl.Const[int] = 64) -> None:
    z.store(tl.zeros(z.shape, z.dtype))


@tw.entry(unsafe=True)
def raw(p: tl.Ptr[tw.f32], n: tw.i32, on: tw.bool_, s: tw.f16, *, B: tl.Const[int] = 8) -> None:
    tl.scatter(p, tl.arange(B), tl.gather(p, tl.arange(B)))


@tw.entry
def generic(z: tl.TensorMut[E], a: E, *, kind: tl.Const[object] = None) -> None:
    z.store(tl.full(z.shape, a, z.dtype))


@tw.entry
def visiting(z: tl.MappedPartitionMut) -> None:
    for index in z.iter_indices():
        z.store(tl.zeros(z.tile_shape, z.dtype), index)


@simt.kernel
def threads(z: simt.DisjointSlice[tw.f32], x: simt.Slice[tw.f32], a: tw.f32) -> None:
    i = simt.index_1d()
    if i < len(z):
        z[i] = x[i] * a


def signature(kernel, *words):
    args, keywords = call_of(kernel, words)
    return Inspection(kernel.kernel, args, keywords, "sm_90").signature


def same(kernel, words, *args, **keywords):
    asked = Inspection(kernel.kernel, args, keywords, "sm_90").signature
    assert signature(kernel, *words) == asked
    return True


def test_numbers_are_extents_like_these():
    z, y = tw.meta((1000, 512)), tw.meta((512, 512), tw.bf16)
    words = ("z=f32[1000,512]:tile(64,32)", "x=f32[1000, 512]", "y=bf16[512,512]", "BK=32")
    assert same(gemm, words, z.partition_mut((64, 32)), z, y, BK=32)


@pytest.mark.parametrize("columns", [3, 7, 1001])
def test_any_extent_promises_nothing(columns):
    z, y = tw.meta((5, columns)), tw.meta((columns, columns), tw.bf16)
    words = ("z=f32[?,?]:tile(8,8)", "x=f32[?,?]", "y=bf16[?,?]")
    assert same(gemm, words, z.partition_mut((8, 8)), z, y)


@pytest.mark.parametrize("columns", [8, 24, 4096])
def test_any_multiple_promises_that(columns):
    z, y = tw.meta((5, columns)), tw.meta((columns, columns), tw.bf16)
    words = ("z=f32[?,?%8]:tile(8,8)", "x=f32[?,?%8]", "y=bf16[?%8,?%8]")
    assert same(gemm, words, z.partition_mut((8, 8)), z, y)


def test_ranks_up_to_eight_stay_narrow():
    text = ",".join("?" * 8)
    found = signature(gemm, f"z=f32[{text}]:tile(1,1,1,1,1,1,1,8)", f"x=f32[{text}]", "y=bf16[]")
    assert all(spec.facts.narrow for spec in found.params)
    assert found.grid_rank == 8 and found.folded


def test_views():
    z, y = tw.meta((64, 128)), tw.meta((64, 128), tw.bf16)
    words = ("z=f32[64,128]:tile(8,8)", "x=f32[64,128]:transpose(0,1)",
             "y=bf16[64,128]:permute(1,0)")  # fmt: skip
    assert same(gemm, words, z.partition_mut((8, 8)), tw.meta((64, 128)).T, y.T)


def test_mapped_outputs():
    z = tw.meta((64, 128))
    mapped = z.partition_mut((8, 8)).map((4, 1))
    assert same(visiting, ("z=f32[64,128]:tile(8,8):map(4,1)",), mapped)
    (p,) = visiting.source.parameters
    assert signature(visiting, f"z={suggestion(p)}").params[0].groups is not None


def test_numbers_and_typed_pointers_may_be_left_out():
    found = signature(raw)
    assert [spec.dtype for spec in found.params] == [tw.f32, tw.i32, tw.bool_, tw.f16]
    assert found == signature(raw, "p=f32*", "n=i32", "on=bool", "s=f16", "B=8")
    assert signature(raw, "B=16") != found


def test_constants_and_generics():
    z = tw.meta((64,), tw.f16)
    words = ("z=f16[64]:tile(8)", "kind=(1, 'a', None)")
    assert same(generic, words, z.partition_mut((8,)), 1.0, kind=(1, "a", None))
    assert signature(generic, "z=f16[64]:tile(8)", "kind=bf16") == signature(
        generic, "z=f16[64]:tile(8)", "kind=bf16", "E=f16"
    )


WRONG = {
    "no equals": (("z",), "NAME=VALUE"),
    "no name": (("1=2",), "NAME=VALUE"),
    "missing": ((), "`z` of `gemm` is missing: --arg 'z=f32\\[\\?,\\?\\]:tile\\(64,64\\)'"),
    "no tensor": (("z=f32",), "`z` is written such as"),
    "no type": (("z=f99[3]:tile(1)",), "no element type 'f99'"),
    "no class": (("z=np[3]:tile(1)",), "no element type 'np'"),
    "no extent": (("z=f32[x]:tile(1)",), "'x' is no extent"),
    "zero divisor": (("z=f32[?%0]:tile(1)",), "no extent"),
    "no view": (("z=f32[3]:slice(1)",), "slice is none of tile, map, permute"),
    "no literal": (("z=f32[3]:tile(1)", "x=f32[3]", "y=bf16[3]", "BK=open('x')"), "neither"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_read(name):
    words, said = WRONG[name]
    with pytest.raises(UsageError, match=said):
        call_of(gemm, words)


@pytest.mark.parametrize(
    ("word", "said"), [("p=f32", "written such as f32\\*"), ("n=i64", "type i32, not i64")]
)
def test_what_does_not_fit_the_kernel(word, said):
    with pytest.raises(UsageError, match=said):
        call_of(raw, [word])


def test_simt_kernels():
    z = tw.meta((64,), tw.f32)
    same(threads, (), z.borrow_mut(), tw.meta((64,), tw.f32), 1.0)
    same(threads, ("z=f32[?]", "x=f32[64]"), tw.meta((3,)).borrow_mut(), z, 1.0)
    assert is_enough(threads)


def test_suggestions_can_be_used():
    words = [f"{p.name}={suggestion(p)}" for p in gemm.source.parameters]
    assert len(signature(gemm, *words).params) == 3


def test_who_needs_no_words():
    assert is_enough(raw)
    assert not is_enough(gemm) and not is_enough(generic)
