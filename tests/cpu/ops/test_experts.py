"""Mixtures of experts against their definition in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from support import tiers
from support.numbers import fresh_rng
from support.op_checks import close, numbers, results_of, torch
from tilewright import ops

LAYERS = {  # tokens, experts, k, depth, width
    "one": (1, 1, 1, 1, 1),
    "few": (5, 4, 2, 6, 3),
    "no tokens": (0, 4, 2, 6, 3),
    "odd": (300, 5, 5, 40, 8),
    "many experts": (70, 130, 6, 9, 4),
    "long rows": (20, 3, 2, 300, 260),
}
CHOSEN = tiers.count(quick=["few", "no tokens"], full=LAYERS)


def routed(logits, k, normalize):
    weights, experts = logits.softmax(-1).topk(k, -1)
    return weights / weights.sum(-1, keepdim=True) if normalize else weights, experts


def defined(x, weights, experts, gate_up, down):
    y = torch.zeros_like(x)
    for j in range(experts.shape[1]):
        of_tokens = experts[:, j]
        gate, up = torch.einsum("td,tdf->tf", x, gate_up[of_tokens]).chunk(2, -1)
        hidden = torch.nn.functional.silu(gate) * up
        y = y + weights[:, j : j + 1] * torch.einsum("tf,tfd->td", hidden, down[of_tokens])
    return y


def inputs_of(case):
    tokens, experts, _, depth, width = LAYERS[case]
    return numbers(
        (tokens, depth), (tokens, experts), (experts, depth, 2 * width), (experts, width, depth)
    )


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("case", CHOSEN)
@pytest.mark.thinned(1)
def test_layers(case, normalize):
    k = LAYERS[case][2]

    def layer(x, logits, gate_up, down):
        weights, experts = ops.moe_route(logits, k, normalize=normalize)
        return ops.moe(x, weights, experts, gate_up, down)

    inputs = [x.requires_grad_() for x in inputs_of(case)]
    x, logits, gate_up, down = inputs
    found, expected = layer(*inputs), defined(x, *routed(logits, k, normalize), gate_up, down)
    close(found, expected)
    if x.numel():
        grad = torch.linspace(0.5, 1.5, x.numel(), dtype=torch.float64).reshape(x.shape)
        pairs = [torch.autograd.grad(y, inputs, grad) for y in (found, expected)]
        for a, b in zip(*pairs, strict=True):
            close(a, b)


@pytest.mark.parametrize("case", CHOSEN)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.thinned(1)
def test_types(case, dtype):
    kind = getattr(torch, dtype)
    x, logits, gate_up, down = inputs_of(case)
    logits = logits.to(kind)
    weights, experts = ops.moe_route(logits, LAYERS[case][2])
    assert weights.dtype == kind
    given = [each.to(kind) for each in (x, weights, gate_up * 0.3, down * 0.3)]
    expected = defined(given[0].double(), given[1].double(), experts,
                       given[2].double(), given[3].double())  # fmt: skip
    found = ops.moe(given[0], given[1], experts, *given[2:])
    assert found.dtype == kind
    close(found, expected, dtype, scale=20)


def test_arrays_and_tensors():
    x, logits, gate_up, down = (each.numpy() for each in inputs_of("few"))
    weights, experts = routed(torch.tensor(logits), 2, True)
    expected = defined(
        *map(torch.tensor, (x,)), weights, experts, *map(torch.tensor, (gate_up, down))
    )
    for found, numbers_ in results_of(lambda x: ops.moe_route(x, 2), logits):
        np.testing.assert_allclose(found, weights)
        np.testing.assert_array_equal(numbers_, experts)
    inputs = (x, weights.numpy(), experts.numpy(), gate_up, down)
    for (found,) in results_of(ops.moe, *inputs):
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("tokens", "k", "experts"), [(0, 2, 3), (1, 1, 1), (700, 3, 5), (40, 2, 300)]
)
def test_order(tokens, k, experts):
    """Pairs are in the order of a stable sort, and every pair has a place."""
    numbers_ = fresh_rng().integers(0, experts, (tokens, k))
    for order, place, ends in results_of(lambda x: ops.moe_sort(x, experts), numbers_):
        flat = numbers_.ravel()
        np.testing.assert_array_equal(order, np.argsort(flat, kind="stable"))
        np.testing.assert_array_equal(place.ravel()[order], np.arange(len(flat)))
        np.testing.assert_array_equal(ends, np.bincount(flat, minlength=experts).cumsum())


def test_equal_logits():
    weights, experts = ops.moe_route(np.zeros((2, 5), "f4"), 3)
    np.testing.assert_array_equal(experts, [[0, 1, 2]] * 2)
    np.testing.assert_allclose(weights, np.full((2, 3), 1 / 3), rtol=1e-6)


def test_jax():
    jax = pytest.importorskip("jax")
    inputs = [x.float() for x in inputs_of("few")]

    def total(x, logits, gate_up, down):
        return ops.moe(x, *ops.moe_route(logits, 2), gate_up, down).sum()

    given = [jax.numpy.asarray(x.numpy()) for x in inputs]
    found = jax.jit(jax.grad(total, (0, 1, 2, 3)))(*given)
    x, logits, gate_up, down = [x.requires_grad_() for x in inputs]
    y = defined(x, *routed(logits, 2, True), gate_up, down)
    for a, b in zip(found, torch.autograd.grad(y.sum(), inputs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_what_is_refused():
    x = np.ones((4, 3), "f4")
    with pytest.raises(ValueError, match=r"the shape \(4, 3\) and k = 4"):
        ops.moe_route(x, 4)
    with pytest.raises(ValueError, match=r"the shape \(3,\) and 2"):
        ops.moe_sort(np.zeros(3, "i4"), 2)
    with pytest.raises(ValueError, match="down \\(experts, width, depth\\)"):
        ops.moe(x, x[:, :1], np.zeros((4, 1), "i8"), np.ones((2, 3, 4), "f4"), x)
    order, place, _ = ops.moe_sort(np.zeros((4, 1), "i8"), 2)
    with pytest.raises(ValueError, match=r"got \(3, 3\)"):
        ops.moe_dispatch(x[:3], order, place)
    with pytest.raises(ValueError, match=r"got \(4, 3\), \(4, 2\)"):
        ops.moe_combine(x, x[:, :2], order, place)
