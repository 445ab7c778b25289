"""Functions with `backward`, in PyTorch and JAX."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import f64


@tw.entry
def product(z: tl.TensorMut, x: tl.Tensor, factor: f64, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) * tl.load_tile_like(y, z) * factor.astype(z.dtype))


multiply = tw.function(product, outputs="x", tiles=(2, 4))


def product_gradients(grad, x, factor, y):
    return multiply(grad, factor, y), multiply(grad, factor, x)


times = tw.function(product, outputs="x", tiles=(2, 4), backward=product_gradients)


@tw.entry
def sum_and_square(s: tl.TensorMut, q: tl.TensorMut, x: tl.Tensor) -> None:
    t = tl.load_tile_like(x, s)
    s.store(t + t)
    q.store(t * t)


@tw.entry
def of_both(dx: tl.TensorMut, ds: tl.Tensor, dq: tl.Tensor, s: tl.Tensor) -> None:
    dx.store(2.0 * tl.load_tile_like(ds, dx) + tl.load_tile_like(dq, dx) * tl.load_tile_like(s, dx))


back = tw.function(of_both, outputs="s", tiles=(2, 4))
both = tw.function(
    sum_and_square, outputs="x", tiles=(2, 4), backward=lambda ds, dq, s: back(ds, dq, s)
)


def numbers(shape):
    return fresh_rng().standard_normal(shape)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (0, 2)])
def test_torch(shape):
    torch = pytest.importorskip("torch")
    x, y = (torch.tensor(numbers(shape), requires_grad=True) for _ in range(2))
    z = times(x, 2.5, y)
    assert type(z) is torch.Tensor and z.requires_grad
    torch.testing.assert_close(z, 2.5 * x * y)
    if z.numel():
        assert torch.autograd.gradcheck(lambda x, y: times(x, 2.5, y), (x, y))
        assert torch.autograd.gradcheck(both, (x,))
    assert not times(x.detach(), 2.5, y.detach()).requires_grad
    torch.testing.assert_close(times(x, 2.5, y.detach().numpy()), 2.5 * x * y)


def test_torch_compile_and_modules():
    torch = pytest.importorskip("torch")
    x, y = (torch.tensor(numbers((3, 5)), requires_grad=True) for _ in range(2))
    compiled = torch.compile(
        lambda x, y: times(x, 2.0, y).sum(), fullgraph=True, backend="aot_eager"
    )
    (found,) = torch.autograd.grad(compiled(x, y), x)
    torch.testing.assert_close(found, 2 * y.detach())
    weight = torch.nn.Parameter(torch.tensor(numbers((3, 5))))
    torch.testing.assert_close(times(x, 1.0, weight), x * weight)


def test_tensors_that_want_gradients_are_inputs_of_kernels():
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.ones(2, 4, dtype=torch.float64))
    z = tw.zeros((2, 4), f64).sync()
    product(z.partition_mut((2, 4)), weight, 3.0, weight).sync()
    assert (z.to_numpy() == 3.0).all()
    with pytest.raises(tw.BorrowError, match="read-only"):
        product(tw.asarray(weight).partition_mut((2, 4)), z, 1.0, z).sync()


@pytest.mark.parametrize("jitted", [False, True])
def test_jax(jitted):
    jax = pytest.importorskip("jax")
    x, y = (jax.numpy.asarray(numbers((3, 5)), "float32") for _ in range(2))

    def total(x, y):
        s, q = both(times(x, 2.5, y))
        return s.sum() + (q * y).sum()

    def expected(x, y):
        z = 2.5 * x * y
        return (2 * z).sum() + (z * z * y).sum()

    found = jax.grad(total, argnums=(0, 1))
    found = jax.jit(found) if jitted else found
    for a, b in zip(found(x, y), jax.grad(expected, argnums=(0, 1))(x, y), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_the_parameters_of_backward_are_checked():
    for wrong, message in [
        (lambda grad, w: None, "what it needs of `z`, `x`, `factor`, `y` by name, got `w`"),
        (lambda: None, "takes the gradients of `z` .* got 0 parameters"),
    ]:
        with pytest.raises(TypeError, match=message):
            tw.function(product, outputs="x", tiles=(2, 4), backward=wrong)


def test_a_gradient_for_each_input():
    torch = pytest.importorskip("torch")
    wrong = tw.function(product, outputs="x", tiles=(2, 4), backward=lambda grad, x: x)
    x = torch.ones(2, 4, dtype=torch.float64, requires_grad=True)
    with pytest.raises(TypeError, match="returns a gradient or None for each of `x`, `y`, got 1"):
        wrong(x, 1.0, x).sum().backward()
