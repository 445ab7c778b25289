"""Reading annotations: every spelling, and where names in them come from."""

from __future__ import annotations

import inspect
import sys
import typing
from typing import Literal, TypeVar, TypeVarTuple

import pytest
import typing_extensions

import tilewright.lang as tl
from tilewright.base.dtypes import bf16, bool_, f16, f32, i32, i64
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.capture.annotations import capture
from tilewright.frontend.capture.sources import execute

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


def test_strings_inside():
    def kernel(
        z: tl.TensorMut["E", "BM"],
        x: tl.Tensor["f16", "tl.Dyn"],
        y: tl.Tensor["bfloat16"],  # noqa: F821 - no name here, but that of a type
    ) -> None: ...

    def wrong(z: tl.TensorMut["f16", "not a name"]) -> None: ...  # noqa: F722

    z, x, y = parameters_of(kernel)
    assert (z.dtype, z.dims) == ("E", ("BM",))
    assert (x.dtype, x.dims, y.dtype) == (f16, (None,), bf16)
    with pytest.raises(CompileError, match="not an extent"):
        parameters_of(wrong)


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


@pytest.mark.parametrize("module", [typing, typing_extensions], ids=lambda m: m.__name__)
def test_packs_of_either_module(module):
    shape = module.TypeVarTuple("shape")

    def kernel(z: tl.TensorMut[f32, module.Unpack[shape]], x: tl.Tensor[f32, tl.Dyn, *shape]): ...

    z, x = parameters_of(kernel, frame_locals={"module": module, "shape": shape})
    assert (z.dims, x.dims) == ((("*", "shape"),), (None, ("*", "shape")))


def test_type_variables_with_defaults():
    element = typing_extensions.TypeVar("element", default=f32)

    def kernel(z: tl.TensorMut[element], s: element) -> None: ...

    z, s = parameters_of(kernel, frame_locals={"element": element})
    assert (z.dtype, s.dtype) == ("element", "element")


def test_named_types():
    element = typing_extensions.TypeAliasType("element", f32)
    row = typing_extensions.TypeAliasType("row", tl.Tensor[element, tl.Dyn])

    def kernel(z: tl.TensorMut[element], x: row, s: element) -> None: ...

    z, x, s = parameters_of(kernel, frame_locals={"element": element, "row": row})
    assert (z.dtype, x.kind, x.dtype, x.dims, s.dtype) == (f32, "tensor", f32, (None,), f32)


GENERIC = """
import tilewright.lang as tl
from tilewright import f16, f32

type Half = f16
type Row[N] = tl.Tensor[f32, N, tl.Dyn]
type Swapped[N, M] = tl.Tensor[f32, M, N]

def plain[E, *S](z: tl.TensorMut[E, *S], x: tl.Tensor[E, tl.Dyn, *S], s: E) -> None: ...

def bounded[E: f32, N: int](z: "tl.TensorMut[E, N]", x: tl.Tensor["E", N]) -> None: ...

def named[K](z: tl.TensorMut[Half, K], x: Row[K], y: Swapped[K, 8]) -> None: ...

def outer[N]():
    def inner[M](z: tl.TensorMut[f32, N, M]) -> None: ...
    return inner
"""


since_3_12 = pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")


@since_3_12
def test_type_parameters():
    z, x, s = parameters_of(execute(GENERIC)["plain"])
    assert (z.dtype, z.dims, s.kind, s.dtype) == ("E", (("*", "S"),), "scalar", "E")
    assert x.dims == (None, ("*", "S"))


@since_3_12
def test_type_parameters_with_bounds_and_in_strings():
    z, x = parameters_of(execute(GENERIC)["bounded"])
    assert (z.dtype, z.dims, x.dtype, x.dims) == ("E", ("N",), "E", ("N",))


@since_3_12
def test_named_types_take_arguments():
    z, x, y = parameters_of(execute(GENERIC)["named"])
    assert (z.dtype, z.dims) == (f16, ("K",))
    assert (x.dims, y.dims) == (("K", None), (8, "K"))


@since_3_12
def test_type_parameters_of_an_enclosing_function():
    (z,) = parameters_of(execute(GENERIC)["outer"]())
    assert z.dims == ("N", "M")
