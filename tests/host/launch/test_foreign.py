from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import python_calls
from support.native_cuda import NativeCuda
from support.numbers import fresh_rng
from tilewright import f32, i32, simt, u32
from tilewright.devices.cuda.device import CudaDevice
from tilewright.interop import cuda

PTX = ".version 7.0\n.target sm_80\n"


def floats(address, n):
    return np.ctypeslib.as_array((ctypes.c_float * n).from_address(address))


def run_scale(values, grid):
    out, x, n, factor = values
    n &= 0xFFFFFFFF
    number = np.array([factor], np.int64).view(np.float32)[0]
    floats(out, n)[:] = floats(x, n) * number


@pytest.fixture
def load(fake_cuda, fake_gpu):
    """A kernel `scale(out, x, n, factor)` on the driver in Python."""
    fake_cuda.kernels["scale"], fake_cuda.parameters["scale"] = run_scale, (8, 8, 4, 4)
    return lambda: tw.load_module_from_ptx(PTX).load_function("scale")


@pytest.fixture
def scale(load):
    with tw.unsafe():

        @cuda.kernel(load(), block=128)
        def scale(
            out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32
        ) -> None: ...

    return scale


def some(device, shape=(300,)):
    return tw.from_numpy(fresh_rng().random(shape, np.float32), device=device).sync()


def launches(fake_cuda):
    return [entry for entry in fake_cuda.log if entry[0] == "launch" and entry[1] == "scale"]


