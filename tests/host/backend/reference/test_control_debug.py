"""Print records and failed assertions."""

from __future__ import annotations

import linecache
import sys
from bdb import BdbQuit

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.ir import Kernel
from tilewright import simt
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import bf16, bool_, f4e2m1fn, f32, i32, u8
from tilewright.ir.attrs import Predicate


def test_prints_come_in_block_order_whatever_order_ran():
    k = Kernel()
    k.line(3, "print(i, x)")
    block, doubled = k.block_id(), k.emit("addi", k.block_id(), k.block_id())
    k.op("print", [block, k.broadcast(doubled, (2,))], template=((0, ""), " ", (1, "")))
    k.line(4, "print('done')")
    k.op("print", template=("done",))
    func = k.finish()
    for seed in range(5):
        printed = run(func, [], (2, 3), seed=seed).printed
        blocks = [(i, j, 0) for i in range(2) for j in range(3)]
        assert [p.block for p in printed] == [b for b in blocks for _ in range(2)]
        for values, done in zip(printed[0::2], printed[1::2], strict=True):
            i = values.block[0]
            assert values.site.kind == "print"
            assert values.site.span is not None and values.site.span.line == 3
            assert values.site.template == ((0, ""), " ", (1, ""))
            assert values.values[0].shape == () and values.values[0].dtype == np.int32
            assert [v.tolist() for v in values.values] == [i, [2 * i, 2 * i]]
            assert done.values == () and done.site.template == ("done",)


def test_printed_values_are_copies_in_their_memory_form():
    k = Kernel()
    z = k.output("z", f32, 1)
    k.op("print", [k.load(z, (2,)), k.constant(1.5, bf16), k.constant(0.5, f4e2m1fn, (3,))])
    k.store(k.constant(9.0, f32, (2,)), z)
    z = np.array([1, 2], np.float32)
    (record,) = run(k.finish(), [z], (1,)).printed
    assert record.values[0].tolist() == [1, 2]
    assert record.values[1].dtype == bf16.np
    assert record.values[2].nbytes == 3
    assert z.tolist() == [9, 9]


def asserting(k):
    limit, z = k.scalar("limit", i32), k.output("z", u8, 1)
    k.line(7, "assert i < limit, 'too far'")
    ok = k.emit("cmpi", k.block_id(), limit, predicate=Predicate.LT)
    k.op("assert", ok, message="too far")
    k.store(k.constant(1, u8, (1,)), z, k.block_id())
    return k.finish()


def test_an_assertion_that_holds_is_silent():
    z = np.zeros(4, np.uint8)
    outcome = run(asserting(Kernel()), [4, z], (4,))
    assert outcome.failure is None
    assert z.tolist() == [1] * 4


def test_the_first_failure_stops_blocks_that_have_not_started():
    func = asserting(Kernel())
    for seed in range(10):
        z = np.zeros(50, np.uint8)
        failure = run(func, [25, z], (50,), seed=seed).failure
        assert failure is not None
        assert (failure.site.kind, failure.site.message) == ("assert", "too far")
        assert failure.site.span is not None and failure.site.span.line == 7
        block = failure.block[0]
        assert failure.block == (block, 0, 0) and block >= 25
        assert z[block] == 1, "the failing block goes on"
        assert z[25:].sum() == 1, "no second block fails, as none starts"


def test_only_the_first_failure_of_a_block_is_kept():
    k = Kernel()
    no = k.scalar("no", bool_)
    k.op("assert", no, message="first")
    k.op("assert", no, message="second")
    k.emit("check", k.i32(5), k.i32(5), tensor="x")
    failure = run(k.finish(), [False], (1,)).failure
    assert failure is not None and failure.site.message == "first"


# --- breakpoints -------------------------------------------------------------------------------


def scaled(t, by):
    product = t * by
    breakpoint()  # noqa: T100
    return product


@tw.entry
def stopping(z: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    i = tl.block_id(0)
    wide, name, huge = 2**40, "text", 10**40
    tile = tl.load_tile_like(x, z)
    if i == 1:
        breakpoint()  # noqa: T100
    z.store(scaled(tile, factor) + float(wide > huge) + float(len(name) - 4))


@simt.kernel
def one_thread(z: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i == 2:
        breakpoint()  # noqa: T100
    if i < len(z):
        z[i] = 1.0


@pytest.fixture
def stops(monkeypatch):
    """Where Python's debugger would have stopped, and what it would have seen."""
    seen = []

    def hook():
        frame = sys._getframe(1)
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).partition("#")[0].strip()
        where = {name: frame.f_globals[name] for name in ("block", "thread")}
        names = {name: np.copy(x)[()] for name, x in frame.f_locals.items()}
        seen.append((frame.f_code.co_name, line, where, names))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    return seen


def test_a_breakpoint_stops_on_the_line_with_its_names(stops):
    x = np.arange(6, dtype=np.float32)
    with tw.device("reference"):
        z = stopping(tw.empty((6,)).partition((4,)), x, 3.0).out().sync()
    assert (z.to_numpy() == 3 * x).all()
    stops.sort(key=lambda stop: (stop[0] == "scaled", stop[2]["block"]))
    inner, *outer = stops
    assert inner[:3] == ("stopping", "breakpoint()", {"block": (1, 0, 0), "thread": None})
    names = inner[3]
    assert set(names) == {"z", "x", "i", "wide", "name", "huge", "tile", "factor"}
    assert (names["name"], names["huge"]) == ("text", 10**40)
    assert names["x"].tolist() == x.tolist() and names["z"].shape == (2,), "what the block owns"
    assert (names["i"], names["wide"], names["factor"]) == (1, 2**40, 3.0)
    assert names["tile"].tolist() == [4, 5, 0, 0]
    assert [(stop[0], stop[2]["block"]) for stop in outer] == [
        ("scaled", (0, 0, 0)), ("scaled", (1, 0, 0))
    ]  # fmt: skip
    assert outer[0][3]["product"].tolist() == [0, 3, 6, 9]


def test_a_breakpoint_of_one_thread(stops):
    with tw.device("reference"):
        one_thread(tw.zeros((4,))).sync()
    ((function, line, where, names),) = stops
    assert (function, line) == ("one_thread", "breakpoint()")
    assert where == {"block": (0, 0, 0), "thread": (2, 0, 0)}
    assert names["i"] == 2 and names["z"].tolist()[2:] == [0, 0], "it has not been written"


def test_leaving_the_debugger_fails_the_launch_and_nothing_else(monkeypatch):
    def leave():
        raise BdbQuit

    monkeypatch.setattr(sys, "breakpointhook", leave)
    with tw.device("reference"):
        z = tw.zeros((4,)).sync()
        with pytest.raises(BdbQuit):
            stopping(z.partition_mut((4,)), np.ones(4, "f4"), 2.0).sync()
        assert z.to_numpy().tolist() == [0, 0, 0, 0]
