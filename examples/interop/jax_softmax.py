"""A fused softmax as a function of JAX arrays, with gradients, under `jax.jit`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32
from tilewright.interop.jax import custom_op


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


forward = custom_op(softmax_forward, tiles=whole_rows, outputs="x")
gradient = custom_op(softmax_backward, tiles=whole_rows, outputs="y")


def keep_result(x: Any) -> tuple[Any, Any]:
    """The result, and what the backward pass needs."""
    y = forward(x)
    return y, y


def backward(y: Any, dy: Any) -> tuple[Any]:
    """The gradient of x from that of the result."""
    return (gradient(y, dy),)


softmax: Any = jax.custom_vjp(forward)
softmax.defvjp(keep_result, backward)


def main() -> None:
    """Compare values and gradients with JAX's own, eager and compiled."""
    rng = np.random.default_rng()
    x, weight = (jnp.asarray(rng.standard_normal((37, 1000), dtype=np.float32)) for _ in range(2))
    expected = jax.nn.softmax(x, 1)
    for function in (softmax, jax.jit(softmax)):
        np.testing.assert_allclose(function(x), expected, rtol=1e-5, atol=1e-7)

    def ours(x: Any) -> Any:
        return (softmax(2 * x) * weight).sum()

    def theirs(x: Any) -> Any:
        return (jax.nn.softmax(2 * x, 1) * weight).sum()

    found = jax.jit(jax.grad(ours))(x)
    np.testing.assert_allclose(found, jax.grad(theirs)(x), rtol=1e-4, atol=1e-6)
    print("jax_softmax: values and gradients of 37 rows of 1000 agree with JAX")


if __name__ == "__main__":
    main()
