"""Attention of the last tokens over a cache of keys and values, which may be in pages.

A block has all query heads that share a head of the cache, and a part of the keys: parts are
combined by the logarithms of their sums. Keys may have a second part (multi-head latent attention),
and be the values as well.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ..base.dtypes import f64, i32
from ..base.shapes import FULL, cdiv, next_power_of_2
from ..functions.function import Function
from ..lang import (
    Const,
    Tensor,
    TensorMut,
    arange,
    block_id,
    ceil_div,
    exp,
    full,
    log,
    make_gather_scatter_view,
    maximum,
    minimum,
    mma,
    neg_inf,
    reduce_max,
    reduce_sum,
    where,
    zeros,
)
from ..launch import entry
from .calling import first, is_op, operation, refuse_no_integers, reshaped, wide
from .tiles import as_scalar, rounded, sum_type

ROWS, KEYS, LEAST = 64, 64, 16
"""Tiles of query rows and of keys, and the least rows."""
BLOCKS, PART = 128, 4
"""How many blocks should run, and the tiles of keys that a part has at least."""
MOST_SPLITS = 64


class Cache(NamedTuple):
    """How keys lie, and which of them a row sees."""

    keys: int
    """Keys of a tile."""
    page: int
    """Keys of a page; 0: each sequence is on its own."""
    ragged: bool
    """Whether sequences have lengths; else each fills its place."""
    depth: int
    value_depth: int
    """Of values, and of the second part of keys: 0, if there is none. Powers of two."""
    second: int
    is_value: bool
    """Whether keys are values, too."""
    tokens: int
    """Query tokens of a sequence, its last ones."""
    group: int
    """Query heads for each head of the cache."""
    window: int | None


def _page(j: int, batch: int, table: Any, how: Any) -> tuple[Any, Any]:
    """Return the page that has a tile of keys, and the number of the tile there."""
    if how.page == 0:
        return batch, j
    number = table.partition((1, 1)).load((batch, j * how.keys // how.page)).astype(i32).item()
    return number, j % (how.page // how.keys)


@entry
def attend_part(
    part: TensorMut, lse: TensorMut, q: Tensor, q2: Tensor, k: Tensor, k2: Tensor, v: Tensor,
    table: Tensor, lengths: Tensor, scale: f64, *, SPLITS: Const[int], HOW: Const[Cache],
) -> None:  # fmt: skip
    """Attend from a tile of rows, (sequences * heads, rows, depth), to a part of the keys."""
    group, split, r = block_id(0), block_id(1), block_id(2)
    heads, rows = k.shape[2], part.shape[2]
    batch, head = group // heads, group % heads
    kind = sum_type(q.dtype)
    length = k.shape[1]
    if HOW.ragged:
        length = lengths.partition((1,)).load((batch,)).astype(i32).item()
        most = table.shape[1] * HOW.page if HOW.page else k.shape[1]
        assert length <= most, "a sequence has more keys than the cache holds"
    tiles = ceil_div(length, HOW.keys)
    begin = 0
    if HOW.window is not None:
        begin = maximum(length - HOW.tokens - HOW.window + 1, 0) // HOW.keys
    each = ceil_div(maximum(tiles - begin, 0), SPLITS)
    start = begin + split * each
    query = q.partition((1, rows, HOW.depth)).load((group, r, 0)).reshape(rows, HOW.depth)
    position = (arange(rows) + r * rows) % HOW.tokens + (length - HOW.tokens)
    keys = k.partition((1, HOW.keys, 1, HOW.depth))
    values = v.partition((1, HOW.keys, 1, HOW.value_depth))
    peak, total = full((rows, 1), neg_inf, kind), zeros((rows, 1), kind)
    acc = zeros((rows, HOW.value_depth), kind)
    for j in range(start, minimum(start + each, tiles)):
        page, within = _page(j, batch, table, HOW)
        key = keys.load((page, within, head, 0)).reshape(HOW.keys, HOW.depth)
        score = mma(query, key.T, zeros((rows, HOW.keys), kind))
        if HOW.second:
            shape = (1, HOW.keys, 1, HOW.second)
            more = k2.partition(shape).load((page, within, head, 0)).reshape(HOW.keys, HOW.second)
            other = q2.partition((1, rows, HOW.second)).load((group, r, 0))
            score = mma(other.reshape(rows, HOW.second), more.T, score)
        columns = (arange(HOW.keys) + j * HOW.keys)[None, :]
        seen = columns <= position[:, None]
        if HOW.window is not None:
            seen = seen & (position[:, None] - columns < HOW.window)
        score = where(seen, score * as_scalar(scale, kind), neg_inf)
        higher = maximum(peak, reduce_max(score, 1, keepdims=True))
        shift = where(higher == neg_inf, 0.0, higher)
        powers, fade = exp(score - shift), exp(peak - shift)
        total = total * fade + reduce_sum(powers, 1, keepdims=True)
        value = key
        if not HOW.is_value:
            value = values.load((page, within, head, 0)).reshape(HOW.keys, HOW.value_depth)
        if HOW.ragged:  # memory behind the end may have anything, NaN as well
            behind = (arange(HOW.keys) + j * HOW.keys)[:, None] >= length
            value = where(behind, 0.0, value)
        acc = mma(powers.astype(value.dtype), value, acc * fade)
        peak = higher
    some = total > 0.0
    part.store(rounded(where(some, acc / total, 0.0), part).reshape(*part.shape))
    lse.store(where(some, peak + log(total), neg_inf).reshape(*lse.shape))


@entry
def join_parts(
    out: TensorMut, part: Tensor, lse: Tensor, sinks: Tensor, like: Tensor, *,
    DEPTH: Const[int], HOW: Const[Cache], SINKS: Const[bool],
) -> None:  # fmt: skip
    """Sum the parts of rows by their shares of all keys, and of the sinks."""
    group, r = block_id(0), block_id(1)
    rows = out.shape[1]
    parts, sums = part.partition((1, 1, rows, DEPTH)), lse.partition((1, 1, rows))
    kind = part.dtype
    peak, total = full((rows, 1), neg_inf, kind), zeros((rows, 1), kind)
    if SINKS:
        heads = sinks.shape[0] // HOW.group
        number = (arange(rows) + r * rows) // HOW.tokens + group % heads * HOW.group
        logits = make_gather_scatter_view(sinks, (rows,), padding=0.0).load((number,))
        peak, total = logits.astype(kind).reshape(rows, 1), full((rows, 1), 1.0, kind)
    acc = zeros((rows, DEPTH), kind)
    for k in range(sums.num_tiles(1)):
        here = sums.load((group, k, r)).reshape(rows, 1)
        higher = maximum(peak, here)
        shift = where(higher == neg_inf, 0.0, higher)
        share, fade = exp(here - shift), exp(peak - shift)
        total = total * fade + share
        acc = acc * fade + share * parts.load((group, k, r, 0)).reshape(rows, DEPTH)
        peak = higher
    out.store(rounded(where(total > 0.0, acc / total, 0.0), out).reshape(1, rows, DEPTH))


@cache
def _parts(rows: int, splits: int, how: Cache, joined: bool) -> Function:
    """Return the function of the parts, whose results are joined or final."""

    def shape(q: Any, q2: Any, k: Any, k2: Any, v: Any, *_: Any) -> Any:
        depth = (k if how.is_value else v).shape[3]
        return (q.shape[0], splits, q.shape[1], depth), wide(q) if joined else q.dtype

    def sums(q: Any, *_: Any) -> Any:
        return (q.shape[0], splits, q.shape[1]), wide(q)

    return Function(
        attend_part,
        outputs={"part": shape, "lse": sums},
        tiles={"part": (1, 1, rows, FULL), "lse": (1, 1, rows)},
        constants={"SPLITS": splits, "HOW": how},
    )


@cache
def _joining(how: Cache, sinks: bool) -> Function:
    depth = how.depth if how.is_value else how.value_depth
    return Function(
        join_parts,
        outputs=lambda part, lse, sinks, like: (
            (part.shape[0], part.shape[2], part.shape[3]), like.dtype
        ),
        tiles=(1, LEAST, FULL),
        constants={"DEPTH": depth, "HOW": how, "SINKS": sinks},
    )  # fmt: skip


def _joined(how: Cache, results: Any, sinks: Any, q: Any) -> Any:
    function = _joining(how, sinks is not None)
    more = (q if sinks is None else sinks, q)

    def joined(part: Any, lse: Any) -> Any:
        return function(part, lse, *more)

    return results.then(joined) if is_op(results) else joined(*results)


@operation
def decode_attention(
    query: Any,
    key: Any,
    value: Any = None,
    lengths: Any = None,
    *,
    block_table: Any = None,
    scale: float | None = None,
    window: int | None = None,
    sinks: Any = None,
    query_rope: Any = None,
    key_rope: Any = None,
    splits: int | None = None,
) -> Any:
    """Compute attention of the last tokens of sequences over a cache of their keys and values.

    `query` is (batch, heads, depth), or (batch, heads, tokens, depth) for several last tokens, of
    which each sees the keys up to its own. The cache is (batch, tokens, heads, depth), whose heads
    divide those of queries; or with `block_table`, (batch, pages) of page numbers, it is (pages,
    page size, heads, depth). `lengths` are the keys of each sequence, its last tokens included;
    without it the cache is full. Without `value` the keys are the values. `query_rope` and
    `key_rope` are second parts, whose products are added to the scores: shapes as of `query` and
    `key`, of another depth. `window`, `sinks` as of `scaled_dot_product_attention`; `scale` is 1 /
    sqrt(all depths). Keys are divided into `splits` parts that run in parallel; by default so that
    there are enough blocks. There are no gradients.

    >>> keys = np.ones((1, 3, 1, 4), "f4")
    >>> ops.decode_attention(np.ones((1, 2, 4), "f4"), keys, 2 * keys, np.array([3]))[0, 0]
    array([2., 2., 2., 2.], dtype=float32)
    """
    shape, stored = tuple(query.shape), tuple(key.shape)
    held = stored if value is None else tuple(value.shape)
    fits = len(shape) in (3, 4) and len(stored) == len(held) == 4 and stored[:3] == held[:3]
    fits = fits and shape[-1] == stored[3] and stored[2] > 0 and not shape[1] % stored[2]
    if block_table is None:
        fits = fits and shape[0] == stored[0]
    else:
        fits = fits and len(block_table.shape) == 2 and block_table.shape[0] == shape[0]
    if not fits:
        table = "" if block_table is None else f" and the table {tuple(block_table.shape)}"
        raise ValueError(
            "`decode_attention` takes queries (batch, heads, depth) or (batch, heads, tokens,"
            " depth) and a cache (batch, tokens, heads, depth), in pages (pages, page size, heads,"
            f" depth); got {shape}, {stored} and {held}{table}"
        )
    if block_table is not None and lengths is None:
        raise TypeError("`decode_attention` needs the `lengths` of sequences that are in pages")
    second = _second(shape, stored, query_rope, key_rope)
    batch, heads = shape[:2]
    tokens = shape[2] if len(shape) == 4 else 1
    group = heads // stored[2]
    _refuse_options(window, sinks, lengths, batch, heads, splits)
    page = stored[1] if block_table is not None else 0
    keys = min(KEYS, page & -page) if page else KEYS
    how = Cache(
        keys, page, lengths is not None, next_power_of_2(shape[-1]), next_power_of_2(held[3]),
        next_power_of_2(second) if second else 0, value is None, tokens, group, window,
    )  # fmt: skip
    count = batch * stored[2]
    rows = max(LEAST, min(ROWS, next_power_of_2(group * tokens)))
    most = page * block_table.shape[1] if block_table is not None else stored[1]
    if splits is None:
        blocks = max(1, count * cdiv(group * tokens, rows))
        splits = max(1, min(cdiv(BLOCKS, blocks), cdiv(most, keys * PART), MOST_SPLITS))
    joined = splits > 1 or sinks is not None
    q = reshaped(query, (count, group * tokens, shape[-1]))
    q2 = q if query_rope is None else reshaped(query_rope, (count, group * tokens, second))
    factor = (shape[-1] + second) ** -0.5 if scale is None else float(scale)
    results = _parts(rows, splits, how, joined)(
        q, q2, key, key if key_rope is None else key_rope, key if value is None else value,
        q if block_table is None else block_table, q if lengths is None else lengths, factor,
    )  # fmt: skip
    found = _joined(how, results, sinks, q) if joined else first(results)
    return reshaped(found, (*shape[:-1], held[3]))


def _second(query: Any, key: Any, query_rope: Any, key_rope: Any) -> int:
    """Return the depth of the second part; 0: there is none."""
    if query_rope is None and key_rope is None:
        return 0
    theirs: Any = () if query_rope is None else tuple(query_rope.shape)
    its: Any = () if key_rope is None else tuple(key_rope.shape)
    fits = bool(theirs) and bool(its) and theirs[:-1] == query[:-1] and its[:-1] == key[:-1]
    if not fits or theirs[-1] != its[-1]:
        raise ValueError(
            "`query_rope` and `key_rope` of `decode_attention` have the shapes of the query"
            f" {query} and the keys {key} but for one depth of both; got {theirs or None}"
            f" and {its or None}"
        )
    return int(theirs[-1])


def _refuse_options(
    window: int | None, sinks: Any, lengths: Any, batch: int, heads: int, splits: int | None
) -> None:
    if window is not None and window < 1:
        raise ValueError(f"`window` is 1 or more keys, got {window}")
    if lengths is not None:
        refuse_no_integers("decode_attention", "lengths", lengths)
    if splits is not None and splits < 1:
        raise ValueError(f"`splits` is 1 or more parts, got {splits}")
    for name, each, count in (("sinks", sinks, heads), ("lengths", lengths, batch)):
        if each is not None and tuple(each.shape) != (count,):
            of = "heads" if name == "sinks" else "sequences"
            raise ValueError(
                f"`{name}` of `decode_attention` has a number for each of {count} {of}, got the"
                f" shape {tuple(each.shape)}"
            )


@operation
def mla_decode(
    query: Any,
    query_rope: Any,
    latent: Any,
    latent_rope: Any,
    lengths: Any = None,
    *,
    block_table: Any = None,
    scale: float | None = None,
    splits: int | None = None,
) -> Any:
    """Compute multi-head latent attention of the last tokens over a cache of latent vectors.

    All heads share one cache: `latent` is (batch, tokens, rank), keys and values at once, and
    `latent_rope` (batch, tokens, depth) the part with positions; in pages (pages, page size, ...).
    `query` is (batch, heads, rank), already multiplied with the keys' projection, `query_rope`
    (batch, heads, depth). The result is (batch, heads, rank): softmax(scale * (query @ latent.T +
    query_rope @ latent_rope.T)) @ latent. Other arguments are those of `decode_attention`.

    >>> x = np.ones((1, 3, 4), "f4")
    >>> ops.mla_decode(x, x, 2 * x, x)[0, 0]
    array([2., 2., 2., 2.], dtype=float32)
    """
    if len(latent.shape) != 3 or len(latent_rope.shape) != 3:
        raise ValueError(
            "`mla_decode` takes latent vectors (batch, tokens, rank) and (batch, tokens, depth);"
            f" got {tuple(latent.shape)} and {tuple(latent_rope.shape)}"
        )

    def with_heads(x: Any) -> Any:
        return reshaped(x, (*x.shape[:2], 1, x.shape[2]))

    return decode_attention(
        query, with_heads(latent), None, lengths, block_table=block_table, scale=scale,
        query_rope=query_rope, key_rope=with_heads(latent_rope), splits=splits,
    )  # fmt: skip
