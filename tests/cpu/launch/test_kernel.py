"""What a kernel remembers between launches must never be told apart from finding it out again."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import only_called
from support.ir import Kernel
from support.lending import LENT, lent
from support.store import swap_code
from tilewright import f32, i32
from tilewright.backend.cpu.stages import compile_func
from tilewright.backend.llvm.object import host_target
from tilewright.base.config import override
from tilewright.compile import history
from tilewright.compile.store import current_store
from tilewright.launch import kernel as kernels
from tilewright.launch.code import Program
from tilewright.tensors.putting import read_now

FACTOR = 2
WARM = 3


@pytest.fixture(autouse=True)
def device(tilewright_device):
    return tilewright_device


def scaling():
    @tw.entry
    def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(tl.load_tile_like(x, z) * float(FACTOR))

    return scale


@tw.entry
def axpy(z: tl.TensorMut[f32], x: tl.Tensor[f32], a: f32, n: i32, *, b: float = 0.0) -> None:
    assert n >= 0, "n counts"
    z.store(tl.load_tile_like(x, z) * a + b)


@tw.entry
def rows(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    assert z.shape[1] >= x.shape[1], "a block needs whole rows"
    z.store(tl.load_tile_like(x, z))


@tw.entry
def blocks(z: tl.TensorMut[i32]) -> None:
    z.store(tl.broadcast_scalar(tl.num_blocks(0) * 10 + tl.num_blocks(1), z.shape))


@tw.entry
def far(z: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
    z.store(x.load_tile(z.shape, (tl.block_id(0) + n,)))


def poisoned(*shape, dtype=f32):
    return tw.full(shape, 99, dtype).sync()


def ones(*shape):
    return np.ones(shape, "f4")


# What a kernel captured


def test_a_changed_global_is_noticed(monkeypatch):
    scale, z, x = scaling(), poisoned(5), tw.ones(5).sync()
    p = z.partition_mut(4)
    for factor in (2, 2, 7, 7, 2):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        scale(p, x).sync()
        assert (read_now(p.unpartition().region) == factor).all()
    history = scale.explain_recompile().splitlines()
    assert len(history) == 3
    assert all("`FACTOR`" in line for line in history[1:])


def test_a_list_whose_items_change_is_noticed():
    weights = [1.0]

    @tw.entry
    def weigh(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        z.store(tl.load_tile_like(x, z) * weights[0])

    z, x = poisoned(5), tw.ones(5).sync()
    for weight in (2.0, 7.0):
        weights[0] = weight
        for _ in range(3):  # by the core, too
            weigh(z.partition_mut(4), x).sync()
        assert (z.to_numpy() == weight).all()
    assert len(weigh.explain_recompile().splitlines()) == 2


def test_a_global_that_means_the_same_is_not_a_change(monkeypatch):
    scale, x = scaling(), ones(5)
    for factor in (1000, int("1000"), 1000):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        scale(poisoned(5).partition(4), x).sync()
    assert len(scale.explain_recompile().splitlines()) == 1


def test_every_form_notices_a_changed_global(monkeypatch):
    scale = scaling()
    for factor in (2, 3):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for n in (3, 5, 6, 3):  # rows of 16 bytes would be compiled for, on a GPU
            z = scale(poisoned(n).partition(4), ones(n)).out().to_numpy().sync()
            assert (z == factor).all()
    assert len(scale.explain_recompile().splitlines()) == 2


def test_a_name_that_a_kernel_captured_is_deleted(monkeypatch):
    scale = scaling()
    scale(poisoned(4).partition(4), ones(4)).sync()
    monkeypatch.delitem(globals(), "FACTOR")
    with pytest.raises(tw.CompileError, match="FACTOR"):
        scale(poisoned(4).partition(4), ones(4)).sync()


# What follows from shapes


def test_a_changed_shape_evaluates_the_launch_checks_again():
    for _ in range(WARM):
        rows(poisoned(4, 4).partition((2, 4)), ones(4, 4)).sync()
    for _ in range(2):
        with pytest.raises(tw.LaunchError, match="a block needs whole rows"):
            rows(poisoned(4, 5).partition((2, 4)), ones(4, 5)).sync()
        rows(poisoned(4, 4).partition((2, 4)), ones(4, 4)).sync()


def test_a_changed_shape_or_tile_has_its_own_grid():
    cases = [
        ((4, 6), (2, 2), 23), ((4, 6), (4, 2), 13), ((2, 6), (2, 2), 13), ((5, 6), (2, 2), 33),
        ((1, 1), (2, 2), 11),
    ]  # fmt: skip
    for _ in range(WARM):
        for shape, tile, expected in cases:
            z = blocks(poisoned(*shape, dtype=i32).partition(tile)).out().to_numpy().sync()
            assert (z == expected).all()


def test_an_empty_grid_between_full_ones(rng):
    for n in (5, 0, 5, 0):
        x = rng.random(n, np.float32)
        z = scaling()(poisoned(n).partition(4), x).out().to_numpy().sync()
        np.testing.assert_array_equal(z, 2 * x)


def test_strides_and_addresses_differ_between_launches(rng):
    scale, base = scaling(), rng.random((8, 10), np.float32)
    for _ in range(WARM):
        for x in (base[:, :5], base[:, 5:], base[::2, ::-1][:, :5], base.T[:8, :5].copy()):
            z = scale(poisoned(*x.shape).partition((4, 4)), x).out().to_numpy().sync()
            np.testing.assert_array_equal(z, 2 * x)


def test_element_types_differ_between_launches():
    @tw.entry
    def copy(z: tl.TensorMut, x: tl.Tensor) -> None:
        z.store(tl.load_tile_like(x, z))

    for _ in range(WARM):
        for dtype in (tw.f32, tw.f16, tw.i32):
            x = np.arange(5).astype(dtype.np)
            z = copy(tw.zeros(5, dtype).partition(4), x).out().to_numpy().sync()
            assert z.dtype == dtype.np
            assert (z == x).all()


def test_more_shapes_than_are_remembered(device, rng):
    scale = scaling()
    for n in [*range(1, kernels.FORMS + 40), 1, 2, 3]:
        x = rng.random(n, np.float32)
        z = scale(poisoned(n).partition(64), x).out().to_numpy().sync()
        np.testing.assert_array_equal(z, 2 * x)
    # GPUs have code for rows of 16 bytes, and code for others.
    kinds = 2 if device.name.startswith("cuda") else 1
    assert len(scale.explain_recompile().splitlines()) == kinds


# Numbers, constants and requests


def test_numbers_are_checked_and_passed_each_time():
    z, x = poisoned(5), tw.ones(5).sync()
    for a, n, b in [(2.0, 0, 0.0), (0.1, 5, 1.0), (np.float16(3), np.int64(2), -0.5), (-1, 1, 2)]:
        axpy(z.partition_mut(4), x, a, n, b=b).sync()
        assert (z.to_numpy() == np.float32(a) + np.float32(b)).all()
    for _ in range(2):
        with pytest.raises(tw.LaunchError, match="n counts"):
            axpy(z.partition_mut(4), x, 2.0, -1).sync()
        with pytest.raises(tw.ShapeError, match="out of range"):
            axpy(z.partition_mut(4), x, 1e39, 1)
        with pytest.raises(tw.ShapeError, match="a scalar of type i32"):
            axpy(z.partition_mut(4), x, 1.0, 1.0)
        axpy(z.partition_mut(4), x, 4.0, 3).sync()
        assert (z.to_numpy() == 4).all()


def test_equal_constants_of_different_kinds():
    @tw.entry
    def fill(z: tl.TensorMut[f32], *, K: tl.Const[object]) -> None:
        z.store(tl.full(z.shape, K, f32))

    for _ in range(WARM):
        for constant in (0.0, -0.0, 1.0, 1):
            z = fill(poisoned(3).partition(4), K=constant).out().to_numpy().sync()
            assert str(z[0]) == str(float(constant))
    assert len(fill.explain_recompile().splitlines()) == 4


def test_requests_differ_between_launches():
    for _ in range(WARM):
        blocks(poisoned(4, 4, dtype=i32).partition((2, 2))).const_grid((2, 2)).sync()
        blocks(poisoned(4, 4, dtype=i32).partition((2, 2))).compile_options(occupancy=2).sync()
        with pytest.raises(tw.LaunchError, match="does not match"):
            blocks(poisoned(4, 4, dtype=i32).partition((2, 2))).grid((2, 3)).sync()
        blocks(poisoned(4, 4, dtype=i32).partition((2, 2))).sync()


# Ownership


def test_borrows_are_checked_on_every_launch():
    scale, z, x = scaling(), poisoned(4), tw.ones(4).sync()
    p = z.partition_mut(4)
    for _ in range(WARM):
        scale(p, x).sync()
    op = scale(p, x)
    z.to_numpy()
    with pytest.raises(tw.BorrowError, match="its exclusive borrow of"):
        op.sync()
    with pytest.raises(tw.BorrowError, match="its exclusive borrow of"):
        scale(p, x)
    view = lent(z)
    with pytest.raises(tw.BorrowError, match=LENT):
        scale(z.partition_mut(4), x).sync()
    del view
    with pytest.raises(tw.BorrowError, match="would write and read one tensor"):
        scale(z.partition_mut(4), z)
    kept = tw.move(x)
    with pytest.raises(tw.BorrowError, match="this tensor was moved"):
        scale(z.partition_mut(4), x)
    scale(z.partition_mut(4), kept).sync()


def test_a_form_does_not_stand_for_memory():
    """Descriptions and unwritten tensors have the layouts of tensors that can be read."""
    scale, z = scaling(), poisoned(4)
    scale(z.partition_mut(4), tw.ones(4).sync()).sync()
    with pytest.raises(tw.BorrowError, match="without memory"):
        scale(z.partition_mut(4), tw.meta(4)).sync()
    with pytest.raises(tw.BorrowError, match="nothing has written"):
        scale(z.partition_mut(4), tw.empty(4).sync()).sync()
    with pytest.raises(tw.BorrowError, match="without memory"):
        scale(tw.meta(4).partition(4), ones(4)).sync()


def test_a_form_does_not_stand_for_a_device(device):
    other = "reference" if device.name == "cpu" else "cpu"
    scale, x = scaling(), tw.ones(4).sync()
    scale(poisoned(4).partition(4), x).sync()
    with pytest.raises(tw.LaunchError, match="live on different devices"):
        scale(tw.zeros(4, device=other).sync().partition(4), x)
    scale(tw.zeros(4, device=other).partition(4), ones(4)).sync()
    assert [line.split()[1] for line in scale.explain_recompile().splitlines()] == [
        f"{device.target}:", f"{other}:",
    ]  # fmt: skip


def test_nothing_of_a_launch_is_kept():
    scale = scaling()
    x, t, z = ones(4), tw.ones(4).sync(), poisoned(4)
    scale(z.partition_mut(4), x).sync()
    scale(z.partition_mut(4), t).sync()
    gone = [weakref.ref(thing) for thing in (x, t, t.region.storage, z, z.region.storage)]
    del x, t, z
    gc.collect()
    assert [ref() for ref in gone] == [None] * len(gone)


# Failures and threads


def test_a_failure_leaves_nothing_behind(rng):
    x, z = rng.random(8, np.float32), poisoned(4)
    for n in (0, 1, 7, 0, -1, 1):
        p = z.partition_mut(4)
        if 0 <= n <= 1:
            far(p, x, n).sync()
            np.testing.assert_array_equal(z.to_numpy(), x[4 * n : 4 * n + 4])
        else:
            with pytest.raises(tw.LaunchError, match="index out of range"):
                far(p, x, n).sync()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_interrupted_launch_leaves_nothing_behind(error, monkeypatch):
    scale, z = scaling(), poisoned(4)
    scale(z.partition_mut(4), ones(4)).sync()
    stream = type(z.device.streams()[0])

    def refuse(self, work, *args, **how):
        raise error("now")

    with only_called(), monkeypatch.context() as patched:
        patched.setattr(stream, "run" if hasattr(stream, "run") else "launch", refuse)
        with pytest.raises(error, match="now"):
            scale(z.partition((4,)), 3 * ones(4)).sync()
    scale(z.partition_mut(4), 5 * ones(4)).sync()
    assert (z.to_numpy() == 10).all()


def test_prints_come_once_each_time(capsys):
    @tw.entry
    def talk(x: tl.Tensor[f32], n: i32) -> None:
        if n > 0:
            print(n)

    for n in (1, 0, 2, 2, 0):
        talk(ones(3), n).grid((1,)).sync()
    assert capsys.readouterr().out == "1\n2\n2\n"


def test_many_threads_launch_one_kernel():
    """Each with its own memory and numbers, in forms that they share."""
    sizes, wrong, done = (5, 64, 200), [], []
    x = {n: tw.ones(n).sync() for n in sizes}
    outputs = [{n: poisoned(n) for n in sizes} for _ in range(4)]

    def launch(number, z):
        for i in range(60):
            n, a = sizes[i % 3], float(number * 1000 + i)
            axpy(z[n].partition_mut(16), x[n], a, i, b=0.5).sync()
            found = z[n].to_numpy()
            if not (found == a + 0.5).all():
                wrong.append((number, i, found))
        done.append(number)

    threads = [threading.Thread(target=launch, args=(i, z)) for i, z in enumerate(outputs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sorted(done) == [0, 1, 2, 3]


def test_code_from_the_disk_that_the_loader_refuses_is_compiled_again(tmp_path, rng):
    other = compile_func(Kernel("other").finish(), host_target()).code
    x = rng.random(100, dtype=np.float32)

    def compiled_again():
        """Launch the kernel as another process would; why it was compiled a second time."""
        z, scale = tw.empty((100,)).sync(), scaling()
        scale(z.partition_mut((32,)), tw.from_numpy(x).sync()).sync()
        assert np.array_equal(z.to_numpy(), x * FACTOR)
        return [each.reason for each in history(scale.source)][1:]

    with override(cache_dir=str(tmp_path / "cache")), tw.device("cpu"):
        assert compiled_again() == []
        assert swap_code(current_store(), lambda code: other) == 1
        (reason,) = compiled_again()
        assert reason.startswith("cpu rejected the code: native code cannot be loaded")
        assert compiled_again() == [], "what is on disk has been replaced"


def test_code_of_constants_that_are_not_used_any_more_is_let_go(monkeypatch):
    """What is in flight keeps its own; and what is asked for again is there again."""
    for module, name in (("launch.kernel", "PROGRAMS"), ("launch.form", "CODES"),
                         ("compile.cache", "ENTRIES")):  # fmt: skip
        monkeypatch.setattr(f"tilewright.{module}.{name}", 3)

    @tw.entry
    def shift(z: tl.TensorMut[i32], *, BY: tl.Const[int]) -> None:
        z.store(z.load() + BY)

    z, total = tw.zeros((64,), i32).sync(), 0
    for by in (*range(12), 0, 5, 0):
        shift(z.partition_mut((16,)), BY=by).start()
        total += by
    np.testing.assert_array_equal(z.to_numpy(), np.full(64, total))
    gc.collect()
    kept = [each for each in gc.get_objects() if type(each) is Program]
    assert 0 < sum(each.compiled.artifact.name == "shift" for each in kept) <= 8


def test_of_code_that_is_loaded_the_latest_used_stays(monkeypatch):
    monkeypatch.setattr("tilewright.launch.kernel.PROGRAMS", 3)
    monkeypatch.setattr("tilewright.launch.form.CODES", 1)

    @tw.entry
    def shift(z: tl.TensorMut[i32], *, BY: tl.Const[int]) -> None:
        z.store(z.load() + BY)

    load, loaded = kernels.Kernel._loaded, []

    def note(self, signature, *rest):
        loaded.append(dict(signature.constants)["BY"])
        return load(self, signature, *rest)

    monkeypatch.setattr(kernels.Kernel, "_loaded", note)
    z = tw.zeros((64,), i32).sync()
    for by in (0, 1, 2, 0, 3, 0, 1):
        shift(z.partition_mut((16,)), BY=by).sync()
    assert loaded == [0, 1, 2, 3, 1]
    assert len(shift.kernel._programs) == 3
