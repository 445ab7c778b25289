"""Tracebacks of errors end at the user's line; mistakes of our own show all frames."""

import asyncio
import copy
import inspect
import pickle
import subprocess
import sys
import traceback

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import testing
from tilewright.base import config, tracebacks
from tilewright.base.errors import InternalError
from tilewright.base.location import PACKAGE


@tw.entry
def unknown(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) - tl.no_such_function(x))


@tw.entry
def miscalled(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x))


@tw.entry
def twice(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) * 2.0)


def tensor():
    return tw.zeros((8,)).sync()


async def awaited():
    return await unknown(tw.empty((8,)).partition((4,)), tensor())


def in_a_chain(t):
    return unknown(tw.empty_like(t).partition((4,)), t)


def enter(block):
    with block:
        pass


MISTAKES = {
    "compiling, sync": lambda: unknown(tensor().partition_mut((4,)), tensor()).sync(),
    "compiling, start": lambda: unknown(tensor().partition_mut((4,)), tensor()).start(),
    "compiling, future": lambda: in_a_chain(tensor()).into_future().result(),
    "compiling, graph": lambda: in_a_chain(tensor()).graph(),
    "compiling, await": lambda: asyncio.run(awaited()),
    "compiling, task": lambda: asyncio.run(in_a_chain(tensor())),
    "compiling, chain": lambda: tw.value(tensor()).then(in_a_chain).sync(),
    "asking the compiler": lambda: unknown.ir(tw.meta((8,)).partition_mut((4,)), tw.meta((8,))),
    "a launch check": lambda: twice(tensor().partition_mut((4,)), np.ones(2, "f4")).sync(),
    "a call": lambda: twice(tensor(), tensor()),
    "a call by name": lambda: twice(tensor().partition_mut((4,)), y=1),
    "defining a kernel": lambda: tw.entry(unsafe=3)(len),
    "creating": lambda: tw.zeros(3, 4),
    "creating, loaded later": lambda: tw.randn(3, 4),
    "a device": lambda: enter(tw.device("abacus")),
    "a method": lambda: tensor()[100],
    "a partition": lambda: tensor().partition_mut((4, 4)),
    "a moved tensor": lambda: (lambda t: (t.partition((4,)), t.to_numpy()))(tensor()),
    "a word of NumPy's": lambda: tensor().numpy(),
    "arithmetic": lambda: tensor() + 1,
    "an op as a tensor": lambda: tw.zeros((3,)).shape,
    "an item": lambda: tensor().item(),
    "comparing": lambda: testing.assert_close(np.zeros(2), np.ones(2)),
    "a ready operation": lambda: tw.ops.softmax(np.ones((2, 2), "f4"), axis=7),
    "a function of arrays": lambda: tw.function(twice, tiles=4)(np.ones((2, 2)), np.ones((2, 2))),
    "defining a function": lambda: tw.function(outputs=lambda x, y: x, tiles=4)(twice),
    "an order of tensors": lambda: tensor() > 0,
    "a device by its number": lambda: tw.Device.new(2**20),
    "options": lambda: tw.CompileOptions(occupancy=99),
    "what a block gives": lambda: tw.trace().entries,
    "an element type": lambda: twice(tensor().partition_mut((4,)), np.ones(8, "O")),
    "a wrong call in a kernel": lambda: miscalled(tensor().partition_mut((4,)), tensor()).sync(),
    "a collective": lambda: tw.distributed.all_reduce(tensor()),
    "a mesh": lambda: tw.shard(tensor(), ["cpu"]),
    "a store for a block": lambda: enter(tw.jit_cache.using(3)),
    "a kernel of threads": lambda: tw.simt.kernel(domain=9)(len),
    "a stream": lambda: tw.zeros((3,)).sync_on("fast"),
}


