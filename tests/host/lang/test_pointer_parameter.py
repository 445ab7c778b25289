from __future__ import annotations

from typing import Annotated, get_args, get_origin, get_type_hints

import pytest

import tilewright.lang as tl
from tilewright.base.dtypes import f32
from tilewright.lang.pointer import CONST


def test_a_constant_is_annotated():
    annotation = tl.Const[int]
    assert get_origin(annotation) is Annotated
    assert annotation.__metadata__ == (CONST,)
    assert annotation.__origin__ is int
    assert repr(CONST) == "tl.Const"


def test_hints_of_a_kernel_are_what_type_checkers_see():
    def kernel(p: tl.Ptr[f32], *, BK: tl.Const[int] = 64) -> None: ...

    hints = get_type_hints(kernel, {"tl": tl, "f32": f32})
    assert hints["BK"] is int
    assert (get_origin(hints["p"]), get_args(hints["p"])) == (tl.Ptr, (f32,))


@pytest.mark.parametrize("name", ["block_id", "load_tile_like", "reduce_sum", "static_range"])
def test_a_function_of_the_language_is_for_kernels(name):
    with pytest.raises(TypeError, match=f"tl.{name} can only be used inside a kernel"):
        getattr(tl, name)(0)
