"""Mixtures of experts: routing, rows in the order of their experts, and their weighted sums.

Each token goes to k experts, so there are tokens * k pairs. Pairs are counted and numbered by
expert, in the order of tokens; then rows are gathered in both directions, forward and backward: no
sum depends on which block is first, and the host waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal

from ..base.dtypes import i32, i64
from ..base.shapes import FULL, cdiv, next_power_of_2
from ..functions.function import Function
from ..functions.tracing import one_node
from ..lang import (
    Accumulator,
    Const,
    Tensor,
    TensorMut,
    arange,
    argmax,
    block_id,
    cumsum,
    exp,
    make_gather_scatter_view,
    neg_inf,
    reduce_max,
    reduce_sum,
    where,
    zeros,
)
from ..launch import entry
from .activations import geglu, reglu, swiglu
from .arguments import explained
from .calling import float_operation, halves, is_op, operation, refuse_no_integers, reshaped
from .grouped import grouped_matmul
from .ordering import put_back, take_indexed
from .reductions import sum as sum_of
from .rows import LONGEST, rows_in_tile
from .second_order import by_formula
from .softmax import softmax
from .tiles import rounded, sum_type, widened

ROWS, COLUMNS = 16, 256
"""Tiles of rows that are gathered."""

# --- routing -----------------------------------------------------------------------------------


@entry
def route_tokens(
    weights: TensorMut, experts: TensorMut, logits: Tensor, *,
    LENGTH: Const[int], K: Const[int], NORMALIZE: Const[bool],
) -> None:  # fmt: skip
    """Find the most probable experts of each token, and their probabilities."""
    tile = logits.partition((weights.shape[0], LENGTH), padding=neg_inf).load((block_id(0), 0))
    rest = widened(tile)
    peak = reduce_max(rest, 1, keepdims=True)
    columns, chosen = arange(LENGTH)[None, :], arange(weights.shape[1])[None, :]
    found, numbers = zeros(weights.shape, rest.dtype), zeros(weights.shape, i32)
    total = zeros((weights.shape[0], 1), rest.dtype)
    if not NORMALIZE:
        total = reduce_sum(exp(rest - peak), 1, keepdims=True)
    for k in range(K):
        best = reduce_max(rest, 1, keepdims=True)
        place = argmax(rest, 1, keepdims=True).astype(i32)
        power = exp(best - peak)
        if NORMALIZE:
            total = total + power
        found = where(chosen == k, power, found)
        numbers = where(chosen == k, place, numbers)
        rest = where(columns == place, neg_inf, rest)
    weights.store(rounded(found / total, weights))
    experts.store(numbers.astype(i64))


@entry
def route_backward(
    d_logits: TensorMut, dw: Tensor, experts: Tensor, logits: Tensor, *, NORMALIZE: Const[bool]
) -> None:
    """Compute p * (g - sum(g * p)), where g is 0 for experts that were not chosen."""
    i, rows = block_id(0), d_logits.shape[0]
    tile = widened(logits.partition(d_logits.shape, padding=neg_inf).load((i, 0)))
    grads, places = dw.partition((rows, 1)), experts.partition((rows, 1))
    columns = arange(d_logits.shape[1])[None, :]
    grad = zeros(d_logits.shape, sum_type(d_logits.dtype))
    chosen = zeros(d_logits.shape, i32) > 0
    for k in range(grads.num_tiles(1)):
        is_there = columns == places.load((i, k)).astype(i32)
        grad = where(is_there, widened(grads.load((i, k))), grad)
        chosen = chosen | is_there
    seen = where(chosen, tile, neg_inf) if NORMALIZE else tile
    powers = exp(seen - reduce_max(seen, 1, keepdims=True))
    share = powers / reduce_sum(powers, 1, keepdims=True)
    d_logits.store(rounded(share * (grad - reduce_sum(grad * share, 1, keepdims=True)), d_logits))


def _pulled(grads: Any, shares: Any) -> Any:
    """Return the gradient of a softmax."""
    return shares * (grads - sum_of(grads * shares, axis=1, keepdims=True))


@cache
def _routing(length: int, k: int, normalize: bool) -> Function:
    rows = rows_in_tile(length)

    def again(dw: Any, experts: Any, logits: Any) -> Any:
        if normalize:
            return put_back(_pulled(dw, softmax(take_indexed(logits, experts))), experts, logits)
        return _pulled(put_back(dw, experts, logits), softmax(logits))

    gradient = Function(
        route_backward, outputs="logits", tiles=(rows, FULL), constants={"NORMALIZE": normalize},
        backward=by_formula(route_backward, again),
    )  # fmt: skip
    return Function(
        route_tokens,
        outputs={
            "weights": lambda logits: (logits.shape[0], k),
            "experts": lambda logits: ((logits.shape[0], k), i64),
        },
        tiles=(rows, FULL),
        constants={"LENGTH": length, "K": k, "NORMALIZE": normalize},
        backward=lambda dw, d_experts, logits, experts: gradient(dw, experts, logits),
    )


@one_node
@explained
def moe_route(logits: Any, k: int, *, normalize: bool = True) -> tuple[Any, Any]:
    """Return the weights of the k most probable experts of each token, and their numbers.

    `logits` are (tokens, experts). Weights are softmax(logits) of these experts, divided by their
    sum if `normalize`: then they are the softmax of the k largest logits. Of equal logits the first
    come first. Numbers are i64.

    >>> ops.moe_route(np.array([[0.0, 1.0, 1.0]], "f4"), 2)
    (array([[0.5, 0.5]], dtype=float32), array([[1, 2]]))
    """
    if is_op(logits):

        def route(tensor: Any) -> Any:
            return moe_route(tensor, k, normalize=normalize)

        found: tuple[Any, Any] = logits.then(route)
        return found
    shape = tuple(logits.shape)
    if len(shape) != 2 or not 1 <= k <= shape[1] <= LONGEST:
        raise ValueError(
            f"`moe_route` takes logits (tokens, experts) and finds 1 to {LONGEST} of these experts;"
            f" got the shape {shape} and k = {k}"
        )
    made: tuple[Any, Any] = _routing(next_power_of_2(shape[1]), k, normalize)(logits)
    return made


# --- numbering pairs by expert -----------------------------------------------------------------


@entry
def count_experts(counts: TensorMut, experts: Tensor, *, PAIRS: Const[int]) -> None:
    """Count the pairs of a part for each expert."""
    # There may be no pairs at all.
    pairs = experts.load_at((block_id(0) * PAIRS,), (PAIRS,), padding=-1).astype(i32)
    is_of = pairs[:, None] == arange(counts.shape[1])[None, :]
    counts.store(reduce_sum(is_of.astype(i32), 0, keepdims=True))


@entry
def number_experts(starts: TensorMut, ends: TensorMut, counts: Tensor) -> None:
    """Number the first pair of each expert in each part, and the one behind its last in all."""
    assert starts.shape[0] >= counts.shape[0]
    assert starts.shape[1] >= counts.shape[1]
    experts = starts.shape[1]
    parts, out = counts.partition((1, experts)), starts.partition_mut((1, experts))
    total = zeros((1, experts), i32)
    for k in range(parts.num_tiles(0)):
        total = total + parts.load((k, 0))
    behind = cumsum(total, 1)
    ends.store(behind.reshape(experts))
    first = behind - total
    for k in range(parts.num_tiles(0)):
        out.store(first, (k, 0))
        first = first + parts.load((k, 0))


@entry
def number_pairs(place: TensorMut, experts: Tensor, starts: Tensor, *, EXPERTS: Const[int]
                 ) -> None:  # fmt: skip
    """Number the pairs of a part: those of an expert follow each other."""
    i, count = block_id(0), place.shape[0]
    pairs = experts.partition((count,), padding=-1).load((i,)).astype(i32)
    is_of = (pairs[:, None] == arange(EXPERTS)[None, :]).astype(i32)
    before = cumsum(is_of, 0) - is_of + starts.partition((1, EXPERTS)).load((i, 0))
    place.store(reduce_sum(is_of * before, 1))


@entry
def list_pairs(order: Accumulator, place: Tensor, *, PAIRS: Const[int]) -> None:
    """List the pairs by their numbers; of zeros, since each number occurs once."""
    i = block_id(0)
    at = place.partition((PAIRS,), padding=-1).load((i,))
    order.add(arange(PAIRS) + i * PAIRS, at, clip=True)


class _Sorting:
    """The functions that sort pairs of so many experts."""

    def __init__(self, experts: int) -> None:
        length = next_power_of_2(experts)
        pairs = max(16, min(256, 8192 // length))
        self.count = Function(
            count_experts,
            outputs=lambda numbers: ((max(1, cdiv(numbers.shape[0], pairs)), experts), i32),
            tiles=(1, FULL), constants={"PAIRS": pairs},
        )  # fmt: skip
        self.number = Function(
            number_experts,
            outputs={"starts": "counts", "ends": lambda counts: ((counts.shape[1],), i32)},
            tiles={"starts": (FULL, FULL), "ends": FULL},
        )
        self.place = Function(
            number_pairs, outputs=lambda experts, starts: (experts.shape, i32), tiles=pairs,
            constants={"EXPERTS": length},
        )  # fmt: skip
        self.list = Function(
            list_pairs, outputs="place", grid=lambda place: cdiv(place.shape[0], 1024),
            constants={"PAIRS": 1024},
        )  # fmt: skip


_SORTING = cache(_Sorting)


@one_node
@explained
def moe_sort(experts: Any, num_experts: int) -> tuple[Any, Any, Any]:
    """Return the order of pairs by expert, the place of each pair in it, and where experts end.

    `experts` are (tokens, k) numbers from 0 to num_experts - 1. Pair p is number p % k of token
    p // k. `order` lists the pairs, those of one expert in the order of tokens; `place` is (tokens,
    k): order[place[t, j]] = t * k + j; the pairs of expert e are those before ends[e].

    >>> ops.moe_sort(np.array([[1], [0], [1]]), 2)
    (array([1, 0, 2], dtype=int32), array([[1],
           [0],
           [2]], dtype=int32), array([1, 3], dtype=int32))
    """
    if is_op(experts):

        def sort(tensor: Any) -> Any:
            return moe_sort(tensor, num_experts)

        found: tuple[Any, Any, Any] = experts.then(sort)
        return found
    refuse_no_integers("moe_sort", "experts", experts)
    shape = tuple(experts.shape)
    if len(shape) != 2 or num_experts < 1:
        raise ValueError(
            "`moe_sort` takes the numbers (tokens, k) of 1 or more experts; got the shape"
            f" {shape} and {num_experts}"
        )
    how = _SORTING(num_experts)
    pairs = reshaped(experts, (shape[0] * shape[1],))

    def place(starts: Any, ends: Any) -> Any:
        return _then(_with(how.place(pairs, starts), ends), order)

    def order(places: Any, ends: Any) -> Any:
        return _with(how.list(places), reshaped(places, shape), ends)

    made: tuple[Any, Any, Any] = _then(how.number(how.count(pairs)), place)
    return made


def _then(results: Any, function: Callable[..., Any]) -> Any:
    """Call a function with several results, when they are there."""
    return results.then(function) if is_op(results) else function(*results)


def _with(result: Any, *others: Any) -> Any:
    """Return a result and others that are there, as several results."""
    if not is_op(result):
        return result, *others

    def joined(found: Any) -> Any:
        return found, *others

    return result.map(joined)


# --- rows of pairs -----------------------------------------------------------------------------


@entry
def take_tokens(rows: TensorMut, x: Tensor, order: Tensor, place: Tensor) -> None:
    """Copy the token of each pair."""
    i, j = block_id(0), block_id(1)
    pairs = order.partition((rows.shape[0],)).load((i,)).astype(i32)
    view = make_gather_scatter_view(x, rows.shape)
    rows.store(view.load((pairs // place.shape[1], j * rows.shape[1])))


@entry
def spread_tokens(d_rows: TensorMut, dy: Tensor, weights: Tensor, order: Tensor, place: Tensor, *,
                  K: Const[int]) -> None:  # fmt: skip
    """Multiply the gradient of the token of each pair by the weight of the pair.

    The places are not read.
    """
    i, j = block_id(0), block_id(1)
    count = d_rows.shape[0]
    pairs = order.partition((count,)).load((i,)).astype(i32)
    grads = make_gather_scatter_view(dy, d_rows.shape).load((pairs // K, j * d_rows.shape[1]))
    factor = make_gather_scatter_view(weights, (count,)).load((pairs,))
    d_rows.store(rounded(widened(grads) * widened(factor)[:, None].astype(sum_type(dy.dtype)),
                         d_rows))  # fmt: skip


@entry
def sum_pairs(y: TensorMut, rows: Tensor, weights: Tensor, order: Tensor, place: Tensor, *,
              WEIGHTED: Const[bool]) -> None:  # fmt: skip
    """Sum the rows of the pairs of each token, times their weights."""
    i, j = block_id(0), block_id(1)
    places, factors = place.partition((y.shape[0], 1)), weights.partition((y.shape[0], 1))
    view = make_gather_scatter_view(rows, y.shape)
    total = zeros(y.shape, sum_type(y.dtype))
    for k in range(places.num_tiles(1)):
        at = places.load((i, k)).reshape(y.shape[0]).astype(i32)
        row = widened(view.load((at, j * y.shape[1])))
        if WEIGHTED:
            row = row * widened(factors.load((i, k))).astype(total.dtype)
        total = total + row
    y.store(rounded(total, y))


@entry
def weigh_pairs(dw: TensorMut, dy: Tensor, rows: Tensor, order: Tensor, place: Tensor,
                weights: Tensor, *, PART: Const[int]) -> None:  # fmt: skip
    """Multiply the row of each pair with the gradient of its token; the order is not read."""
    i, k, count = block_id(0), block_id(1), dw.shape[0]
    at = place.partition((count, 1)).load((i, k)).reshape(count).astype(i32)
    view, grads = make_gather_scatter_view(rows, (count, PART)), dy.partition((count, PART))
    total = zeros((count, 1), sum_type(dy.dtype))
    for j in range(grads.num_tiles(1)):
        products = widened(grads.load((i, j))) * widened(view.load((at, j * PART)))
        total = total + reduce_sum(products, 1, keepdims=True)
    dw.store(total.astype(dw.dtype))


def _summed(rows: Any, weights: Any, order: Any, place: Any) -> Any:
    return (place.shape[0], rows.shape[1]), rows.dtype


_SUM: Function = Function(
    sum_pairs, outputs=_summed, tiles=(ROWS, COLUMNS), constants={"WEIGHTED": False},
    backward=lambda g, order, place: (_TAKE(g, order, place), None, None, None),
)  # fmt: skip
_TAKE: Function = Function(
    take_tokens,
    outputs=lambda x, order, place: ((order.shape[0], x.shape[1]), x.dtype),
    tiles=(ROWS, COLUMNS),
    backward=lambda d_rows, order, place: (_SUM(d_rows, place, order, place), None, None),
)


# Sums of rows times weights are linear in both, and so are both gradients.


def _weigh_backward(g: Any, dy: Any, rows: Any, order: Any, place: Any) -> Any:
    by_tokens = partial(_COMBINE, rows, g, order, place)
    return by_tokens, partial(_spread, dy, g, order, place), None, None, None


_WEIGH = Function(
    weigh_pairs, outputs="weights", tiles=(ROWS, 1), constants={"PART": COLUMNS},
    backward=_weigh_backward,
)  # fmt: skip


@cache
def _spreading(k: int) -> Function:
    def backward(g: Any, dy: Any, weights: Any, order: Any, place: Any) -> Any:
        pairs = reshaped(weights, tuple(place.shape))

        def by_weights() -> Any:
            return reshaped(_WEIGH(dy, g, order, place, pairs), tuple(weights.shape))

        return lambda: _COMBINE(g, pairs, order, place), by_weights, None, None

    return Function(
        spread_tokens,
        outputs=lambda dy, weights, order, place: ((order.shape[0], dy.shape[1]), dy.dtype),
        tiles=(ROWS, COLUMNS), constants={"K": k}, backward=backward,
    )  # fmt: skip


def _spread(dy: Any, weights: Any, order: Any, place: Any) -> Any:
    """Return the gradient of each token times the weights of its pairs."""
    flat = reshaped(weights, (order.shape[0],))
    return _spreading(weights.shape[1])(dy, flat, order, place)


def _combine_backward(dy: Any, rows: Any, weights: Any, order: Any, place: Any) -> Any:
    by_rows = partial(_spread, dy, weights, order, place)
    return by_rows, partial(_WEIGH, dy, rows, order, place, weights), None, None


_COMBINE: Function = Function(
    sum_pairs, outputs=_summed, tiles=(ROWS, COLUMNS), constants={"WEIGHTED": True},
    backward=_combine_backward,
)  # fmt: skip


def _refuse_pairs(name: str, order: Any, place: Any, what: str, fits: bool) -> None:
    if not fits or len(place.shape) != 2 or order.shape[0] != place.shape[0] * place.shape[1]:
        raise ValueError(
            f"`{name}` takes {what}, `order` and `place` of `moe_sort`; got {tuple(order.shape)}"
            f" and {tuple(place.shape)}"
        )


@operation
def moe_dispatch(x: Any, order: Any, place: Any) -> Any:
    """Return the token of each pair in the order of `moe_sort`: x[order // k].

    x is (tokens, depth), the result (tokens * k, depth): rows for `grouped_matmul`.

    >>> order, place, ends = ops.moe_sort(np.array([[1], [0]]), 2)
    >>> ops.moe_dispatch(np.array([[1.0], [2.0]], "f4"), order, place).ravel()
    array([2., 1.], dtype=float32)
    """
    fits = len(x.shape) == 2 and x.shape[0] == place.shape[0]
    what = f"tokens (tokens, depth), got {tuple(x.shape)}"
    _refuse_pairs("moe_dispatch", order, place, what, fits)
    return _TAKE(x, order, place)


@float_operation
def moe_combine(rows: Any, weights: Any, order: Any, place: Any) -> Any:
    """Compute sum over j of weights[t, j] * rows[place[t, j]] for each token t.

    >>> order, place, ends = ops.moe_sort(np.array([[1, 0]]), 2)
    >>> rows, weights = np.array([[1.0], [10.0]], "f4"), np.array([[0.5, 2.0]], "f4")
    >>> ops.moe_combine(rows, weights, order, place)
    array([[7.]], dtype=float32)
    """
    fits = len(rows.shape) == 2 and tuple(weights.shape) == tuple(place.shape)
    fits = fits and rows.shape[0] == order.shape[0]
    what = f"rows of pairs and weights (tokens, k), got {tuple(rows.shape)}, {tuple(weights.shape)}"
    _refuse_pairs("moe_combine", order, place, what, fits)
    return _COMBINE(rows, weights, order, place)


# --- the whole layer ---------------------------------------------------------------------------

GATES: dict[str, Any] = {"silu": swiglu, "gelu": geglu, "relu": reglu}


@float_operation
def _gated(rows: Any, activation: str) -> Any:
    gate, up = halves("moe", rows, -1)
    return GATES[activation](gate, up)


@float_operation
def moe(
    x: Any,
    weights: Any,
    experts: Any,
    gate_up: Any,
    down: Any,
    *,
    activation: Literal["silu", "gelu", "relu"] = "silu",
) -> Any:
    """Compute the weighted sum of what the experts of each token make of it.

    x is (tokens, depth), `weights` and `experts` are those of `moe_route`. Expert e computes
    (activation(x @ gate) * (x @ up)) @ down[e], where gate and up are the halves of gate_up[e]:
    `gate_up` is (experts, depth, 2 * width), `down` (experts, width, depth).

    >>> x, gate_up, down = np.ones((1, 1), "f4"), np.ones((2, 1, 2), "f4"), np.ones((2, 1, 1), "f4")
    >>> weights, experts = ops.moe_route(np.array([[0.0, 1.0]], "f4"), 1)
    >>> ops.moe(x, weights, experts, gate_up, down, activation="relu")
    array([[1.]], dtype=float32)
    """
    shapes = [tuple(each.shape) for each in (x, weights, experts, gate_up, down)]
    tokens, pairs, numbers, first, second = shapes
    fits = len(tokens) == 2 and pairs == numbers and pairs[:1] == tokens[:1] and len(pairs) == 2
    fits = fits and len(first) == 3 and first[1] == tokens[1] and not first[2] % 2
    if not fits or second != (first[0], first[2] // 2, first[1]):
        raise ValueError(
            "`moe` takes x (tokens, depth), weights and experts (tokens, k), gate_up (experts,"
            f" depth, 2 * width) and down (experts, width, depth); got the shapes {shapes}"
        )
    if activation not in GATES:
        raise ValueError(f"`moe` has the activations {', '.join(GATES)}; got {activation!r}")

    def computed(order: Any, place: Any, ends: Any) -> Any:
        rows = moe_dispatch(x, order, place)
        hidden = _gated(grouped_matmul(rows, gate_up, ends=ends), activation)
        return moe_combine(grouped_matmul(hidden, down, ends=ends), weights, order, place)

    return _then(moe_sort(experts, first[0]), computed)
