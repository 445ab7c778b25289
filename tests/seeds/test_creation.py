"""Functions that make tensors."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from seeds.kernels import numbers, put, same
from tilewright import f16, f32, f64, i32, u8, u32

pytestmark = pytest.mark.usefixtures("device")

CONSTRUCTORS = {
    "zeros": lambda: tw.zeros((3, 4)),
    "ones": lambda: tw.ones((3, 4)),
    "full": lambda: tw.full((3, 4), 2.5),
    "arange": lambda: tw.arange(12),
    "linspace": lambda: tw.linspace(0.0, 1.0, 12),
    "eye": lambda: tw.eye(4),
    "eye_rect": lambda: tw.eye_rect(3, 4),
    "rand": lambda: tw.rand((3, 4)),
    "randn": lambda: tw.randn((3, 4)),
    "randn_f16": lambda: tw.randn_f16((3, 4)),
    "convert": lambda: tw.convert(tw.ones((3, 4)), i32),
}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_b001_creation_functions_give_ops(name):
    """Every creation function gives a `DeviceOp`; the tensor is made when the op runs."""
    op = CONSTRUCTORS[name]()
    assert isinstance(op, tw.DeviceOp)
    assert isinstance(op.sync(), tw.Tensor)


def test_b002_zeros(rng):
    """`zeros` makes a tensor of a shape and element type that is all zeros."""
    for dtype in (f32, f64, i32, u8):
        shape = tuple(map(int, rng.integers(1, 40, 2)))
        found = tw.zeros(shape, dtype).sync()
        assert found.shape == shape and found.dtype is dtype
        same(found, np.zeros(shape))


def test_b003_ones(rng):
    """`ones` makes one that is all ones."""
    for dtype in (f32, f16, i32, u8):
        shape = tuple(map(int, rng.integers(1, 40, 2)))
        same(tw.ones(shape, dtype).sync(), np.ones(shape))


def test_b004_full_takes_the_shape_first(rng):
    """`full(value, shape)` makes a tensor filled with one value.

    Differs: order-of-arguments
    """
    value = float(np.float32(rng.standard_normal()))
    found = tw.full((5, 7), value, f32).sync()
    same(found, np.full((5, 7), value, "f4"))
    with pytest.raises(TypeError):
        tw.full(value, (5, 7))


def test_b005_fill_overwrites_a_tensor_and_gives_it(rng):
    """`fill` overwrites an existing tensor with one value and gives that tensor."""
    t = put(numbers(rng, 33))
    assert tw.fill(t, 3.5).sync() is t
    same(t, np.full(33, 3.5))


def test_b006_arange_counts_from_zero(rng):
    """`arange(n)` has the numbers from 0 to n - 1, along one axis."""
    n = int(rng.integers(1, 500))
    found = tw.arange(n).sync()
    assert found.dtype is i32
    same(found, np.arange(n))
    same(tw.arange(n, dtype=u32).sync(), np.arange(n))


def test_b007_linspace_has_both_ends(rng):
    """`linspace(start, stop, n)` has n numbers of f32, evenly spaced, the ends included."""
    start, stop = numbers(rng, 2).tolist()
    found = tw.linspace(start, stop, 17).sync()
    assert found.dtype is f32
    np.testing.assert_allclose(found.to_numpy(), np.linspace(start, stop, 17), rtol=1e-5, atol=1e-6)
    assert found.to_numpy()[0] == np.float32(start) and found.to_numpy()[-1] == np.float32(stop)


def test_b008_eye_is_an_identity_matrix(rng):
    """`eye(n)` is the identity of n rows, in f32."""
    n = int(rng.integers(1, 60))
    found = tw.eye(n).sync()
    assert found.dtype is f32
    same(found, np.eye(n))


def test_b009_eye_rect_has_ones_on_the_main_diagonal(rng):
    """`eye_rect(rows, columns)` has ones on its main diagonal."""
    rows, columns = map(int, rng.integers(1, 60, 2))
    same(tw.eye_rect(rows, columns).sync(), np.eye(rows, columns))


def test_b010_convert_changes_the_element_type(rng):
    """`convert` makes a tensor of another element type from a shared one."""
    data = numbers(rng, 4, 9) * 100
    for given in (tw.Arc(put(data)), put(data), tw.from_numpy(data)):
        found = tw.convert(given, i32).sync()
        assert found.dtype is i32
        same(found, data.astype("i4"))


def test_b011_rand_is_uniform_and_reproducible(rng):
    """`rand` gives numbers of [0, 1), evenly spread, the same ones for the same seed."""
    seed = int(rng.integers(1 << 40))
    first, again = (tw.rand((10_000,), seed=seed).sync().to_numpy() for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first >= 0).all() and (first < 1).all()
    assert abs(first.mean() - 0.5) < 0.02 and abs(first.std() - 12**-0.5) < 0.02


def test_b012_without_a_seed_numbers_are_new_each_time():
    """The seed of a random function may be left out."""
    first, other = (tw.rand((100,)).sync().to_numpy() for _ in range(2))
    assert not np.array_equal(first, other)


def test_b013_randn_takes_mean_and_std_by_keyword(rng):
    """`randn(mean, std, shape, seed)` gives normal numbers.

    Differs: order-of-arguments
    """
    found = tw.randn((20_000,), mean=3.0, std=2.0, seed=int(rng.integers(1 << 40))).sync()
    assert found.dtype is f32
    assert abs(found.to_numpy().mean() - 3) < 0.1 and abs(found.to_numpy().std() - 2) < 0.1
    with pytest.raises(TypeError):
        tw.randn(0.0, 1.0, (3,))


def test_b014_randn_f16_rounds_normal_numbers_of_f32(rng):
    """`randn_f16` gives normal numbers of f16, made of those of f32."""
    seed = int(rng.integers(1 << 40))
    found = tw.randn_f16((1000,), mean=1.0, std=0.5, seed=seed).sync()
    assert found.dtype is f16
    wide = tw.randn((1000,), mean=1.0, std=0.5, seed=seed).sync().to_numpy()
    np.testing.assert_allclose(found.to_numpy().astype("f4"), wide, atol=2e-3)


def test_b015_all_shapes_are_given_alike():
    """Most functions take shapes of any rank; of random tensors the rank is in the type.

    Differs: shapes-of-new-tensors
    """
    for shape in [(), (5,), (2, 3), (2, 3, 4), (2, 1, 3, 2)]:
        for function in (tw.zeros, tw.ones, tw.rand, tw.randn):
            assert function(shape).sync().shape == shape
            assert function(list(shape)).sync().shape == shape


def test_b016_the_rank_follows_from_the_shape():
    """The number of axes of a random tensor is that of the shape that was given."""
    assert tw.randn((3, 5, 7)).sync().ndim == 3
    assert tw.rand((6,), seed=42).sync().ndim == 1


def test_b017_random_numbers_have_two_types():
    """Uniform and normal numbers are made in f32 and f64."""
    for dtype in (f32, f64):
        assert tw.rand((4,), dtype).sync().dtype is dtype
        assert tw.randn((4,), dtype).sync().dtype is dtype
    with pytest.raises((TypeError, tw.ShapeError)):
        tw.rand((4,), i32)


def test_b018_the_sample_of_creation(device):
    """Creation ops run on a stream that is named."""
    stream = device.new_stream()
    assert tw.zeros((1024,)).sync_on(stream).to_numpy().sum() == 0
    assert tw.ones((256, 256)).sync_on(stream).to_numpy().sum() == 256 * 256
    assert tw.randn((32, 64, 128), mean=0.0, std=1.0).sync_on(stream).size == 32 * 64 * 128
    same(tw.arange(1024, dtype=i32).sync_on(stream), np.arange(1024))
    same(tw.eye(64).sync_on(stream), np.eye(64))


def test_b019_random_numbers_are_the_same_on_every_device():
    """Random numbers come from the library of the GPU.

    Differs: random-numbers
    """
    found = tw.rand((257,), seed=7).sync().to_numpy()
    with tw.device("reference"):
        np.testing.assert_array_equal(found, tw.rand((257,), seed=7).sync().to_numpy())
