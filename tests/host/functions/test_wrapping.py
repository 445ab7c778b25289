from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from host.interop.kernels import many_numbers, sum_and_difference
from tilewright import f32
from tilewright.functions.wrapping import KernelFunction, by_output


@tw.entry(unsafe=True)
def through_a_pointer(z: tl.TensorMut[f32], p: tl.Ptr[f32]) -> None:
    z.store(tl.zeros(z.shape, f32))


@tw.entry
def gives_nothing(x: tl.Tensor[f32]) -> None:
    print(x.load_tile((1,), [0]))


def test_what_a_signature_says():
    function = KernelFunction(sum_and_difference, (4,), {})
    assert function.outputs == ("s", "d")
    assert [p.name for p in function.inputs] == ["x", "y"]


def test_tiles_by_name_and_by_shape():
    x, y = np.arange(10, dtype=np.float32), np.ones(10, np.float32)
    s, d = np.empty_like(x), np.empty_like(x)
    seen = []

    def tile(shape):
        seen.append(shape)
        return (4,)

    function = KernelFunction(sum_and_difference, {"s": tile, "d": 4}, {})
    function.launch({"s": s, "d": d, "x": x, "y": y}).sync()
    np.testing.assert_array_equal([s, d], [x + y, x - y])
    assert seen == [(10,)]


@pytest.mark.parametrize(
    ("kernel", "tiles", "constants", "message"),
    [
        (through_a_pointer, 4, {}, "`p` is a raw pointer"),
        (gives_nothing, 4, {}, "`gives_nothing` has no output"),
        (sum_and_difference, {"s": 4}, {}, "names its outputs `s`, `d`, got `s`"),
        (sum_and_difference, lambda s, d: 4, {}, r"function of the shape .*, got one of \(s, d\)"),
        (many_numbers, 4, {}, "gives its constants `TWICE`, got none"),
        (many_numbers, 4, {"THRICE": 1, "TWICE": True}, "got `THRICE`, `TWICE`"),
    ],
)
def test_what_cannot_be_wrapped(kernel, tiles, constants, message):
    with pytest.raises(TypeError, match=message):
        KernelFunction(kernel, tiles, constants)


def test_a_grid_is_a_function_of_the_inputs():
    with pytest.raises(TypeError, match=r"function of its inputs `x`, `y`, got one of \(x\)"):
        KernelFunction(sum_and_difference, 4, {}, grid=lambda x: 1)
    KernelFunction(sum_and_difference, 4, {}, grid=lambda *inputs: 1)


def test_functions_of_outputs_call_inputs_as_they_like():
    function = KernelFunction(sum_and_difference, (4,), {})
    names = [p.name for p in function.inputs]
    given = dict(zip(names, range(len(names)), strict=True))

    def told(made):
        return by_output(function, made)["d"](**given)

    assert told(lambda a, b: (a, b)) == (0, 1)
    assert told(lambda *inputs: inputs) == (0, 1)
    assert told(eval(f"lambda {names[1]}, {names[0]}: ({names[0]}, {names[1]})")) == (0, 1)
    assert told(lambda **inputs: tuple(inputs.values())) == (0, 1)
    with pytest.raises(TypeError, match=r"takes functions of its inputs .*, got one of \(a\)"):
        told(lambda a: a)
