from __future__ import annotations

from typing import Literal, TypeVarTuple

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import f32

S = TypeVarTuple("S")


@tw.entry
def neg(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    z.store(-tl.load_tile_like(x, z))


@tw.entry
def at_least(z: tl.TensorMut, x: tl.Tensor[f32, tl.Dyn, *S, tl.Dyn]) -> None:
    z.store(tl.full(z.shape, 1, z.dtype))


@tw.entry
def gemm(z: tl.TensorMut, x: tl.Tensor, *, BK: tl.Const[int], scale: float = 1.0) -> None:
    z.store(tl.load_tile_like(x, z))


@tw.entry
def nameless(z: tl.TensorMut, x: tl.Tensor, /, factor: f32) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


@tw.entry(unsafe=True)
def poke(p: tl.Ptr[f32]) -> None:
    pass


class Objects:
    """One of each thing a user may pass."""

    def __init__(self):
        self.z = tw.zeros((4, 4)).sync()
        self.p = self.z.partition_mut((2, 2))
        self.x = np.ones((4, 4), np.float32)
        self.t = tw.ones((4, 4)).sync()


@pytest.fixture
def o():
    return Objects()


WRONG = {
    "too-few": lambda o: neg(o.p),
    "too-many": lambda o: neg(o.p, o.x, o.x),
    "twice": lambda o: neg(o.p, o.x, x=o.x),
    "first-twice": lambda o: neg(o.p, z=o.p),
    "too-few-by-keyword": lambda o: neg(x=o.x),
    "none-but-constants": lambda o: gemm(BK=4),
    "constant-missing-by-keyword": lambda o: gemm(z=o.p, x=o.x),
    "nameless": lambda o: nameless(o.p, x=o.x),
    "nameless-and-named": lambda o: nameless(factor=2.0, z=o.p, x=o.x),
    "unknown-and-placed": lambda o: neg(o.p, x=o.x, y=o.x),
    "misspelt": lambda o: neg(z=o.p, y=o.x),
    "unknown-keyword": lambda o: neg(o.p, o.x, BM=4),
    "other-keyword": lambda o: gemm(o.p, o.x, BK=4, BN=4),
    "missing-constant": lambda o: gemm(o.p, o.x),
    "plain-tensor": lambda o: neg(o.z, o.x),
    "array-output": lambda o: neg(o.x, o.x),
    "arc-output": lambda o: neg(tw.Arc(o.t), o.x),
    "borrow-output": lambda o: neg(o.z.borrow_mut(), o.x),
    "list-output": lambda o: neg([1], o.x),
    "list-input": lambda o: neg(o.p, [[1.0]]),
    "number-input": lambda o: neg(o.p, np.float32(1)),
    "partition-input": lambda o: neg(o.p, o.t.partition_mut((2, 2))),
    "rank": lambda o: neg(o.p, o.x[0]),
    "output-dtype": lambda o: neg(tw.zeros((4, 4), tw.f16).sync().partition((2, 2)), o.x),
    "array-dtype": lambda o: neg(o.p, o.x.astype("f8")),
    "tensor-dtype": lambda o: neg(o.p, tw.ones((4, 4), tw.i32).sync()),
    "foreign-dtype": lambda o: neg(o.p, o.x.astype(complex)),
    "pack-rank": lambda o: at_least(o.p, o.x[0]),
    "pointer": lambda o: poke(o.t),
    "pointer-dtype": lambda o: poke(tw.ones((2,), tw.i32).sync().device_pointer()),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name, o, golden, places):
    with pytest.raises((TypeError, tw.Error)) as caught, tw.unsafe():
        WRONG[name](o)
    golden(places(caught.value), name)


@pytest.mark.parametrize("given", [32, np.int64(32), np.int32(32), np.uint8(32)])
def test_constants_of_numpy_are_numbers_of_python(given, o):
    (pair,) = gemm.kernel.request((o.p, o.x), {"BK": given}).constants
    assert pair == ("BK", 32)
    assert type(pair[1]) is int


@pytest.mark.parametrize("given", [32.0, "32", None, (32,), np.float64(32)])
def test_constants_of_another_type_are_refused(given, o):
    with pytest.raises(tw.LaunchError, match="the constant `BK` of `gemm` has the wrong type"):
        gemm(o.p, o.x, BK=given)


@pytest.mark.parametrize(
    "call",
    [
        lambda p, x: nameless(p, x, 3.0),
        lambda p, x: nameless(p, x, factor=3.0),
        lambda p, x: gemm(p, x, BK=4),
        lambda p, x: gemm(p, x=x, BK=4),
        lambda p, x: gemm(BK=4, x=x, scale=2.0, z=p),
    ],
)
def test_arguments_go_by_position_or_by_keyword(call, o):
    p, x = o.p, tw.from_numpy(fresh_rng().random((4, 4), np.float32)).sync()
    given = call(p, x).sync()
    assert given[0] is p and given[1] is x, "in the order of the parameters"
    np.testing.assert_array_equal(o.z.to_numpy(), x.to_numpy() * (3 if len(given) == 3 else 1))


def test_a_refused_call_by_keyword_takes_nothing(o):
    with pytest.raises(TypeError):
        neg(z=o.z.partition((2, 2)))
    o.z.to_numpy()
    neg(x=o.x, z=o.z.partition((2, 2))).sync()


def test_ops_go_by_keyword(o):
    z = tw.empty((4, 4)).then(lambda z: tw.value(z.partition((2, 2))))
    np.testing.assert_array_equal(neg(x=tw.from_numpy(o.x), z=z).out().sync().to_numpy(), -o.x)


def test_a_refused_call_takes_nothing(o):
    with pytest.raises(tw.ShapeError):
        neg(o.z.partition((2, 2)), o.x[0])
    o.z.to_numpy()
    neg(o.z.partition((2, 2)), o.x).sync()


def test_what_is_accepted_as_input(o):
    class Lender:
        def __init__(self, a):
            self.a = a

        def __dlpack__(self, **options):
            return self.a.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.a.__dlpack_device__()

    with tw.device("reference"):
        out = tw.zeros((4, 4)).sync()
    same = np.broadcast_to(o.x[0], (4, 4))
    for x in (o.x, o.x[::2, ::-1].repeat(2, 0), o.x.T, Lender(o.x), same):
        assert neg(out.partition_mut((2, 2)), x).sync()[1] is x
        assert (out.to_numpy() == -1).all()
    with tw.device("reference"):
        here = tw.ones((4, 4)).sync()
    arc = tw.Arc(tw.ones((4, 4), device="reference").sync())
    for x in (here, here[::-1], here.reshape((4, 4)), arc):
        assert neg(out.partition_mut((2, 2)), x).sync()[1] is x


def test_fixed_and_packed_dims_by_rank(o):
    at_least(o.p, np.ones((2, 3, 4), np.float32)).close()
    at_least(o.p, o.x).close()

    @tw.entry
    def fixed(z: tl.TensorMut[f32, Literal[2], tl.Dyn]) -> None:
        z.store(tl.zeros(z.shape, f32))

    fixed(o.p).close()


def test_defaults_of_keywords(o):
    with tw.device("reference"):
        z = tw.zeros((4, 4)).sync()
    assert len(gemm(z.partition_mut((2, 2)), o.x, BK=8).sync()) == 2
    gemm(z.partition_mut((2, 2)), o.x, BK=8, scale=2).sync()


class Unlent:
    """An array whose library has reasons not to lend it."""

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **wishes):
        raise BufferError("it needs gradients; detach it")


def test_an_array_that_is_not_lent_is_named(o):
    message = r"`x` of `neg` cannot be read(.|\n)*Unlent, which says: it needs gradients; detach it"
    with pytest.raises(tw.LaunchError, match=message):
        neg(o.p, Unlent())
