"""Root-mean-square normalisation as an operator of PyTorch: two inputs have gradients."""

from __future__ import annotations

from typing import Any

import torch

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32
from tilewright.interop.torch import custom_op

ROWS = 8
"""Rows to a block."""


@tw.entry
def rms_forward(
    y: tl.TensorMut[f32],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    weight: tl.Tensor[f32, tl.Dyn],
    eps: f32,
) -> None:
    """A block has whole rows; zero padding is neutral for sums of squares."""
    assert y.shape[1] >= x.shape[1]
    _, width = y.shape
    tile, scale = tl.load_tile_like(x, y), weight.load_tile((width,), [0])[None, :]
    mean = tl.reduce_sum(tile * tile, 1, keepdims=True) / float(x.shape[1])
    y.store(tile * tl.rsqrt(mean + eps) * scale)


@tw.entry
def rms_backward(
    dx: tl.TensorMut[f32],
    dw: tl.TensorMut[f32],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    weight: tl.Tensor[f32, tl.Dyn],
    dy: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    eps: f32,
) -> None:
    """The gradient of x; and of the weight as far as it comes from a block's own rows."""
    assert dx.shape[1] >= x.shape[1]
    _, width = dx.shape
    n = float(x.shape[1])
    tile, d = tl.load_tile_like(x, dx), tl.load_tile_like(dy, dx)
    scaled = d * weight.load_tile((width,), [0])[None, :]
    r = tl.rsqrt(tl.reduce_sum(tile * tile, 1, keepdims=True) / n + eps)
    along = tl.reduce_sum(scaled * tile, 1, keepdims=True) / n
    dx.store(r * (scaled - tile * (r * r * along)))
    dw.store(tl.reduce_sum(d * tile * r, 0, keepdims=True))


def width_of(shape: tuple[int, ...]) -> int:
    """A tile that holds a whole row."""
    return 1 << (shape[1] - 1).bit_length()


def one_row_per_block(x: Any, weight: Any, dy: Any, eps: float) -> Any:
    """Memory for the parts of the weight's gradient."""
    return x.new_empty((-(-x.shape[0] // ROWS), x.shape[1]))


rms_norm = custom_op(
    "tilewright_examples::rms_norm",
    rms_forward,
    tiles=lambda shape: (ROWS, width_of(shape)),
    outputs="x",
)
gradients = custom_op(
    "tilewright_examples::rms_norm_backward",
    rms_backward,
    tiles={
        "dx": lambda shape: (ROWS, width_of(shape)),
        "dw": lambda shape: (1, width_of(shape)),
    },
    outputs={"dx": "x", "dw": one_row_per_block},
)


def keep_inputs(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    """What the backward pass needs."""
    x, weight, ctx.eps = inputs
    ctx.save_for_backward(x, weight)


def backward(ctx: Any, dy: Any) -> tuple[Any, Any, None]:
    """The gradients of x and of the weight; eps has none."""
    x, weight = ctx.saved_tensors
    dx, parts = gradients(x, weight, dy, ctx.eps)
    return dx, parts.sum(0), None


rms_norm.register_autograd(backward, setup_context=keep_inputs)


def main(device: str = "cpu") -> None:
    """Compare values and gradients with PyTorch's own, eager and compiled."""
    x, weight = (
        torch.randn(50, 300, requires_grad=True, device=device),
        torch.randn(300, requires_grad=True, device=device),
    )
    dy = torch.randn(50, 300, device=device)
    ours = rms_norm(x, weight, 1e-6)
    theirs = torch.nn.functional.rms_norm(x, (300,), weight, 1e-6)
    torch.testing.assert_close(ours, theirs)
    found = torch.autograd.grad((ours * dy).sum(), (x, weight))
    expected = torch.autograd.grad((theirs * dy).sum(), (x, weight))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    compiled: Any = torch.compile(rms_norm, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, weight, 1e-6), theirs)
    torch.library.opcheck(rms_norm.definition, (x, weight, 1e-6))
    print("torch_rms_norm: values and gradients of 50 rows of 300 agree with PyTorch")


if __name__ == "__main__":
    main()
