"""Attention over caches against its definition in PyTorch, in f64."""

from __future__ import annotations

import numpy as np
import pytest

from support import tiers
from support.numbers import fresh_rng
from support.op_checks import close, numbers, results_of, torch
from tilewright import ops


def defined(q, k, v, lengths, *, window=None, sinks=None, scale=None, q2=None, k2=None):
    outs = []
    group, depth = q.shape[1] // k.shape[2], q.shape[3] + (0 if q2 is None else q2.shape[3])

    def seen_by(cache, b, n):
        return cache[b, :n].transpose(0, 1).repeat_interleave(group, 0)

    for b, n in enumerate(lengths.tolist()):
        score = q[b] @ seen_by(k, b, n).mT
        if q2 is not None:
            score = score + q2[b] @ seen_by(k2, b, n).mT
        score = score * (depth**-0.5 if scale is None else scale)
        rows = torch.arange(q.shape[2])[:, None] + n - q.shape[2]
        apart = rows - torch.arange(n)[None]
        hidden = (apart < 0) | (apart >= (n + 1 if window is None else window))
        score = score.masked_fill(hidden, -torch.inf)
        if sinks is not None:
            column = sinks[:, None, None].expand(*score.shape[:-1], 1)
            score = torch.cat([score, column], -1)
        share = score.softmax(-1)[..., :n].nan_to_num()  # no key is seen
        outs.append(share @ seen_by(v, b, n))
    return torch.stack(outs)


