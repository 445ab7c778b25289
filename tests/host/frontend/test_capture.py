"""Reading annotations: every spelling, and where names in them come from."""

from __future__ import annotations

import inspect
from typing import Literal, TypeVar, TypeVarTuple

import pytest

import tilewright.lang as tl
from tilewright.base.dtypes import bool_, f16, f32, i32, i64
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.capture import capture
from tilewright.frontend.sources import execute

E = TypeVar("E")
BM = TypeVar("BM")
S = TypeVarTuple("S")


def parameters_of(function, **options):
    return capture(function, **options).parameters


def test_bare_names_are_anything():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None: ...

    z, x = parameters_of(kernel)
    assert (z.kind, z.dtype, z.dims) == ("output", None, None)
    assert (x.kind, x.dtype, x.dims) == ("tensor", None, None)


def test_element_types_and_dims():
    def kernel(z: tl.TensorMut[f16], x: tl.Tensor[f32, tl.Dyn, Literal[16], 8, BM]) -> None: ...

    z, x = parameters_of(kernel)
    assert (z.dtype, z.dims) == (f16, None)
    assert (x.dtype, x.dims) == (f32, (None, 16, 8, "BM"))


def test_type_variables():
    def kernel(z: tl.TensorMut[E, *S], x: tl.Tensor[E, *S], s: E) -> None: ...

    z, x, s = parameters_of(kernel)
    assert z.dtype == x.dtype == s.dtype == "E"
    assert z.dims == x.dims == (("*", "S"),)
    assert s.kind == "scalar"


def test_scalars():
    def kernel(a: f32, b: i64, c: int, d: float, e: bool) -> None: ...

    assert [p.dtype for p in parameters_of(kernel)] == [f32, i64, i32, f32, bool_]
    assert {p.kind for p in parameters_of(kernel)} == {"scalar"}


def test_constants_and_keyword_scalars():
    def kernel(z: tl.TensorMut, *, BK: tl.Const[int] = 32, eps: f32 = 1e-5, N: tl.Const[int]): ...

    bk, eps, n = capture(kernel).constants
    assert (bk.kind, bk.default) == ("const", 32)
    assert (eps.kind, eps.dtype, eps.default) == ("scalar", f32, 1e-5)
    assert (n.kind, n.default) == ("const", inspect.Parameter.empty)


def test_names_of_the_defining_frame():
    def make():
        width = 16
        local = f32

        def kernel(z: tl.TensorMut[local, width]) -> None: ...

        return capture(kernel, frame_locals=locals()).parameters

    (z,) = make()
    assert (z.dtype, z.dims) == (f32, (16,))


def test_strings():
    def kernel(z: "tl.TensorMut[f32]", x: "tl.Tensor['f16', tl.Dyn]") -> "None": ...

    z, x = parameters_of(kernel)
    assert (z.dtype, x.dtype, x.dims) == (f32, f16, (None,))


def test_annotations_that_are_objects():
    source = "def kernel(z: tl.TensorMut[f32, 4], n: i32) -> None: ...\n"
    kernel = execute(source, {"tl": tl, "f32": f32, "i32": i32})["kernel"]
    z, n = parameters_of(kernel)
    assert (z.dims, n.dtype) == ((4,), i32)


def test_pointers_need_unsafe():
    def kernel(p: tl.Ptr[f32]) -> None: ...

    (p,) = parameters_of(kernel, unsafe=True)
    assert (p.kind, p.dtype) == ("pointer", f32)
    with pytest.raises(CompileError) as caught:
        capture(kernel)
    assert caught.value.code is Code.UNSAFE


def test_a_lambda_is_no_kernel():
    with pytest.raises(CompileError, match="lambda"):
        capture(lambda z: None)


def test_a_positional_default_is_refused():
    def kernel(z: tl.TensorMut, n: i32 = 3) -> None: ...

    with pytest.raises(CompileError, match="has a default"):
        capture(kernel)


def test_a_keyword_tensor_is_refused():
    def kernel(z: tl.TensorMut, *, x: tl.Tensor) -> None: ...

    with pytest.raises(CompileError, match="must be positional"):
        capture(kernel)