def frames(error):
    return [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_no_frame_is_ours(mistake):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of many kinds
        MISTAKES[mistake]()
    error = caught.value
    assert error.__context__ is error.__cause__ or error.__suppress_context__
    while error is not None:
        assert not [name for name in frames(error) if name.startswith(PACKAGE)]
        assert not [name for name in frames(error) if name.endswith("contextlib.py")]
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("mistake", MISTAKES)
def test_all_frames_are_there_when_asked_for(mistake):
    if mistake == "a stream":
        pytest.skip("raised by native code")
    with config.override(traceback="full"), pytest.raises(Exception) as caught:  # noqa: PT011
        MISTAKES[mistake]()
    assert [name for name in frames(caught.value) if name.startswith(PACKAGE)]


def test_frames_of_the_users_functions_stay():
    def breaks(t):
        raise KeyError(t.shape)

    with pytest.raises(KeyError) as caught:
        tw.value(tensor()).then(breaks).sync()
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1:] == [
        "breaks"
    ]


def test_causes_stay():
    def breaks(t):
        try:
            t.partition_mut((4, 4))
        except tw.ShapeError as error:
            raise RuntimeError("not mine") from error

    with pytest.raises(RuntimeError) as caught:
        tw.value(tensor()).map(breaks).sync()
    assert isinstance(caught.value.__cause__, tw.ShapeError)
    assert {*frames(caught.value), *frames(caught.value.__cause__)} == {__file__}


@pytest.mark.parametrize("error", [ZeroDivisionError, AssertionError, InternalError])
def test_mistakes_of_ours_show_where_they_are(monkeypatch, error):
    """As if a function of the package had a mistake, or said that there is one."""
    bodies = {ZeroDivisionError: "1 / 0", AssertionError: "assert 0"}
    body = bodies.get(error, "raise InternalError('x')")
    source = compile(f"def function(): {body}", f"{PACKAGE}made_up.py", "exec")
    namespace = {"InternalError": InternalError, "__name__": "tilewright.made_up"}
    exec(source, namespace)
    with pytest.raises(error) as caught:
        tracebacks.public(namespace["function"])()
    assert frames(caught.value)[-1] == f"{PACKAGE}made_up.py"


def test_an_interrupt_shows_the_users_line():
    source = compile("def function(of): of()", f"{PACKAGE}made_up.py", "exec")
    namespace = {}
    exec(source, namespace)

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        tracebacks.public(namespace["function"])(interrupt)
    assert {*frames(caught.value)} == {__file__}


def test_public_functions_look_like_functions():
    assert inspect.signature(tw.zeros) == inspect.signature(tw.zeros.__wrapped__)
    assert inspect.isfunction(tw.zeros)
    assert inspect.getsource(tw.zeros).startswith("@overload") or "def zeros" in inspect.getsource(
        tw.zeros
    )
    assert tw.zeros.__name__ == "zeros"
    assert tw.zeros.__doc__ == tw.zeros.__wrapped__.__doc__
    assert repr(tw.zeros) == repr(tw.zeros.__wrapped__)
    assert pickle.loads(pickle.dumps(tw.zeros)) is tw.zeros
    assert copy.deepcopy(tw.zeros) is tw.zeros
    assert tw.kernel is tw.entry


def test_everything_that_users_call_is_public():
    modules = (tw, tw.tune, tw.distributed, tw.jit_cache, testing)
    members = [(m.__name__, n, getattr(m, n)) for m in modules for n in m.__all__]
    functions = [member for member in members if inspect.isfunction(member[2])]
    assert len(functions) > 60
    assert [member for member in functions if not hasattr(member[2], "__wrapped__")] == []
    for cls in (tw.Tensor, tw.Arc, tw.Partition, tw.DeviceOp, tw.CudaGraph, tw.Entry, tw.Launch):
        for name in dir(cls):
            method = inspect.getattr_static(cls, name)
            if not name.startswith("_") and name not in tracebacks._CONCLUDING:
                assert type(method) is not type(frames), f"{cls.__name__}.{name}"


def test_a_program_that_nobody_catches():
    """What Python itself prints, and the switch in the environment."""
    program = "import tilewright as tw\ntw.zeros((8,)).sync().partition_mut((4, 4))\n"

    def printed(**environment):
        command = [sys.executable, "-c", program]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False,
            env={**__import__("os").environ, **environment},
        )  # fmt: skip
        return done.stderr.count("  File ")

    assert printed() == 1
    assert printed(TILEWRIGHT_TRACEBACK="full") >= 3
