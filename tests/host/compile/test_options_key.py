"""Keys are equal where the code is the same, and say in words where it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.base.dtypes import f16, f32
from tilewright.compile import CompileOptions, Key
from tilewright.compile.options import differences
from tilewright.ir.signature import OutputSpec, PointerSpec, ScalarSpec, Signature, TensorSpec

OUT = OutputSpec("z", f32, (None,), (1,), (64,))
IN = TensorSpec("x", f32, (None, 8), (None, 1))
SCALAR = ScalarSpec("a", f32)
SIGNATURE = Signature((OUT, IN, SCALAR), (("K", 1), ("mode", "fast")))
PLAIN = CompileOptions()


def key(signature=SIGNATURE, target="cpu", options=PLAIN):
    return Key.of(signature, target, options)


def with_param(number, spec):
    params = list(SIGNATURE.params)
    params[number] = spec
    return replace(SIGNATURE, params=tuple(params))


def with_constants(**constants):
    return replace(SIGNATURE, constants=tuple(constants.items()))


def test_equal_keys():
    again = Signature((OUT, replace(IN), SCALAR), (("K", 1), ("mode", "fast")))
    assert key() == key(again)
    assert hash(key()) == hash(key(again))
    assert differences(key(), key(again)) == []


CHANGES = [
    (key(with_param(0, replace(OUT, tile=(32,)))), "z.tile: (64) -> (32)"),
    (key(with_param(0, replace(OUT, shape=(7,)))), "z.shape: (?) -> (7)"),
    (key(with_param(1, replace(IN, shape=(None, None)))), "x.shape: (?, 8) -> (?, ?)"),
    (key(with_param(1, replace(IN, strides=(1, None)))), "x.strides: (?, 1) -> (1, ?)"),
    (key(with_param(1, replace(IN, dtype=f16))), "x.dtype: f32 -> f16"),
    (key(with_param(2, replace(SCALAR, dtype=f16))), "a.dtype: f32 -> f16"),
    (key(with_param(2, PointerSpec("a", f32))), "a: ScalarSpec -> PointerSpec"),
    (key(with_constants(K=2, mode="fast")), "constant K: 1 -> 2"),
    (key(with_constants(K=True, mode="fast")), "constant K: 1 -> True"),
    (key(with_constants(K=1.0, mode="fast")), "constant K: 1 -> 1.0"),
    (key(with_constants(K=1, mode="exact")), "constant mode: 'fast' -> 'exact'"),
    (key(replace(SIGNATURE, grid=(2, 1, 1))), "const_grid: None -> (2, 1, 1)"),
    (key(replace(SIGNATURE, grid_rank=4)), "grid rank: 3 -> 4"),
    (key(target="reference"), "target: cpu -> reference"),
]


@pytest.mark.parametrize(("other", "words"), CHANGES, ids=[words for _, words in CHANGES])
def test_one_difference(other, words):
    assert other != key()
    assert differences(key(), other) == [words]


def test_other_options():
    (words,) = differences(key(), key(options=CompileOptions(occupancy=2)))
    assert words.startswith("options: CompileOptions(occupancy=None")


def test_several_differences():
    other = key(replace(with_constants(K=2, mode="fast"), grid_rank=5), target="reference")
    assert differences(key(), other) == [
        "constant K: 1 -> 2", "grid rank: 3 -> 5", "target: cpu -> reference",
    ]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), [(0.0, -0.0), ((1,), (True,)), ((1,), (1.0,))], ids=str)
def test_constants_that_are_equal_but_not_the_same(a, b):
    one, other = key(with_constants(K=a)), key(with_constants(K=b))
    assert one.signature == other.signature
    assert one != other
    assert differences(one, other) == [f"constant K: {a!r} -> {b!r}"]
