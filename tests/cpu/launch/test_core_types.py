"""Kernels and graphs that several threads launch for the first time, and broken objects."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.processes import run_program
from tilewright import i32, simt
from tilewright.devices.host import CPU
from tilewright.op.context import ExecutionContext

WARM = 3
SIZE = 64

pytestmark = pytest.mark.cpu_alone

TOGETHER = """
import gc
import tilewright as tw
from tilewright import i32, simt
import tilewright.lang as tl

THREADS, ROUNDS, SIZE = 3, 70, 300
TILES = '''
@tw.entry
def inc{i}(z: tl.TensorMut[i32]) -> None:
    z.store(z.load() + 1)
'''
LANES = '''
@simt.kernel
def up{i}(z: simt.DisjointSlice[i32]) -> None:
    i = simt.index_1d()
    if i < len(z):
        z[i] = z[i] + 1
'''

def made(text, name):
    return tw.exec(text, {"tw": tw, "tl": tl, "i32": i32, "simt": simt})[name]

def tiles(i):
    inc, z = made(TILES.format(i=i), f"inc{i}"), tw.zeros((SIZE,), i32).sync()
    return z, lambda: inc(z.partition_mut((128,))).sync()

def shared(i, inc=made(TILES.format(i="s"), "incs")):
    z = tw.zeros((SIZE,), i32).sync()
    return z, lambda: inc(z.partition_mut((128,))).sync()

def lanes(i):
    up, z = made(LANES.format(i=i), f"up{i}"), tw.zeros((SIZE,), i32).sync()
    return z, lambda: up(z.borrow_mut()).sync()

def graphs(i):
    inc, z = made(TILES.format(i=i), f"inc{i}"), tw.zeros((SIZE,), i32).sync()
    inc(z.partition_mut((128,))).sync()
    with tw.CudaGraph.scope(tw.default_device().new_stream()) as scope:
        scope.record(inc(z.partition_mut((128,))))
    graph = scope.graph
    return z, lambda: graph.launch().sync()

errors = []

def work(ready, run):
    ready.wait()
    try:
        for _ in range(ROUNDS):
            run()
    except BaseException as error:
        errors.append(repr(error))

for kind in (tiles, shared, lanes, graphs):
    ready, pairs = threading.Barrier(THREADS), [kind(i) for i in range(THREADS)]
    threads = [threading.Thread(target=work, args=(ready, run)) for _, run in pairs]
    for run in (*[t.start for t in threads], *[t.join for t in threads], gc.collect):
        run()
    for _ in range(ROUNDS):
        junk = [type("T", (), {}) for _ in range(5)]
        for _, run in pairs:
            run()
    values = {int(v) for z, _ in pairs for v in z.to_numpy()}
    print(kind.__name__, len(values), errors)
