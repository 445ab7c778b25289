"""Functions of kernels with tuples, any number of arrays, and optional parameters."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from support.strict_arrays import Named
from tilewright import f32, f64


@tw.entry
def weighted(
    z: tl.TensorMut, w: tl.Tensor | None, factor: f64 | None = None, *xs: tl.Tensor
) -> None:
    acc = tl.zeros(z.shape, z.dtype)
    for i, x in enumerate(xs):
        acc = acc + tl.load_tile_like(x, z) * (i + 1)
    if w is not None:
        acc = acc * tl.load_tile_like(w, z)
    z.store(acc if factor is None else acc * factor.astype(z.dtype))


@tw.entry
def combined(
    z: tl.TensorMut, xs: tuple[tl.Tensor, ...], pair: tuple[tl.Tensor, tl.Tensor],
    b: tl.Tensor | None = None,
) -> None:  # fmt: skip
    acc = tl.load_tile_like(pair[0], z) - tl.load_tile_like(pair[1], z)
    for x in xs:
        acc = acc * 2 + tl.load_tile_like(x, z)
    z.store(acc if b is None else acc + tl.load_tile_like(b, z))


@tw.entry
def scaled_outputs(x: tl.Tensor, first: tl.TensorMut | None, *zs: tl.TensorMut) -> None:
    if first is not None:
        first.store(-tl.load_tile_like(x, first))
    for k, z in enumerate(zs):
        z.store(tl.load_tile_like(x, z) * (k + 1))


mix = tw.function(weighted, outputs=lambda w, factor, xs: xs[0], tiles=16)
join = tw.function(combined, outputs=lambda xs, pair, b: pair[0].shape, tiles=16)


def numbers(count, n=21, dtype="f8"):
    return list(fresh_rng().standard_normal((count, n)).astype(dtype))


def of_numpy(x):
    return x


def as_numpy(x):
    return np.asarray(x.array if isinstance(x, Named) else x)


def of_torch(x):
    return pytest.importorskip("torch").tensor(x)


def of_jax(x):
    return pytest.importorskip("jax").numpy.asarray(x)


LIBRARIES = [of_numpy, of_torch, of_jax, Named]


@pytest.mark.parametrize("make", LIBRARIES)
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("has_weight", [False, True])
@pytest.mark.parametrize("factor", [None, 0.5])
def test_any_number_of_arrays(make, count, has_weight, factor):
    *xs, w = numbers(count + 1, dtype="f4")
    total = sum((i + 1) * x for i, x in enumerate(xs))
    expected = total * (w if has_weight else 1) * (factor or 1)
    for _ in range(2):
        got = mix(make(w) if has_weight else None, factor, *map(make, xs))
        assert type(got) is type(make(w))
        np.testing.assert_allclose(as_numpy(got), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make", LIBRARIES)
@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_tuples_of_arrays(make, kind, count):
    a, b, *xs = numbers(2 + count, dtype="f4")
    expected = a - b
    for x in xs:
        expected = expected * 2 + x
    for _ in range(2):
        got = join(kind(map(make, xs)), kind(map(make, (a, b))))
        assert type(got) is type(make(a))
        np.testing.assert_allclose(as_numpy(got), expected, rtol=1e-5, atol=1e-5)
        got = join(kind(map(make, xs)), b=make(a), pair=(make(a), make(b)))
        np.testing.assert_allclose(as_numpy(got), expected + a, rtol=1e-5, atol=1e-5)


def test_tensors_and_ops_in_any_place():
    a, b, x = numbers(3)
    op = join([tw.asarray(x)], (tw.from_numpy(a), tw.asarray(b)))
    assert isinstance(op, tw.DeviceOp)
    np.testing.assert_allclose(op.sync().to_numpy(), (a - b) * 2 + x)
    chained = mix(None, 2.0, mix(None, None, tw.from_numpy(a)), tw.from_numpy(b))
    np.testing.assert_allclose(chained.sync().to_numpy(), 2 * (a + 2 * b))


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("has_first", [False, True])
def test_outputs_that_are_given(count, has_first):
    write = tw.function(scaled_outputs, tiles=8)
    x, first, *zs = np.zeros((count + 2, 21))
    x[:] = np.arange(21)
    if not count and not has_first:
        return
    got = write(x, first if has_first else None, *zs)
    written = [*([first] if has_first else []), *zs]
    found = got if len(written) > 1 else (got,)
    assert len(found) == len(written)
    assert all(each is want for each, want in zip(found, written, strict=True))
    for k, z in enumerate(zs):
        np.testing.assert_array_equal(z, x * (k + 1))
    np.testing.assert_array_equal(first, -x if has_first else 0 * x)
    tensors = [tw.zeros((21,), f64).sync() for _ in written]
    given = tensors if has_first else [None, *tensors]
    write(tw.asarray(x), *given).sync()
    np.testing.assert_array_equal([t.to_numpy() for t in tensors], written)


def test_tiles_by_name_for_outputs_of_one_name():
    write = tw.function(scaled_outputs, tiles={"first": 4, "zs": 4})
    x, y, z = np.ones((3, 9))
    write(x, y, z)
    assert (y == -1).all() and (z == 1).all()


def gradients(dz, w, factor, xs):
    plain = tw.function(weighted, outputs=lambda w, factor, xs: xs[0], tiles=16)
    by_x = [plain(w, factor, dz) * (i + 1) for i in range(len(xs))]
    by_w = None if w is None else mix(dz, factor, *xs)
    return by_w, tuple(by_x)


differentiable = tw.function(
    weighted, outputs=lambda w, factor, xs: xs[0], tiles=16, backward=gradients
)  # fmt: skip


@pytest.mark.parametrize("has_weight", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_gradients_in_torch(has_weight, count):
    torch = pytest.importorskip("torch")
    w, *xs = (torch.tensor(x, requires_grad=True) for x in numbers(1 + count, 5))
    given = [w, *xs] if has_weight else xs

    def call(*args):
        return differentiable(*(args[:1] if has_weight else (None,)), 0.5, *args[has_weight:])

    assert torch.autograd.gradcheck(call, given)
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    found = torch.autograd.grad(compiled(*given).sum(), given)
    expected = torch.autograd.grad(call(*given).sum(), given)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("jitted", [False, True])
def test_gradients_in_jax(jitted):
    jax = pytest.importorskip("jax")
    w, *xs = map(jax.numpy.asarray, numbers(3, 5, "f4"))

    def total(w, xs):
        return differentiable(w, 0.5, *xs).sum()

    found = jax.grad(total, argnums=(0, 1))
    by_w, (first, second) = (jax.jit(found) if jitted else found)(w, xs)
    np.testing.assert_allclose(by_w, 0.5 * (xs[0] + 2 * xs[1]), rtol=1e-5)
    np.testing.assert_allclose(first, 0.5 * w, rtol=1e-5)
    np.testing.assert_allclose(second, w, rtol=1e-5)


@tw.entry
def added(z: tl.TensorMut, *xs: tl.Tensor) -> None:
    acc = tl.zeros(z.shape, z.dtype)
    for x in xs:
        acc = acc + tl.load_tile_like(x, z)
    z.store(acc)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", [tuple, list])
def test_one_tuple_of_gradients(count, kind):
    torch = pytest.importorskip("torch")
    add = tw.function(
        added, outputs=lambda *given: given[0].shape, tiles=4,
        backward=lambda dz, xs: kind(dz * 2 for _ in xs),
    )  # fmt: skip
    xs = [torch.ones(5, requires_grad=True) for _ in range(count)]
    found = torch.autograd.grad(add(*xs).sum(), xs)
    assert len(found) == count and all((each == 2).all() for each in found)
    none = tw.function(added, outputs=lambda xs: xs[0], tiles=4, backward=lambda dz: None)
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        torch.autograd.grad(none(*xs).sum(), xs)


def test_a_tuple_of_gradients_has_the_length_of_the_arguments():
    torch = pytest.importorskip("torch")
    wrong = tw.function(added, outputs=lambda xs: xs[0], tiles=4, backward=lambda dz: (dz,) * 3)
    xs = [torch.ones(5, requires_grad=True) for _ in range(2)]
    with pytest.raises(TypeError, match="for `xs`, a tuple of 2 gradients or None, got 3"):
        wrong(*xs).sum().backward()


@tw.entry
def counted(counts: tl.Accumulator[tw.i32], *xs: tl.Tensor) -> None:
    for x in xs:
        counts.add(1, x.load_tile(8, tl.block_id(0), padding=-1), clip=True)


def test_a_grid_sees_further_arguments():
    count = tw.function(
        counted, outputs=lambda xs: ((4,), tw.i32), grid=lambda *xs: tw.cdiv(xs[0].shape[0], 8)
    )
    x = np.arange(12, dtype="i4") % 4
    assert count(x, x).tolist() == [6, 6, 6, 6]


def test_tuned_kernels():
    tune = tw.autotune(tw.search(tile=[4, 8]))
    tuned = tw.function(added, outputs=lambda xs: xs[0], tune=tune)
    x, y = numbers(2)
    np.testing.assert_allclose(tuned(x, y), x + y)
    np.testing.assert_allclose(tuned(x, y, y), x + 2 * y)


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((), {}, "`weighted` takes `w`, `factor`, `\\*xs`, got 0 arguments"),
        ((None, 1.0, [1.0]), {}, "`xs_0` of `weighted` must be an array .* got list"),
        ((None,), {"xs": ()}, "`weighted` takes .* got 1 arguments and `xs`"),
        (([1.0], 1.0, np.ones(3)), {}, "`w` of `weighted` must be an array .* got list"),
    ],
)
def test_wrong_calls(args, named, message):
    with pytest.raises(TypeError, match=message):
        mix(*args, **named)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((np.ones(3), (np.ones(3),) * 2), "`xs` takes a tuple of tensors, got ndarray"),
        (([], (np.ones(3),)), "`pair` takes a tuple of 2 tensors, got 1"),
        (([2.0], (np.ones(3),) * 2), "`xs_0` of `combined` must be an array .* got float"),
        (([], (np.ones(3),) * 2, None, 1), "takes `xs`, `pair`, `b`, got 4 arguments"),
    ],
)
def test_wrong_tuples(args, message):
    with pytest.raises(TypeError, match=message):
        join(*args)


def test_what_is_refused():
    with pytest.raises(TypeError, match="cannot make its outputs: `zs` stands for any number"):
        tw.function(scaled_outputs, outputs="x", tiles=4)
    with pytest.raises(TypeError, match="which of none it is like, or how it is made; got 'xs'"):
        tw.function(added, outputs="xs", tiles=4)
    like = tw.function(weighted, outputs="w", tiles=16)
    x = np.ones(3)
    np.testing.assert_array_equal(like(x, None, x), x)
    with pytest.raises(TypeError, match="makes an output like `w`, which is None in this call"):
        like(None, None, x)


def test_one_compilation_for_each_structure():
    @tw.entry
    def once(z: tl.TensorMut[f32], *xs: tl.Tensor[f32]) -> None:
        acc = tl.zeros(z.shape, f32)
        for x in xs:
            acc = acc + tl.load_tile_like(x, z)
        z.store(acc)

    add = tw.function(once, outputs=lambda xs: xs[0], tiles=4)
    x = np.ones(5, "f4")
    for _ in range(3):
        add(x), add(x, x)
    assert len(once.explain_recompile().splitlines()) == 2


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_operators_have_one_signature(library):
    pytest.importorskip(library)
    import importlib

    module = importlib.import_module(f"tilewright.interop.{library}")
    name = ("tests::added",) if library == "torch" else ()
    with pytest.raises(TypeError, match="cannot be one operator: `xs` may be None or several"):
        module.custom_op(*name, added, outputs=lambda xs: xs[0], tiles=4)
