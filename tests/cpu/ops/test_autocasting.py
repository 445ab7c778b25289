"""Operations under `torch.autocast`: the types of results are PyTorch's."""

from __future__ import annotations

import pytest

from support.op_checks import torch
from tilewright import ops
from tilewright.ops import torch as functional

F = torch.nn.functional
LABELS = torch.tensor([1, 0, 3])


def numbers(*shape, dtype=torch.float32):
    return torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape).to(dtype)


CALLS = {
    "linear": lambda m, x: m.linear(x(3, 4), numbers(5, 4), numbers(5)),
    "softmax": lambda m, x: m.softmax(x(3, 4), -1),
    "log_softmax": lambda m, x: m.log_softmax(x(3, 4), -1),
    "layer_norm": lambda m, x: m.layer_norm(x(3, 4), (4,), numbers(4), numbers(4)),
    "rms_norm": lambda m, x: m.rms_norm(x(3, 4), (4,)),
    "group_norm": lambda m, x: m.group_norm(x(3, 4), 2),
    "cross_entropy": lambda m, x: m.cross_entropy(x(3, 4), LABELS),
    "gelu": lambda m, x: m.gelu(x(3, 4)),
    "softplus": lambda m, x: m.softplus(x(3, 4)),
    "scaled_dot_product_attention": lambda m, x: m.scaled_dot_product_attention(
        x(1, 2, 3, 4), numbers(1, 2, 3, 4), numbers(1, 2, 3, 4)
    ),
    "conv1d": lambda m, x: m.conv1d(x(1, 2, 8), numbers(3, 2, 3), numbers(3)),
    "conv2d": lambda m, x: m.conv2d(x(1, 2, 8, 8), numbers(3, 2, 3, 3)),
    "embedding": lambda m, x: m.embedding(LABELS, x(4, 3)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("given", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_types_are_those_of_pytorch(name, given, kind):
    def make(*shape):
        return numbers(*shape, dtype=given)

    with torch.autocast("cpu", dtype=kind):
        found, wanted = (CALLS[name](module, make) for module in (functional, F))
    assert found.dtype is wanted.dtype
    torch.testing.assert_close(found.float(), wanted.float(), rtol=2e-2, atol=2e-2)


def test_f64_and_other_libraries_stay_as_they_are():
    x = numbers(3, 4, dtype=torch.float64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops.matmul(x, x.T).dtype is torch.float64
        assert ops.matmul(x.numpy(), x.T.numpy()).dtype == "f8"


def test_gradients_and_graphs():
    layer, x = torch.nn.Linear(4, 5), numbers(3, 4)

    def total(x):
        return functional.gelu(functional.linear(x, layer.weight, layer.bias)).float().sum()

    compiled = torch.compile(total, fullgraph=True, backend="aot_eager")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, again = total(x), compiled(x)
    torch.testing.assert_close(again, found)
    for loss in (found, again):
        layer.weight.grad = None
        loss.backward()
        assert layer.weight.grad.dtype is torch.float32