"""


def test_threads_that_warm_kernels_and_graphs_do_not_disturb_each_other():
    """In a process of its own, where none was launched before."""
    told = run_program(TOGETHER)
    kinds = ("tiles", "shared", "lanes", "graphs")
    assert told.splitlines() == [f"{kind} 1 []" for kind in kinds]


@tw.entry
def copied(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
    z.store(tl.load_tile_like(x, z))


@simt.kernel
def raised(z: simt.DisjointSlice[i32]) -> None:
    i = simt.index_1d()
    if i < len(z):
        z[i] = z[i] + 1


@pytest.fixture(scope="module")
def tensors() -> Any:
    with tw.device("cpu"):
        return tw.zeros((SIZE,), i32).sync(), tw.ones((SIZE,), i32).sync()


def blank(thing: Any) -> Any:
    """An object of the same class which nobody has initialized."""
    return object.__new__(type(thing))


def blank_of_subclass(thing: Any) -> Any:
    """The same, of a class that comes from it."""
    cls: Any = type("Mine", (type(thing),), {})
    return object.__new__(cls)


@pytest.fixture(params=["tiles", "lanes", "graph"])
def made_by_core(request, tensors) -> Any:
    """A maker of ops, how it is called, and one of its ops."""
    z, x = tensors
    with tw.device("cpu"):
        if request.param == "tiles":
            maker, call = copied, lambda k: k(z.partition_mut((16,)), x)
        elif request.param == "lanes":
            maker, call = raised, lambda k: k(z.borrow_mut())
        else:
            with tw.CudaGraph.scope(CPU.new_stream()) as scope:
                scope.record(copied(z.partition_mut((16,)), x))
            maker, call = scope.graph, lambda g: g.launch()
        for _ in range(WARM):
            call(maker).sync()
        op = call(maker)
        op.sync()
        yield maker, call, op


@pytest.mark.parametrize("made", [blank, blank_of_subclass])
def test_what_was_never_initialized_is_refused(made_by_core, made):
    maker, call, op = made_by_core
    stream = CPU.new_stream()
    for use in (
        lambda: call(made(maker)), lambda: made(op).sync(), lambda: made(op).sync_on(stream),
        lambda: made(op).start_on(stream), lambda: made(op).execute(None),
        lambda: made(op).execute(ExecutionContext(stream, waits=True)),
    ):  # fmt: skip
        with pytest.raises(AttributeError, match="no attribute"):
            use()


def test_streams_that_were_never_initialized_are_refused(made_by_core):
    maker, call, _ = made_by_core
    op = call(maker)
    with pytest.raises(AttributeError, match="no attribute"):
        op.sync_on(blank(CPU.new_stream()))
    op.sync()


@pytest.mark.parametrize("lacking", ["address", "device", "timeline"])
def test_streams_that_lack_something_are_left_to_python(made_by_core, lacking):
    """Which may do without it, or raises; the process goes on in either case."""
    maker, call, _ = made_by_core
    stream, op = CPU.new_stream(), call(maker)
    held = getattr(stream, lacking)
    delattr(stream, lacking)
    try:
        with suppress(AttributeError):
            op.sync_on(stream)
    finally:
        setattr(stream, lacking, held)
        op.close()
    call(maker).sync_on(stream)


def test_contexts_that_were_never_initialized_are_refused(made_by_core):
    maker, call, _ = made_by_core
    op, torn = call(maker), ExecutionContext(CPU.new_stream(), waits=True)
    del torn.stream
    for context in (blank(torn), torn):
        with pytest.raises(AttributeError, match="no attribute"):
            op.execute(context)
    op.sync()


@pytest.mark.parametrize("made_by_core", ["graph"], indirect=True)
def test_an_op_of_a_graph_that_was_never_initialized_is_refused(made_by_core):
    maker, call, _ = made_by_core
    op: Any = call(maker)
    op._graph = blank(maker)
    with pytest.raises(AttributeError, match="no attribute"):
        op.sync()
    call(maker).sync()


def test_arguments_that_were_never_initialized_are_refused(tensors):
    z, x = tensors
    with tw.device("cpu"):
        for _ in range(WARM):
            copied(z.partition_mut((16,)), x).sync()
        for args in ((blank(z.partition_mut((16,))), x), (z.partition_mut((16,)), blank(x))):
            with pytest.raises(AttributeError, match="no attribute"):
                copied(*args).sync()


@pytest.mark.parametrize(
    ("given", "named"), [((), {}), ((1,), {}), ((1, 2, 3), {}), ((1, 2), {}), ((), {"x": 1})]
)
def test_native_methods_count_what_they_are_given(tensors, given, named):
    z, x = tensors
    with tw.device("cpu"):
        for _ in range(WARM):
            copied(z.partition_mut((16,)), x).sync()
        op: Any = copied(z.partition_mut((16,)), x)
        kernel: Any = copied
        with pytest.raises(TypeError):
            kernel.call_at(*given, **named)
        if len(given) != 1:
            for ending in (op.sync_on, op.start_on, op.execute):
                with pytest.raises(TypeError):
                    ending(*given, **named)
        op.sync()