@pytest.mark.parametrize("n", [1, 127, 128, 129, 1009])
def test_it_is_called_with_tensors(scale, fake_gpu, fake_cuda, n):
    x, z = some(fake_gpu, (n,)), tw.empty((n,), device=fake_gpu).sync()
    borrow = z.borrow_mut()
    assert scale(borrow, x, n, 2.0).sync() == (borrow, x, n, 2.0)
    np.testing.assert_array_equal(z.to_numpy(), 2 * x.to_numpy())
    assert launches(fake_cuda)[0][2] == (-(-n // 128), 1, 1)


def test_nothing_is_launched_over_nothing(scale, fake_gpu, fake_cuda):
    x, z = some(fake_gpu, (0,)), tw.empty((0,), device=fake_gpu).sync()
    scale(z.borrow_mut(), x, 0, 2.0).sync()
    assert not launches(fake_cuda)


def test_outputs_are_borrowed_moved_or_made_by_ops(scale, fake_gpu):
    x = some(fake_gpu, (20, 15))
    expected = 3 * x.to_numpy()
    z = tw.zeros((20, 15), device=fake_gpu).sync()
    found, *_ = scale(tw.move(z), x, 300, 3.0).sync()
    np.testing.assert_array_equal(found.to_numpy(), expected)
    with pytest.raises(tw.BorrowError, match="moved"):
        z.to_numpy()
    made = scale(tw.empty((20, 15), device=fake_gpu), x, 300, 3.0).out().sync()
    np.testing.assert_array_equal(made.to_numpy(), expected)


def test_arguments_go_by_keyword(scale, fake_gpu):
    x, z = some(fake_gpu), tw.empty((300,), device=fake_gpu)
    out = scale(z, n=300, factor=3.0, x=x).out().sync()
    np.testing.assert_array_equal(out.to_numpy(), 3 * x.to_numpy())
    with pytest.raises(TypeError, match="`scale` needs `out` too"):
        scale(n=300, factor=3.0, x=x)


def test_chains_order_it_with_everything_else(scale, fake_gpu):
    x, y = some(fake_gpu), tw.empty((300,), device=fake_gpu).sync()
    chain = scale(y.borrow_mut(), x, 300, 2.0).then(
        lambda *_: scale(tw.empty((300,), device=fake_gpu), y, 300, 2.0).out()
    )
    np.testing.assert_array_equal(chain.sync().to_numpy(), 4 * x.to_numpy())


def test_graphs_record_it(scale, fake_gpu, fake_cuda):
    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    graph = scale(z.borrow_mut(), x, 300, 2.0).graph()
    assert not z.to_numpy().any()
    for _ in range(3):
        graph.launch().sync()
    np.testing.assert_array_equal(z.to_numpy(), 2 * x.to_numpy())
    replays = [entry for entry in fake_cuda.log if entry[0] == "graph"] + launches(fake_cuda)
    assert len(replays) == 3, "a graph of one kernel is launched as that kernel where it can be"


def test_nodes_keep_their_arguments_and_take_others(scale, fake_gpu, fake_cuda):
    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    graph = scale(z.borrow_mut(), x, 300, 2.0).graph()
    kept, expected = weakref.ref(x.region.storage), 2 * x.to_numpy()
    del x
    gc.collect()
    graph.launch().sync()
    np.testing.assert_array_equal(z.to_numpy(), expected)
    other, y = tw.zeros((300,), device=fake_gpu).sync(), some(fake_gpu)
    graph.set_args(0, other.borrow_mut(), y, 300, 5.0)
    graph.launch().sync()
    np.testing.assert_array_equal(other.to_numpy(), 5 * y.to_numpy())
    np.testing.assert_array_equal(z.to_numpy(), expected)
    with pytest.raises(tw.LaunchError, match="arguments like those it was recorded with"):
        graph.set_args(0, some(fake_gpu, (30,)).borrow_mut(), y, 30, 5.0)
    del graph
    gc.collect()
    assert kept() is None


def test_a_node_runs_over_as_many_blocks_as_its_arguments_ask_for(load, fake_gpu, fake_cuda):
    with tw.unsafe():

        @cuda.kernel(load(), grid=lambda a: a["n"])
        def scale(
            out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32
        ) -> None: ...

    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    graph = scale(z.borrow_mut(), x, 7, 2.0).graph()
    graph.set_args(0, z.borrow_mut(), x, 9, 2.0)
    ((_, name, grid, _),) = [entry for _, _, entry in fake_cuda.graphs[graph._replay._executable]]
    assert (name, grid) == ("scale", (9, 1, 1))
    with pytest.raises(tw.LaunchError, match="keeps the code it was recorded with"):
        graph.set_args(0, z.borrow_mut(), x, 0, 2.0)


def test_launches_alike(scale, fake_gpu, fake_cuda):
    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    scale(z.borrow_mut(), x, 300, 2.0).sync()
    for n, factor in [(300, 3.0), (7, -1.0), (np.uint32(300), 4)]:
        poison = np.full(300, np.nan, np.float32)
        z.copy_from(poison).sync()
        borrow = z.borrow_mut()
        assert scale(borrow, x, n, factor).sync()[0] is borrow
        scale(borrow, x, n, factor).start()
        expected = np.where(np.arange(300) < n, x.to_numpy() * np.float32(factor), poison)
        np.testing.assert_array_equal(z.to_numpy(), expected)
    with pytest.raises(tw.ShapeError, match="`n` of `scale` is out of range"):
        scale(z.borrow_mut(), x, 1 << 32, 2.0)
    scale(z.borrow_mut()[:100], x, 100, 2.0).sync()  # of another layout, made ready now


def test_the_grid_is_asked_for_at_each_launch(load, fake_gpu, fake_cuda):
    asked = []

    def grid(given):
        asked.append((given["n"], given["x"].shape))
        return given["n"]

    with tw.unsafe():

        @cuda.kernel(load(), grid=grid)
        def scale(
            out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32
        ) -> None: ...

    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    for n in (3, 4, 4, 0, 3):
        scale(z.borrow_mut(), x, n, 2.0).sync()
    assert [entry[2][0] for entry in launches(fake_cuda)] == [3, 4, 4, 3]
    assert set(asked) == {(n, (300,)) for n in (0, 3, 4)}


def test_code_runs_where_it_is_loaded(scale, fake_gpus, fake_cuda):
    x, z = some(fake_gpus[1]), tw.zeros((300,), device=fake_gpus[1]).sync()
    for _ in range(2):
        with pytest.raises(tw.LaunchError, match="`scale` is loaded on another device"):
            scale(z.borrow_mut(), x, 300, 2.0).sync()
    assert not launches(fake_cuda)


def test_the_grid_may_follow_from_the_arguments(load, fake_gpu, fake_cuda):
    with tw.unsafe():

        @cuda.kernel(load(), grid=lambda a: (a["n"], a["out"].shape[0]), shared_mem_bytes=64)
        def scale(
            out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32
        ) -> None: ...

    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    scale(z.borrow_mut(), x, 7, 2.0).sync()
    scale(z.borrow_mut(), x, 7, 2.0).launch_config(grid=9, block=32).sync()
    assert [entry[2] for entry in launches(fake_cuda)] == [(7, 300, 1), (9, 1, 1)]


def test_it_is_wrapped_inside_unsafe(load):
    with pytest.raises(tw.LaunchError, match=r"wrap it inside `tw.unsafe\(\)`"):

        @cuda.kernel(load())
        def scale(out: simt.DisjointSlice[f32]) -> None: ...


def test_pointers_cannot_be_declared(load):
    with tw.unsafe(), pytest.raises(TypeError, match="`p` of `scale` is memory that is neither"):

        @cuda.kernel(load())
        def scale(out: simt.DisjointSlice[f32], p: tl.Ptr[f32]) -> None: ...


class Interface:
    """An array of another library, by CUDA's array interface."""

    def __init__(self, tensor, **changes):
        known = tensor.__cuda_array_interface__
        self.tensor, self.__cuda_array_interface__ = tensor, {**known, **changes}


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [
        ((8, 8, 8, 4), "`n` of `scale` is declared with another size than it has in `scale`"),
        ((8, 8, 4), "declared with other parameters than `scale` has"),
        ((4, 8, 4, 4), "got: an address, 8 bytes"),
    ],
)
def test_declarations_that_the_kernel_contradicts(load, fake_gpu, fake_cuda, sizes, problem):
    fake_cuda.kernels["scale"], fake_cuda.parameters["scale"] = run_scale, sizes
    function = tw.load_module_from_ptx(PTX).load_function("scale")
    with tw.unsafe():

        @cuda.kernel(function)
        def scale(
            out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32
        ) -> None: ...

    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    with pytest.raises(tw.LaunchError) as caught:
        scale(z.borrow_mut(), x, 300, 2.0).sync()
    assert problem in str(caught.value)
    assert not launches(fake_cuda)


def test_a_kernel_that_writes_nothing_needs_a_grid(fake_gpu, fake_cuda):
    fake_cuda.kernels["look"] = lambda values, grid: None
    function = tw.load_module_from_ptx(PTX).load_function("look")
    with tw.unsafe():

        @cuda.kernel(function)
        def look(x: simt.Slice[f32], n: i32) -> None: ...

    with pytest.raises(tw.LaunchError, match="the outputs of `look` do not define a grid"):
        look(some(fake_gpu), 3).sync()
    look(some(fake_gpu), 3).grid(2).sync()


def test_strided_tensors_where_they_are_declared(load, fake_gpu, fake_cuda):
    seen = []
    fake_cuda.kernels["scale"] = lambda values, grid: seen.append(values[1])
    with tw.unsafe():

        @cuda.kernel(load(), strided=("x",))
        def scale(
            out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32
        ) -> None: ...

    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    scale(z.borrow_mut(), x[1::2], 150, 2.0).sync()
    assert seen == [x.region.address + 4]


def test_a_failure_gives_everything_back(scale, fake_gpu, fake_cuda):
    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    fake_cuda.fail("launch", 1)
    with pytest.raises(tw.DriverError, match="rejected the launch of `scale`"):
        scale(tw.move(z), x, 300, 2.0).sync()
    assert not z.to_numpy().any(), "the tensor is back"


def test_what_is_given_beside_an_op_is_borrowed_at_once(scale, fake_gpu):
    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    lazy = tw.zeros((300,), device=fake_gpu)
    reading = scale(lazy, x, 300, 2.0)
    tw.memcpy(x, np.ones(300, "f4")).sync()
    with pytest.raises(tw.BorrowError, match="`scale` cannot run: its shared borrow"):
        reading.sync()
    writing = scale(z.borrow_mut(), tw.from_numpy(np.ones(300, "f4"), device=fake_gpu), 300, 2.0)
    z.to_numpy()
    with pytest.raises(tw.BorrowError, match="`scale` cannot run: its exclusive borrow"):
        writing.sync()


def test_spawned_launches_own_what_they_use(scale, fake_gpu):
    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    lazy = tw.zeros((300,), device=fake_gpu)
    for op in (scale(lazy, x, 300, 2.0), scale(z.borrow_mut(), tw.Arc(x), 300, 2.0)):
        with pytest.raises(tw.BorrowError, match="cannot be spawned: it borrows"):
            tw.spawn(op)
        del op
    tw.spawn(scale(tw.move(z), some(fake_gpu), 300, 2.0)).result()


def test_a_failure_behind_it_gives_everything_back(scale, fake_gpu):
    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    with pytest.raises(ZeroDivisionError):
        scale(tw.move(z), x, 300, 2.0).map(lambda *_: 1 // 0).sync()
    np.testing.assert_array_equal(z.to_numpy(), 2 * x.to_numpy())


def test_memory_is_kept_until_the_device_is_done(scale, fake_gpu, fake_cuda):
    stream = fake_gpu.new_stream()
    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    expected, kept = 2 * x.to_numpy(), weakref.ref(x.region.storage)
    fake_cuda.hold(stream)
    started = scale(z.borrow_mut(), x, 300, 2.0).start_on(stream)
    del x, started
    gc.collect()
    assert kept() is not None
    fake_cuda.release()
    np.testing.assert_array_equal(z.to_numpy(), expected)
    gc.collect()
    assert kept() is None


def test_generics_and_const_grids_are_not_for_it(scale, fake_gpu):
    x, z = some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    launch = scale(z.borrow_mut(), x, 300, 2.0)
    with pytest.raises(TypeError, match="has no generics"):
        launch.generics(N=3)
    with pytest.raises(TypeError, match=r"has no const_grid\(\)"):
        launch.const_grid(3)
    with pytest.raises(TypeError, match="was compiled elsewhere, and takes no options"):
        launch.compile_options(occupancy=2)
    assert repr(scale) == "ForeignEntry(scale(out, x, n, factor))"


def test_captures_of_other_libraries(scale, fake_gpu, fake_cuda):
    """What they record has our launch in it, and keeps no memory of theirs alive through us."""
    theirs, x, z = fake_gpu.new_stream(), some(fake_gpu), tw.zeros((300,), device=fake_gpu).sync()
    expected = 2 * x.to_numpy()
    fake_cuda.begin_capture(theirs.handle)
    captured = fake_gpu.captured_stream(theirs.handle)
    kept = scale(z.borrow_mut(), x, 300, 2.0).record_on(captured)
    graph = fake_cuda.instantiate(fake_cuda.end_capture(theirs.handle))
    assert kept is not None and not launches(fake_cuda)
    assert f"captured={theirs.handle:#x}" in repr(captured)
    fake_cuda.launch_graph(graph, theirs.handle)
    np.testing.assert_array_equal(z.to_numpy(), expected)
    memory = weakref.ref(x.region.storage)
    del x
    gc.collect()
    assert memory() is None


def test_what_waits_for_ops_cannot_be_recorded(scale, fake_gpu):
    launch = scale(tw.zeros((300,), device=fake_gpu), some(fake_gpu), 300, 2.0)
    with pytest.raises(tw.LaunchError, match="cannot be recorded before its argument ops"):
        launch.record_on(fake_gpu.captured_stream(fake_gpu.new_stream().handle))


def test_empty_arrays_share_nothing(scale, fake_gpu):
    """All of them may be at address 0."""
    x = tw.zeros((4,), device=fake_gpu).sync()
    z, empty = (Interface(x, shape=(0,), data=(0, False)) for _ in range(2))
    for _ in range(3):
        scale(tw.asarray(z).borrow_mut(), empty, 0, 2.0).sync()
    kept = tw.asarray(z)
    scale(kept.borrow_mut(), empty, 0, 2.0).sync()


@pytest.fixture
def native():
    """A device whose driver the core calls, by a table of functions."""
    fake = NativeCuda()
    fake.kernels["scale"], fake.parameters["scale"] = run_scale, (8, 8, 4, 4)
    with tw.device(CudaDevice(fake, 0)) as device:
        yield device


def declared(device, grid):
    function = tw.load_module_from_ptx(PTX, device).load_function("scale")
    with tw.unsafe():

        @cuda.kernel(function, block=128, grid=grid)
        def scale(
            out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32
        ) -> None: ...

    return scale


@pytest.mark.parametrize("end", ["start_on", "sync_on"])
def test_the_core_binds_and_submits_it(native, end):
    x, z, stream = some(native), tw.zeros((300,), device=native).sync(), native.new_stream()
    scale, borrow = declared(native, (3,)), z.borrow_mut()
    for factor in (2.0, 3.0, 2.0):
        scale(borrow, x, 300, factor).sync_on(stream)
    results = []
    entered = python_calls(
        lambda: results.append(getattr(scale(borrow, x, n=300, factor=4.0), end)(stream))
    )
    assert entered == []
    assert results == [(borrow, x, 300, 4.0)]
    stream.synchronize()
    np.testing.assert_array_equal(z.to_numpy(), 4 * x.to_numpy())


def test_a_grid_that_is_computed_is_asked_for_each_launch(native):
    x, z, stream = some(native), tw.zeros((300,), device=native).sync(), native.new_stream()
    scale, borrow = declared(native, lambda a: (-(-a["n"] // 128),)), z.borrow_mut()
    for n in (300, 100):
        scale(borrow, x, n, 2.0).sync_on(stream)
    entered = python_calls(lambda: scale(borrow, x, 300, 3.0).sync_on(stream))
    assert "PlansByNumbers.choose" in entered and "Launch.execute_closely" not in entered
    scale(borrow, x, 100, 4.0).sync_on(stream)
    expected = np.where(np.arange(300) < 100, 4, 3).astype("f4") * x.to_numpy()
    np.testing.assert_array_equal(z.to_numpy(), expected)


def test_refusals(native, golden, places):
    x, z = some(native), tw.zeros((300,), device=native).sync()
    scale, borrow = declared(native, (3,)), z.borrow_mut()
    scale(borrow, x, 300, 2.0).sync()
    found = []
    for given in [(z, x, 3, 2.0), (borrow, x, -1, 2.0), (borrow, x, 3), (borrow, z, 3, 1.0)]:
        with pytest.raises((TypeError, tw.Error)) as raised:
            scale(*given)
        found.append(places(raised.value))
    golden("\n\n".join(found))
