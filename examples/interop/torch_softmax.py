"""A fused softmax as an operator of PyTorch, forward and backward, also under `torch.compile`."""

from __future__ import annotations

from typing import Any

import torch

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32
from tilewright.interop.torch import custom_op


@tw.entry
def softmax_forward(y: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    """A block has whole rows; padding with -inf keeps the rest of its tile out of them."""
    assert y.shape[1] >= x.shape[1]
    tile = tl.load_tile_like(x, y, padding=tl.neg_inf)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    y.store(p / tl.reduce_sum(p, 1, keepdims=True))


@tw.entry
def softmax_backward(
    dx: tl.TensorMut[f32], y: tl.Tensor[f32, tl.Dyn, tl.Dyn], dy: tl.Tensor[f32, tl.Dyn, tl.Dyn]
) -> None:
    """From the result and its gradient; what the softmax was of is not needed."""
    assert dx.shape[1] >= y.shape[1]
    p, d = tl.load_tile_like(y, dx), tl.load_tile_like(dy, dx)
    dx.store(p * (d - tl.reduce_sum(p * d, 1, keepdims=True)))


def whole_rows(shape: tuple[int, ...]) -> tuple[int, int]:
    """Four rows to a block, in tiles as wide as they are, rounded up to a power of two."""
    return 4, 1 << (shape[1] - 1).bit_length()


softmax = custom_op("tilewright_examples::softmax", softmax_forward, tiles=whole_rows, outputs="x")
gradient = custom_op(
    "tilewright_examples::softmax_backward", softmax_backward, tiles=whole_rows, outputs="y"
)


def keep_result(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """What the backward pass needs."""
    ctx.save_for_backward(output)


def backward(ctx: Any, dy: Any) -> Any:
    """The gradient of x from that of the result."""
    (y,) = ctx.saved_tensors
    return gradient(y, dy)


softmax.register_autograd(backward, setup_context=keep_result)


def main(device: str = "cpu") -> None:
    """Compare values and gradients with PyTorch's own, eager and compiled."""
    x = torch.randn(37, 1000, requires_grad=True, device=device)
    weight = torch.randn(37, 1000, device=device)
    ours, theirs = softmax(x), torch.softmax(x, 1)
    torch.testing.assert_close(ours, theirs)
    (found,) = torch.autograd.grad((ours * weight).sum(), x)
    (expected,) = torch.autograd.grad((theirs * weight).sum(), x)
    torch.testing.assert_close(found, expected)
    compiled: Any = torch.compile(lambda x: softmax(2 * x), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), torch.softmax(2 * x, 1))
    torch.library.opcheck(softmax.definition, (x,))
    print("torch_softmax: values and gradients of 37 rows of 1000 agree with PyTorch")


if __name__ == "__main__":
    main()
