"""Operations inside of `torch.compile`: whole graphs, with gradients, also of unknown extents."""

from __future__ import annotations

import pytest

from support.op_checks import numbers, torch
from tilewright import ops
from tilewright.ops import torch as functional  # after PyTorch: without it, skipped

CLASSES = torch.tensor([1, 0, 3, 7])
PROGRAMS = {
    "gelu": (lambda x: ops.gelu(2 * x) + 1, ((4, 8),)),
    "norm": (lambda x, w, r: ops.rms_norm(x, 8, w, residual=r)[0], ((4, 8), (8,), (4, 8))),
    "linear": (lambda x, w: ops.linear(x, w, activation="gelu"), ((4, 8), (8, 8))),
    "attention": (
        lambda x: ops.scaled_dot_product_attention(x, x, x, is_causal=True), ((2, 4, 8),)
    ),
    "loss": (lambda x: ops.cross_entropy(x, CLASSES), ((4, 8),)),
    "sums": (lambda x: ops.sum(x, 0) + ops.cumsum(x), ((4, 8),)),
    "largest": (lambda x: ops.topk(x, 3)[0], ((4, 8),)),
    "functional": (
        lambda x: functional.softmax(functional.silu(functional.layer_norm(x, (8,))), -1),
        ((4, 8),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.thinned(4)
def test_whole_graphs(name, dynamic):
    program, shapes = PROGRAMS[name]
    torch.compiler.reset()
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    inputs = [x.float().requires_grad_() for x in numbers(*shapes)]
    found, expected = compiled(*inputs), program(*inputs)
    torch.testing.assert_close(found, expected)
    for a, b in zip(
        *(torch.autograd.grad(y.sum(), inputs) for y in (found, expected)), strict=True
    ):
        torch.testing.assert_close(a, b)
