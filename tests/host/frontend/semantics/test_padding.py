"""Reductions over padding: which ones warn, and what they say."""

from __future__ import annotations

import warnings

import pytest

import tilewright.lang as tl
from support.kernels import ir_of, out, tensor
from tilewright.base.dtypes import i32, u32
from tilewright.base.errors import PaddingWarning

FULL = tensor(2, shape=(8, 16))
ROWS = tensor(2, shape=(8, None))


def told(kernel, *specs, **options):
    """The texts of the warnings that building a kernel gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ir_of(kernel, *specs, **options)
    assert all(w.category is PaddingWarning for w in caught)
    return [str(w.message) for w in caught]


def reduced(name, padding=0, before=lambda t: t):
    """A kernel that loads with a padding, does something, and reduces."""

    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        t = before(x.load_tile((8, 16), (0, 0), padding=padding))
        r = name(t, 1)
        z.store(z.load() + tl.reduce_sum(r.astype(z.dtype), 0) * 0.0)

    return kernel


@pytest.mark.parametrize(
    ("name", "padding", "warns"),
    [
        (tl.reduce_sum, 0, False), (tl.reduce_sum, tl.neg_zero, False), (tl.reduce_sum, 1, True),
        (tl.reduce_sum, tl.nan, True), (tl.reduce_sum, None, True), (tl.reduce_prod, 1, False),
        (tl.reduce_prod, 0, True), (tl.reduce_max, tl.neg_inf, False), (tl.reduce_max, 0, True),
        (tl.reduce_min, tl.pos_inf, False), (tl.reduce_min, 0, True),
        (tl.argmax, tl.neg_inf, False), (tl.argmax, 0, True), (tl.argmin, tl.pos_inf, False),
        (tl.any, 0, False), (tl.any, 1, True), (tl.all, 1, False), (tl.all, 0, True),
    ],
)  # fmt: skip
def test_neutral_or_not(name, padding, warns):
    assert bool(told(reduced(name, padding), out((1,)), ROWS)) is warns


def test_the_text_names_the_padding_and_the_fix():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        z.store(tl.reduce_max(tl.load_tile_like(x, z), 1, keepdims=True) + z.load())

    (text,) = told(kernel, out((8, 16)), tensor(2))
    head, *_, hint = text.splitlines()
    assert head == (
        "[padding-not-neutral] `reduce_max` along axis 1 may include padding, which is 0.0"
    )
    assert "z.store(tl.reduce_max(" in text
    assert hint == (
        "  hint: pad with its neutral value where the tile is loaded, padding=tl.neg_inf, "
        "or replace it: tl.where(tile.mask(), x, tl.neg_inf)"
    )


@pytest.mark.parametrize(
    ("before", "warns"),
    [
        (lambda t: tl.exp(t), True),
        (lambda t: t * 2.0, False),
        (lambda t: t + 1.0, True),
        (lambda t: (t + 1.0) * 0.0, False),
        (lambda t: t * t, False),
        (lambda t: -t, False),
        (lambda t: tl.where(t.mask(), tl.exp(t), 0.0), False),
        (lambda t: t > 0.0, False),
        (lambda t: t >= 0.0, True),
        (lambda t: 1.0 / t, False),
    ],
)
def test_the_padded_value_is_followed_through_arithmetic(before, warns):
    assert bool(told(reduced(tl.reduce_sum, 0, before), out((1,)), ROWS)) is warns


@pytest.mark.parametrize(
    ("name", "before", "warns"),
    [
        (tl.reduce_max, tl.abs, False), (tl.reduce_max, lambda t: t * t, False),
        (tl.argmax, tl.abs, False), (tl.reduce_max, lambda t: tl.abs(t) * t, True),
        (tl.reduce_max, lambda t: t * (t + 0.0), True), (tl.reduce_min, tl.abs, True),
        (tl.reduce_max, lambda t: tl.abs(t.permute((1, 0))).permute((1, 0)), False),
        (tl.reduce_max, lambda t: -tl.abs(t), True), (tl.reduce_max, tl.exp, True),
    ],
)  # fmt: skip
def test_zeros_do_not_change_the_greatest_of_what_is_never_below(name, before, warns):
    texts = told(reduced(name, 0, before), out((1,)), ROWS)
    assert bool(texts) is warns
    for text in texts:  # padding of the load would be changed by what follows
        assert "hint: replace it: tl.where(tile.mask(), x, tl." in text
        assert text.endswith(", where `tile` was loaded")


def test_it_is_followed_through_shapes():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        t = x.load_tile((8, 16), (0, 0), padding=1.0)
        z.store(tl.reduce_sum(t.T[:, None, :], 2).reshape(16) + tl.reduce_sum(t, 0))

    texts = told(kernel, out((16,)), tensor(2, shape=(None, 16)))
    assert len(texts) == 2, "rows may be padded, columns are not"
    assert "along axis 2" in texts[0]
    assert "along axis 0" in texts[1]


def test_whole_padded_lines_reduce_to_a_value_of_their_own():
    def twice(z: tl.TensorMut, x: tl.Tensor, *, P: tl.Const[float]) -> None:
        t = x.load_tile((8, 16), (0, 0), padding=P)
        z.store(tl.full(z.shape, tl.reduce_max(tl.reduce_sum(t, 1), 0)))

    rows = tensor(2, shape=(None, 16))
    assert told(twice, out((1,)), rows, P=tl.neg_inf) == []
    (text,) = told(twice, out((1,)), rows, P=0.0)
    assert "`reduce_max` along axis 0" in text


@pytest.mark.parametrize(
    ("spec", "warns"),
    [(FULL, False), (tensor(2, shape=(8, 32)), False), (tensor(2, shape=(None, 16)), False),
     (tensor(2, shape=(8, None)), True), (tensor(2, shape=(8, 17)), True)],
)  # fmt: skip
def test_a_whole_number_of_tiles_is_never_padded(spec, warns):
    assert bool(told(reduced(tl.reduce_max), out((1,)), spec)) is warns


@pytest.mark.parametrize(
    ("fact", "warns"),
    [(lambda x: x.shape[1] == 32, False), (lambda x: x.shape[1] % 16 == 0, False),
     (lambda x: x.shape[1] % 64 == 0, False), (lambda x: x.shape[1] % 8 == 0, True),
     (lambda x: x.shape[1] == 17, True), (lambda x: x.shape[0] == 16, True),
     (lambda x: x.shape[1] >= 16, True)],
)  # fmt: skip
def test_an_assertion_about_the_extent_is_believed(fact, warns):
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        assert fact(x)
        z.store(z.load() + tl.reduce_max(x.load_tile((8, 16), (0, 0)), 1) * 0.0)

    assert bool(told(kernel, out((8,)), tensor(2))) is warns


def test_nested_tiles_of_a_whole_region_are_padded_only_with_it():
    def kernel(z: tl.TensorMut, *, N: tl.Const[int]) -> None:
        t = z.partition_mut((N,)).load(0)
        z.store(z.load() + tl.reduce_max(t, 0) * 0.0)

    assert told(kernel, out((16,), shape=(32,)), N=8) == []
    assert len(told(kernel, out((16,)), N=8)) == 1
    assert len(told(kernel, out((16,), shape=(32,)), N=32)) == 1, "it hangs over"


def test_scans_meet_padding_only_from_the_end():
    def kernel(z: tl.TensorMut, x: tl.Tensor, *, R: tl.Const[bool]) -> None:
        z.store(tl.scan_sum(x.load_tile((16,), 0, padding=1), 0, R))

    assert told(kernel, out((16,)), tensor(1), R=False) == []
    assert len(told(kernel, out((16,)), tensor(1), R=True)) == 1


def test_a_combiner_of_ones_own_is_judged_by_its_identity():
    def kernel(z: tl.TensorMut, x: tl.Tensor, *, I: tl.Const[float]) -> None:  # noqa: E741
        t = x.load_tile((16,), 0, padding=1)
        z.store(tl.full(z.shape, tl.reduce(t, 0, I, lambda a, b: a * b)))

    assert told(kernel, out((16,)), tensor(1), I=1.0) == []
    assert len(told(kernel, out((16,)), tensor(1), I=0.0)) == 1


def test_integers_have_limits_instead_of_infinities():
    def kernel(z: tl.TensorMut[i32], x: tl.Tensor[i32], *, P: tl.Const[int]) -> None:
        z.store(tl.full(z.shape, tl.reduce_max(x.load_tile((16,), 0, padding=P), 0)))

    assert told(kernel, out((1,), i32), tensor(1, i32), P=-(2**31)) == []
    (text,) = told(kernel, out((1,), i32), tensor(1, i32), P=0)
    assert "padding=-2147483648" in text


def test_long_chains_are_given_up_in_silence():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        t = x.load_tile((16,), 0)
        for _ in tl.static_range(100):
            t = t + t
        z.store(tl.full(z.shape, tl.reduce_max(t, 0)))

    assert told(kernel, out((1,)), tensor(1)) == []


def test_sums_of_padding_wrap():
    def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
        sums = tl.reduce_sum(~x.load_tile((8, 16), (0, 0)), 0)
        z.store(z.load() + tl.reduce_max(tl.bitcast(sums, i32), 0))

    texts = told(kernel, out((1,), i32), tensor(2, u32, shape=(8, None)))
    assert any("`reduce_max` along axis 0 may include padding, which is -8" in t for t in texts)