def paged(page, lengths, *caches):
    """Caches in pages, in any order, with NaN in all that no sequence has; and their table."""
    batch, tokens = caches[0].shape[:2]
    each = -(-tokens // page)
    order = torch.tensor(fresh_rng().permutation(batch * each + 3)[: batch * each])
    pools = []
    for cache in caches:
        pool = torch.full((batch * each + 3, page, *cache.shape[2:]), torch.nan, dtype=cache.dtype)
        whole = torch.full((batch, each * page, *cache.shape[2:]), torch.nan, dtype=cache.dtype)
        for b, n in enumerate(lengths.tolist()):
            whole[b, :n] = cache[b, :n]
        pool[order] = whole.reshape(batch * each, page, *cache.shape[2:])
        pools.append(pool)
    return *pools, order.reshape(batch, each)


CASES = {  # batch, heads, heads of the cache, query tokens, depth, depth of values, tokens
    "one": ((1, 1, 1, 1, 1, 1, 1), 1, {}),
    "grouped": ((2, 4, 2, 1, 8, 8, 70), 0, {}),
    "parts and sinks": ((2, 4, 2, 1, 8, 8, 70), 16, {"splits": 3, "sinks": True}),
    "tokens in a window": ((1, 6, 1, 3, 20, 12, 150), 10, {"splits": 2, "window": 40, "sinks": 1}),
    "more parts than keys": ((3, 4, 4, 2, 16, 16, 5), 4, {"splits": 9}),
    "pages of one": ((1, 2, 2, 1, 4, 4, 6), 1, {"window": 1}),
    "long": ((2, 4, 4, 1, 64, 64, 600), 32, {"scale": 0.3}),
    "many heads": ((2, 128, 1, 1, 16, 16, 130), 64, {"splits": 2}),
}
CHOSEN = tiers.count(quick=["parts and sinks", "tokens in a window"], full=CASES)


def inputs_of(case):
    (batch, heads, held, tokens, depth, of_values, length), page, named = CASES[case]
    q, k, v, sinks = numbers(
        (batch, heads, tokens, depth), (batch, length, held, depth),
        (batch, length, held, of_values), heads,
    )  # fmt: skip
    named = {**named, "sinks": sinks if named.get("sinks") else None}
    return q, k, v, page, named


def plain(named):
    return {name: value for name, value in named.items() if name != "splits"}


@pytest.mark.parametrize("case", CHOSEN)
def test_caches(case):
    q, k, v, page, named = inputs_of(case)
    full = torch.full((len(q),), k.shape[1])
    expected = defined(q, k, v, full, **plain(named))
    close(ops.decode_attention(q, k, v, **named), expected)
    if q.shape[2] == 1:
        close(ops.decode_attention(q[:, :, 0], k, v, full, **named), expected[:, :, 0])
    lengths = torch.tensor(fresh_rng().integers(0, k.shape[1] + 1, len(q)))
    expected = defined(q, k, v, lengths, **plain(named))
    for b, n in enumerate(lengths.tolist()):
        k[b, n:] = v[b, n:] = torch.nan
    close(ops.decode_attention(q, k, v, lengths, **named), expected)
    if page:
        keys, values, table = paged(page, lengths, k, v)
        found = ops.decode_attention(q, keys, values, lengths, block_table=table, **named)
        close(found, expected)


@pytest.mark.parametrize("case", CHOSEN)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.thinned(1)
def test_types(case, dtype):
    q, k, v, _, named = inputs_of(case)
    kind = getattr(torch, dtype)
    given = [x.to(kind) for x in (q, k, v)]
    lengths = torch.tensor(fresh_rng().integers(1, k.shape[1] + 1, len(q)))
    expected = defined(*[x.double() for x in given], lengths, **plain(named))
    found = ops.decode_attention(*given, lengths, **named)
    assert found.dtype == kind
    close(found, expected, dtype, scale=4)


@pytest.mark.parametrize("splits", tiers.count(quick=[3], full=[1, 3]))
def test_latent_attention(splits):
    q, q2, c, c2 = numbers((2, 16, 1, 32), (2, 16, 1, 8), (2, 90, 32), (2, 90, 8))
    lengths = torch.tensor([90, 17])
    held, second = c[:, :, None], c2[:, :, None]
    expected = defined(q, held, held, lengths, q2=q2, k2=second)[:, :, 0]
    found = ops.mla_decode(q[:, :, 0], q2[:, :, 0], c, c2, lengths, splits=splits)
    close(found, expected)
    pages, more, table = paged(8, lengths, c, c2)
    found = ops.mla_decode(
        q[:, :, 0], q2[:, :, 0], pages, more, lengths, block_table=table, splits=splits
    )
    close(found, expected)


def test_arrays_and_tensors():
    q, k, v, page, named = inputs_of("parts and sinks")
    lengths = torch.tensor([70, 13])
    expected = defined(q, k, v, lengths, **plain(named))
    keys, values, table = paged(page, lengths, k, v)
    inputs = [x.numpy() for x in (q, keys, values, lengths, table, named["sinks"])]

    def op(q, k, v, lengths, table, sinks):
        return ops.decode_attention(q, k, v, lengths, block_table=table, sinks=sinks, splits=3)

    for (found,) in results_of(op, *inputs):
        np.testing.assert_allclose(found, expected)


def test_what_is_refused():
    q, k = np.ones((2, 4, 8), "f4"), np.ones((2, 5, 2, 8), "f4")
    with pytest.raises(ValueError, match=r"got \(2, 3, 8\), \(2, 5, 2, 8\) and \(2, 5, 2, 8\)"):
        ops.decode_attention(q[:, :3], k, k)
    with pytest.raises(TypeError, match="needs the `lengths` of sequences that are in pages"):
        ops.decode_attention(q, k, k, block_table=np.zeros((2, 1), "i4"))
    with pytest.raises(ValueError, match="`window` is 1 or more keys, got 0"):
        ops.decode_attention(q, k, k, window=0)
    with pytest.raises(ValueError, match="`splits` is 1 or more parts, got 0"):
        ops.decode_attention(q, k, k, splits=0)
    with pytest.raises(
        ValueError, match="`sinks` of `decode_attention` has a number for each of 4 heads"
    ):
        ops.decode_attention(q, k, k, sinks=np.ones(2, "f4"))
    with pytest.raises(
        ValueError, match="`lengths` of `decode_attention` has a number for each of 2 sequences"
    ):
        ops.decode_attention(q, k, k, np.ones(3, "i4"))
    with pytest.raises(ValueError, match=r"got \(2, 4, 3\) and None"):
        ops.decode_attention(q, k, k, query_rope=q[:, :, :3])
    with pytest.raises(ValueError, match="takes latent vectors"):
        ops.mla_decode(q, q, k, k)
