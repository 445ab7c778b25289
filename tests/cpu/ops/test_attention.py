"""Attention against its definition in PyTorch, in f64."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tilewright as tw
from support.op_checks import (
    TYPES,
    check,
    check_gradients,
    check_gradients_as,
    close,
    numbers,
    torch,
)
from tilewright import ops
from tilewright.ops.attention_weights import Mask, Tiles, _factors, _weights


def defined(q, k, v, sinks=None, mask=None, *, is_causal=False, scale=None, window=None):
    group = q.shape[-3] // k.shape[-3] if k.shape[-3] else 1
    k, v = (x.repeat_interleave(group, -3) for x in (k, v))
    score = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    rows, columns = torch.arange(q.shape[-2])[:, None], torch.arange(k.shape[-2])[None, :]
    seen = torch.ones(len(rows), columns.shape[1], dtype=torch.bool)
    if is_causal:
        seen &= columns <= rows
    if window is not None:
        seen &= (rows - columns).abs() < window
    score = score.masked_fill(~seen, -torch.inf)
    if mask is not None:
        score = score.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else score + mask
    if sinks is not None:
        column = sinks[:, None, None].expand(*score.shape[:-1], 1)
        score = torch.cat([score, column], -1)
    share = score.softmax(-1)[..., : k.shape[-2]].nan_to_num()
    return share @ v


CASES = {
    "full": ((2, 3, 65, 16), 3, 65, {}),
    "one token": ((1, 1, 1), 1, 1, {}),
    "depth of 20": ((2, 7, 20), 2, 7, {"scale": 0.3}),
    "decode": ((2, 4, 1, 8), 2, 130, {"enable_gqa": True}),
    "causal": ((2, 130, 8), 2, 130, {"is_causal": True}),
    "causal, fewer keys": ((1, 70, 8), 1, 20, {"is_causal": True}),
    "grouped": ((2, 6, 17, 8), 2, 33, {"enable_gqa": True}),
    "window": ((1, 2, 150, 8), 2, 150, {"is_causal": True, "window": 40}),
    "window both ways": ((1, 2, 150, 8), 2, 150, {"window": 70}),
    "grouped causal window": ((4, 140, 8), 2, 140,
                              {"is_causal": True, "window": 65, "enable_gqa": True}),
    "no heads": ((0, 3, 4), 0, 3, {}),
    "no queries": ((2, 0, 4), 2, 5, {}),
}  # fmt: skip


def inputs_of(case):
    shape, heads, tokens, named = CASES[case]
    keys = (*shape[:-3], heads, tokens, shape[-1])
    plain = {name: value for name, value in named.items() if name != "enable_gqa"}
    return numbers(shape, keys, keys), named, plain


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.thinned(6)
def test_results(case, dtype):
    inputs, named, plain = inputs_of(case)
    check(
        lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, **named),
        lambda q, k, v: defined(q, k, v, **plain), inputs, dtype, scale=4,
    )  # fmt: skip


@pytest.mark.parametrize("case", [c for c in CASES if not c.startswith("no ")])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.thinned(4)
def test_gradients(case, dtype):
    inputs, named, plain = inputs_of(case)
    check_gradients_as(
        lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, **named),
        lambda q, k, v: defined(q, k, v, **plain), inputs, dtype=dtype, scale=4,
    )  # fmt: skip


def test_gradients_by_differences():
    q, k, v, sinks = numbers((2, 3, 4), (1, 5, 4), (1, 5, 4), 2)
    check_gradients(
        lambda q, k, v, sinks: ops.scaled_dot_product_attention(
            q, k, v, enable_gqa=True, is_causal=True, sinks=sinks
        ),
        (q, k, v, sinks),
    )


@pytest.mark.thinned(2)
@pytest.mark.parametrize("dtype", TYPES)
def test_sinks(dtype):
    def op(q, k, v, s):
        return ops.scaled_dot_product_attention(q, k, v, sinks=s, is_causal=True)

    def expected(q, k, v, s):
        return defined(q, k, v, s, is_causal=True)

    inputs = numbers((2, 2, 70, 8), (2, 2, 70, 8), (2, 2, 70, 8), 2)
    check(op, expected, inputs, dtype, scale=4)
    if dtype == "float64":
        check_gradients_as(op, expected, inputs)


MASKS = [
    (67,),
    (1, 67),
    (70, 1),
    (70, 67),
    (3, 1, 67),
    (2, 1, 1, 67),
    (2, 1, 70, 67),
    (2, 3, 70, 67),
]


@pytest.mark.thinned(4)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("kind", ["bool", "add"])
@pytest.mark.parametrize("shape", MASKS)
def test_masks(shape, kind, dtype):
    (mask,) = numbers(shape)
    mask = mask > -1 if kind == "bool" else (2 * mask).to(getattr(torch, dtype))
    how = {"is_causal": shape == (70, 67)}

    def op(q, k, v):
        given = mask if isinstance(q, torch.Tensor) else tw.from_numpy(mask.numpy()).sync()
        given = mask.numpy() if isinstance(q, np.ndarray) else given
        return ops.scaled_dot_product_attention(q, k, v, given, enable_gqa=True, **how)

    def expected(q, k, v):
        wide = mask if kind == "bool" else mask.to(q.dtype)
        return defined(q, k, v, None, wide, **how)

    inputs = numbers((2, 3, 70, 8), (2, 1, 67, 8), (2, 1, 67, 8))
    check(op, expected, inputs, dtype, scale=4)
    if dtype == "float64":
        check_gradients_as(op, expected, inputs)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("shape", MASKS)
def test_gradients_of_masks(shape, dtype):
    def op(q, k, v, mask):
        return ops.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)

    def expected(q, k, v, mask):
        return defined(q, k, v, None, mask)

    inputs = numbers((2, 3, 70, 8), (2, 1, 67, 8), (2, 1, 67, 8), shape)
    check_gradients_as(op, expected, inputs, (), dtype, scale=10)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [3, 16, 40])
def test_values_of_another_depth(dtype, width):
    inputs = numbers((2, 70, 24), (2, 65, 24), (2, 65, width))

    def op(q, k, v):
        return ops.scaled_dot_product_attention(q, k, v, is_causal=True)

    def expected(q, k, v):
        return defined(q, k, v, is_causal=True)

    check(op, expected, inputs, dtype, scale=4)
    if dtype == "float64":
        check_gradients_as(op, expected, inputs)


def test_queries_that_see_no_key_are_zero():
    q, k = (x.numpy() for x in numbers((1, 200, 8), (1, 10, 8)))
    found = ops.scaled_dot_product_attention(q, k, k, is_causal=True, window=4)
    assert (found[0, 13:] == 0).all() and np.isfinite(found).all()


def test_what_is_refused():
    q, k = np.ones((4, 3, 8), "f4"), np.ones((2, 3, 8), "f4")
    with pytest.raises(ValueError, match=r"got \(4, 3, 8\), \(2, 3, 8\) and \(2, 3, 8\)"):
        ops.scaled_dot_product_attention(q, k, k)
    with pytest.raises(ValueError, match=r"of the scores, \(2, 3, 3\), or 1 .*; got \(2, 2, 3\)"):
        ops.scaled_dot_product_attention(k, k, k, np.ones((2, 2, 3), "bool"))
    with pytest.raises(TypeError, match="of bools, or of floats that are added; got i64"):
        ops.scaled_dot_product_attention(k, k, k, np.ones((3, 3), "i8"))
    with pytest.raises(ValueError, match="a logit for each of 4 heads"):
        ops.scaled_dot_product_attention(q, q, q, sinks=np.ones(2, "f4"))
    with pytest.raises(ValueError, match="`window` is 1 or more keys, got 0"):
        ops.scaled_dot_product_attention(q, q, q, window=0)


@pytest.mark.parametrize("causal", [False, True])
def test_dropout(causal):
    q, k, v = (x.requires_grad_() for x in numbers((2, 4, 9, 5), (2, 2, 11, 5), (2, 2, 11, 3)))

    def attend(q, k, v):
        return ops.scaled_dot_product_attention(
            q, k, v, enable_gqa=True, is_causal=causal, dropout_p=0.3, seed=5
        )

    each = torch.eye(11, dtype=torch.float64).expand(2, 2, 11, 11).contiguous()
    kept = (attend(q, k, each) != 0).double() / 0.7  # values that show which weights are left
    keys, values = (x.repeat_interleave(2, 1) for x in (k, v))
    scores = q @ keys.transpose(-1, -2) * 5**-0.5
    if causal:
        scores = scores.masked_fill(~torch.ones(9, 11).tril().bool(), float("-inf"))
    else:
        assert 0.2 < (kept == 0).double().mean() < 0.4
    wanted, found = (scores.softmax(-1) * kept) @ values, attend(q, k, v)
    close(found, wanted)
    grads = [torch.autograd.grad((y**2).sum(), (q, k, v)) for y in (found, wanted)]
    for a, b in zip(*grads, strict=True):
        close(a, b)


def test_seeds_of_dropout():
    x = torch.ones(1, 2, 16, 8)
    drop = functools.partial(ops.scaled_dot_product_attention, x, x, x, dropout_p=0.5)
    assert torch.equal(drop(seed=3), drop(seed=3)) and not torch.equal(drop(seed=3), drop(seed=4))
    assert torch.equal(drop(seed=3), drop(seed=torch.tensor([3])))
    assert (ops.scaled_dot_product_attention(x, x, x, dropout_p=1.0, seed=3) == 0).all()
    with pytest.raises(TypeError, match="draws by a `seed`, an int or an array with one"):
        drop()


@pytest.mark.parametrize("dropout", [None, "number"])
def test_weights_that_are_stored(dropout):
    """On every device: what derivatives of gradients are made of."""
    rows = numbers((4, 19, 6), (2, 21, 6), (4, 19, 6), (2, 21, 6))
    q, k, dy, v = (x.float().numpy() for x in rows)
    mask = np.zeros((1, 1, 1, 21), "f4")
    mask[..., 3] = -np.inf
    how = Mask(True, 5, 2, False, (True, True, True, False), dropout)
    score = np.einsum("hqd,hkd->hqk", q, np.repeat(k, 2, 0)) * 0.3 + mask[0]
    apart = np.arange(19)[:, None] - np.arange(21)[None, :]
    score = np.where((apart >= 0) & (apart < 5), score, -np.inf)
    lse = np.log(np.exp(score).sum(-1))
    delta = np.ones_like(lse)
    given = [tw.from_numpy(x).sync() for x in (q, k, v, mask, dy, lse, delta)]
    tiles = Tiles(16, 16, 8)
    weights = _weights(tiles, how)(given[0], given[1], given[3], given[5], 0.3, 4).sync()
    expected = np.exp(score - lse[..., None])
    np.testing.assert_allclose(weights.to_numpy(), expected, rtol=1e-5, atol=1e-6)
    if dropout is not None:
        factors = _factors(tiles, how)(weights, weights, 0.25, 7).sync().to_numpy()
        values = np.float32(1) / np.float32(0.75)
        assert np.all((factors == 0) | (abs(factors - values) < 1e-6))
        assert 0.6 < (factors > 0).mean() < 0.9
