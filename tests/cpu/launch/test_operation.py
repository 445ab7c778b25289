from __future__ import annotations

import sys
import threading
import warnings
from typing import TypeVar

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import called_launches
from tilewright import f32, i32
from tilewright.base import dtypes as dt
from tilewright.devices.cpu.memory import allocate
from tilewright.devices.cpu.record import STREAM
from tilewright.devices.cpu.run import Launcher
from tilewright.launch import native

DEVICES = ["cpu", "reference"]


@pytest.fixture(params=DEVICES)
def device(request):
    with tw.device(request.param) as chosen:
        yield chosen


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def far(z: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
    z.store(x.load_tile(z.shape, (tl.block_id(0) + n, 0)))


@tw.entry
def talking(x: tl.Tensor[f32], flag: bool) -> None:
    i = tl.block_id(0)
    tile = x.load_tile((2,), (i,))
    print("block", i, "of", tl.num_blocks(0), tile, tile > 1.0, flag)
    print(f"sum {tl.reduce_sum(tile, 0):.3f}|{i:4d}|")


def poisoned(shape, dtype=f32):
    """A tensor in which an element that was not written shows."""
    return tw.full(shape, 99, dtype).sync()


@pytest.mark.parametrize(
    "shape", [(1,), (15,), (16,), (17,), (0,), (7, 13), (64, 64), (3, 5, 2), (2, 3, 1, 9)]
)
def test_every_block_writes_its_tile(device, rng, shape):
    a, b = rng.random((2, *shape), np.float32)
    z = poisoned(shape)
    add(z.partition_mut((4,) * len(shape)), a, b).sync()
    np.testing.assert_array_equal(z.to_numpy(), a + b)


def test_strided_inputs_and_outputs(device, rng):
    base = rng.random((12, 20), np.float32)
    out = np.full((12, 20), 99, np.float32)
    z = tw.asarray(out[::2, ::-2])
    x, y = base[::-2, 1::2], base.T[:12:2, :10]
    add(z.partition_mut((4, 4)), x, y).sync()
    np.testing.assert_array_equal(out[::2, ::-2], x + y)
    assert (out[1::2] == 99).all()
    assert (out[::2, ::-2].base is not None) and (out[:, ::2][::2] == 99).all()


def test_transposed_and_broadcast_inputs(device, rng):
    x = rng.random((5, 7), np.float32)
    z = poisoned((7, 5))
    add(z.partition_mut((4, 4)), x.T, np.broadcast_to(x[:, :1].T, (7, 5))).sync()
    np.testing.assert_array_equal(z.to_numpy(), x.T + x[:, :1].T)


@pytest.mark.parametrize("dtype", [*dt.INTS, *dt.FLOATS], ids=repr)
def test_scalars_of_every_type(device, dtype):
    namespace = {"tw": tw, "tl": tl, "dtype": dtype}
    kernels = tw.exec(
        "@tw.entry\ndef fill(z: tl.TensorMut, s: dtype) -> None:\n"
        "    z.store(tl.broadcast_scalar(s, z.shape))\n",
        namespace,
    )
    low = dt.int_range(dtype)[0] if dtype.is_int else -1.5
    z = poisoned((5,), dtype)
    kernels["fill"](z.partition_mut((4,)), low).sync()
    assert (z.to_numpy() == np.asarray(low, dtype.np)).all()


def test_prints_are_the_same_everywhere(device, capsys):
    talking(np.arange(6, dtype="f4"), True).grid((3,)).sync()
    assert capsys.readouterr().out == (
        "block 0 of 3 [0. 1.] [False False] True\nsum 1.000|   0|\n"
        "block 1 of 3 [2. 3.] [ True  True] True\nsum 5.000|   1|\n"
        "block 2 of 3 [4. 5.] [ True  True] True\nsum 9.000|   2|\n"
    )


def test_too_many_prints_are_cut_with_a_warning(capsys):
    x = np.arange(80000, dtype="f4")
    with pytest.warns(RuntimeWarning, match="printed more than 1048576 bytes"):
        talking(x, False).grid((40000,)).sync()
    assert capsys.readouterr().out.startswith("block ")


def test_that_fails_no_launch_where_warnings_are_errors(capsys, monkeypatch):
    heard = []
    monkeypatch.setattr(sys, "unraisablehook", lambda given: heard.append(str(given.exc_value)))
    x = np.arange(80000, dtype="f4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        talking(x, False).grid((40000,)).sync()
    assert len(heard) == 1 and "printed more than" in heard[0]
    assert capsys.readouterr().out.startswith("block ")


@pytest.mark.parametrize(("n", "index", "block"), [(1, 2, (1, 0, 0)), (-1, -1, (0, 0, 0))])
def test_failed_checks(device, n, index, block):
    z = poisoned((4, 4))
    launch = far(z.partition_mut((2, 4)), np.ones((4, 4), "f4"), n)
    with pytest.raises(tw.LaunchError) as caught:
        launch.compile_options(checks="forced").sync()
    text = str(caught.value)
    assert "index out of range in `far`: axis 0 of `x`" in text
    assert f"got: {index}, in block {block}" in text
    with pytest.raises(tw.LaunchError, match=f"axis 0 of `x`(.|\n)*n = {n}"):
        far(z.partition_mut((2, 4)), np.ones((4, 4), "f4"), n).sync()
    far(z.partition_mut((2, 4)), np.ones((4, 4), "f4"), 0).sync()
    assert (z.to_numpy() == 1).all()


def test_indices_far_outside_are_harmless():
    z = poisoned((4, 4))
    for n in (2**31 - 1, -(2**31), 2**30):
        with pytest.raises(tw.LaunchError):
            far(z.partition_mut((2, 4)), np.ones((4, 4), "f4"), n).sync()


def test_pointers(device):
    @tw.entry(unsafe=True)
    def poke(p: tl.Ptr[f32], v: f32) -> None:
        tl.store_ptr_tko(p, v)

    t = tw.zeros((3,)).sync()
    with tw.unsafe():
        op = poke(t[1:].device_pointer(), 7.0).grid((1,))
    op.sync()
    assert t.to_numpy().tolist() == [0, 7, 0]


def test_compiled_once_from_many_threads(rng):
    @tw.entry
    def twice(z: tl.TensorMut, x: tl.Tensor) -> None:
        z.store(tl.load_tile_like(x, z) * 2)

    x = rng.random((33, 17), np.float32)
    outputs = [poisoned((33, 17)) for _ in range(8)]
    threads = [
        threading.Thread(target=lambda z=z: twice(z.partition_mut((8, 8)), x).sync())
        for z in outputs
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for z in outputs:
        np.testing.assert_array_equal(z.to_numpy(), x * 2)
    assert twice.explain_recompile() == f"1. {tw.default_device().target}: first launch"


def test_chains_on_the_cpu(rng):
    x = rng.random((20, 20), np.float32)
    op = add(tw.empty((20, 20)).partition((8, 8)), x, x).then(
        lambda p, x, y: add(tw.empty((20, 20)).partition((16, 4)), p.unpartition(), x)
    )
    np.testing.assert_array_equal(op.first().unpartition().to_numpy().sync(), x + x + x)


def test_large_outputs_are_streamed(rng, monkeypatch):
    """What is streamed is decided by the outputs, and does not show in the results."""
    seen = []

    def look(self):
        made = record(self)
        seen.append(bool(made.words[STREAM]))
        return made

    record = Launcher.new_record
    monkeypatch.setattr(Launcher, "new_record", look)
    rows = native.STREAMED // 4096
    for given, start in ((rows, 0), (rows + 1, 0), (rows + 1, 1)):
        x = rng.random((given, 1024), np.float32)
        memory = allocate(x.nbytes + 4).view(np.float32)
        memory[:] = 99
        z = tw.asarray(memory[start : start + x.size].reshape(x.shape))
        with tw.device("cpu"):
            add(z.partition_mut((8, 1024)), x, x).sync()
            assert "non-temporal stores to z" in add.explain(z.partition_mut((8, 1024)), x, x)
        assert np.array_equal(z.to_numpy(), x + x)
        assert memory[0 if start else -1] == 99
    assert seen == [False, True], "the last launch is like the one before"


@tw.entry
def add_one_more(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + 1.0)


def test_compile_loads_the_code_and_runs_nothing():
    z, x = tw.zeros((8,)).sync(), tw.ones((8,)).sync()
    launch = add_one_more(z.partition_mut((4,)), x)
    assert launch.is_lengthy()
    assert launch.compile() is launch
    assert not launch.is_lengthy()
    launch.close()
    assert not z.to_numpy().any()
    with pytest.raises(tw.LaunchError, match="before its argument ops have run"):
        add_one_more(tw.zeros((8,)).partition((4,)), x).compile()


N = TypeVar("N")
T = TypeVar("T")


@tw.entry
def shifted(z: tl.TensorMut[i32], x: tl.Tensor[i32], a: T) -> None:
    z.store(tl.load_tile_like(x, z) + tl.full(z.shape, N, i32) + i32(a))


def test_the_core_launches_what_sets_generics(monkeypatch):
    with tw.device("cpu"):
        z, x = tw.zeros((5,), i32).sync(), tw.from_numpy(np.arange(5, dtype=np.int32)).sync()

        def launch(n, kind, a):
            shifted(z.partition_mut(4), x, a).generics(N=n).generics(T=kind).sync()
            np.testing.assert_array_equal(z.to_numpy(), np.arange(5) + n + int(a))

        asked = [(7, i32, 2), (8, i32, 2), (7, f32, 2.5), (7, tw.i64, 1 << 20)]
        for each in asked:
            launch(*each)
        called = called_launches(monkeypatch)
        for n, kind, a in asked * 2:
            launch(n, kind, np.asarray(a + 1)[()])
        assert called == []
        with pytest.raises(tw.Error, match="`a`"):  # too large for its type now, not before
            launch(7, i32, 1 << 40)
        launch(7, tw.i64, 1 << 24)


@tw.entry
def summed(x: tl.Tensor, *, scale: tw.f32) -> None:
    print(tl.reduce_sum(x.partition((4,)).load((0,))) * scale)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_arrays_of_the_host_are_compiled_for_the_default_device(device, capfd):
    with tw.device(device):
        launch = summed(np.arange(4, dtype="f4"), scale=0.5).grid((1,))
        launch.compile().sync()
    assert capfd.readouterr().out == "3.0\n"


ELEMENT = TypeVar("ELEMENT")


@tw.entry
def filled_with(z: tl.TensorMut[f32], a: ELEMENT) -> None:
    z.store(tl.full(z.shape, a, ELEMENT).astype(f32))


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_generics_hold_where_argument_ops_run_first(device):
    with tw.device(device):
        for element, number in ((i32, 300), (f32, 0.5), (tw.i16, 7)):
            made = filled_with(tw.empty((2,)).partition((2,)), number).generics(ELEMENT=element)
            assert made.out().to_numpy().sync().tolist() == [number] * 2
