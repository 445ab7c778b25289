from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.numbers import fresh_rng
from tilewright import f32


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    """Add two tensors."""
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


def test_a_kernel_looks_like_its_function():
    assert add.__name__ == "add"
    assert add.__doc__ == "Add two tensors."
    assert add.__wrapped__.__name__ == "add"
    assert repr(add) == "<kernel `add`>"
    assert [p.name for p in add.source.parameters] == ["z", "x", "y"]
    assert tw.kernel is tw.entry


def test_indexing_by_a_grid(golden):
    with pytest.raises(TypeError) as caught:
        add[(1, 2)](1, 2, 3)
    golden(str(caught.value))


def test_kernels_pickle_by_reference(monkeypatch):
    module = type(pytest)("kernels_of_a_test")
    module.add = add
    monkeypatch.setitem(__import__("sys").modules, "kernels_of_a_test", module)
    monkeypatch.setattr(add, "__module__", "kernels_of_a_test")
    assert pickle.loads(pickle.dumps(add)) is add


def test_kernels_in_functions_see_local_names():
    width = 4

    @tw.entry
    def fill(z: tl.TensorMut[f32]) -> None:
        z.store(tl.full((width,), width, f32))

    with tw.device("reference"):
        z = fill(tw.empty((8,)).partition((width,))).out().to_numpy().sync()
    assert (z == 4).all()


def hinted(**hints):
    @tw.entry(**hints)
    def neg(z: tl.TensorMut, x: tl.Tensor) -> None:
        z.store(-tl.load_tile_like(x, z))

    return neg


def options_of(kernel, target, options=None):
    x = tw.meta((8, 8))
    return kernel.inspection((x.partition_mut((4, 4)), x), {}, target, options)._options.given


def test_hints_of_a_kernel_hold_where_a_launch_says_nothing():
    hopper = tw.CompileOptions(occupancy=2, num_worker_warps_per_cta=8)
    neg = hinted(hints={"sm_90": hopper, "default": tw.CompileOptions(allow_tma=False)})
    assert options_of(neg, "sm_90") == {**hopper.given, "allow_tma": False}
    assert options_of(neg, "sm_80") == {"allow_tma": False}
    asked = tw.CompileOptions(occupancy=4, allow_tma=True)
    assert options_of(neg, "sm_90", asked) == {**asked.given, "num_worker_warps_per_cta": 8}
    assert options_of(hinted(hints=hopper), "sm_80") == hopper.given
    assert options_of(hinted(hints=None), "sm_90") == {}


def test_the_host_ignores_hints():
    neg = hinted(hints=tw.CompileOptions(occupancy=2))
    x = np.arange(64, dtype="f4").reshape(8, 8)
    with tw.device("reference"):
        z = neg(tw.empty((8, 8)).partition((4, 4)), x).out().to_numpy().sync()
    assert (z == -x).all()
    assert options_of(neg, "reference") == options_of(neg, "cpu") == {}
    assert "requested" not in neg.explain()
    assert neg.explain_recompile() == "1. reference: first launch"


@pytest.mark.parametrize("hints", [2, {"sm_75": tw.CompileOptions()}, {"sm_90": 2}])
def test_wrong_hints_are_refused_where_the_kernel_is_defined(hints):
    with pytest.raises(tw.CompileError, match="`neg`") as caught:
        hinted(hints=hints)
    assert caught.value.expected and caught.value.got and caught.value.hint


def test_source_by_hand():
    names = tw.exec(
        "import tilewright as tw, tilewright.lang as tl\n"
        "@tw.entry\n"
        "def fill(z: tl.TensorMut) -> None:\n"
        "    z.store(tl.full(z.shape, 3, z.dtype))\n"
    )
    with tw.device("reference"):
        z = names["fill"](tw.empty((8,)).partition((4,))).out().to_numpy().sync()
    assert (z == 3).all()


GENERIC = """
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

type Row = tl.Tensor[f32, tl.Dyn]

def plus[T](a: T, b: T) -> T:
    return a + b

@tw.entry
def add[E, *S](z: tl.TensorMut[E, *S], x: tl.Tensor[E, *S], a: E) -> None:
    z.store(plus(tl.load_tile_like(x, z), tl.full(z.shape, a, E)))

@tw.entry
def width[N](z: tl.TensorMut[f32, N], x: Row) -> None:
    z.store(tl.load_tile_like(x, z) * N)

@tw.entry
def typed[E](z: tl.TensorMut[f32], a: E) -> None:
    z.store(tl.full(z.shape, a, E).astype(f32))

def make[M]():
    @tw.entry
    def inner[N](z: tl.TensorMut[f32, M, N]) -> None:
        z.store(tl.full(z.shape, M * 10 + N, f32))
    return inner
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_type_parameters():
    names = tw.exec(GENERIC)

    def run(name, z, *args, **generics):
        launch = names[name](z, *args)
        return (launch.generics(**generics) if generics else launch).out().to_numpy().sync()

    with tw.device("reference"):
        for dtype, shape in ((f32, (4,)), (tw.i32, (2, 4)), (tw.f16, (2, 2, 2))):
            x = np.arange(np.prod(shape)).reshape(shape).astype(dtype.np)
            z = tw.zeros(shape, dtype).partition(shape)
            assert np.array_equal(run("add", z, x, 3), x + 3)
        x = np.arange(4, dtype="f4")
        assert run("width", tw.zeros((4,)).partition((2,)), x).tolist() == [0, 2, 4, 6]
        assert run("typed", tw.zeros((2,)).partition((2,)), 300, E=tw.i32).tolist() == [300] * 2
        names["inner"] = names["make"]()
        assert run("inner", tw.zeros((2, 4)).partition((2, 4))).tolist() == [[24] * 4] * 2


def test_hello_world():
    a, b = fresh_rng().random((2, 100, 100), np.float32)
    with tw.device("reference"):
        z = tw.zeros((100, 100)).sync()
    add(z.partition_mut((64, 64)), a, b).sync()
    assert np.array_equal(z.to_numpy(), a + b)
