"""Running a launch: every op has a rule, order of blocks, empty grids, no warnings, tables."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from support.ir import Kernel, checked, poisoned
from tilewright.backend.reference import interpreter as reference
from tilewright.backend.reference import machine
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import f32, i32
from tilewright.ir.attrs import AtomicMode
from tilewright.ir.core import Block, Value
from tilewright.ir.ops import FAMILIES, OPS
from tilewright.ir.ops.simt import ASSEMBLY_OPS
from tilewright.ir.types import TileType

REJECTED = {op.name for op in ASSEMBLY_OPS}
"""Ops that are rejected while compiling for the reference."""


@pytest.mark.parametrize("family", FAMILIES)
def test_every_op_has_one_rule_in_its_family(family):
    assert set(reference.FAMILIES[family]) == {op.name for op in FAMILIES[family]} - REJECTED


def test_all_ops_but_those_refused_have_rules():
    assert set(reference.RULES) == set(OPS) - REJECTED


def order_kernel():
    """Each block takes a ticket: when it ran."""
    k = Kernel()
    p, z = k.pointer("p", i32), k.output("z", i32, 1)
    ticket = k.emit("atomic_rmw", p, k.i32(1), mode=AtomicMode.ADD)
    k.store(k.emit("reshape", ticket, shape=(1,)), z, k.block_id())
    return k.finish()


def order(seed):
    tickets = poisoned(i32, (30,))
    outcome = run(order_kernel(), [np.zeros(1, np.int32), tickets], (30,), seed=seed)
    return outcome.seed, tickets.tolist()


def test_blocks_run_in_the_order_of_the_seed():
    seed, first = order(None)
    assert sorted(first) == list(range(30))
    assert order(seed) == (seed, first)
    assert len({tuple(order(s)[1]) for s in range(5)}) == 5
    assert order(None)[0] != order(None)[0]


@pytest.mark.parametrize("grid", [(0,), (3, 0), (0, 0, 0)])
def test_an_empty_grid_runs_nothing(grid):
    outcome = run(order_kernel(), [np.zeros(1, np.int32), np.zeros(0, np.int32)], grid)
    assert (outcome.failure, outcome.printed, outcome.problems) == (None, (), ())


def test_no_warning_escapes():
    k = Kernel()
    x, y = k.tensor("x", f32, 1), k.output("y", f32, 1)
    tile = k.load(x, (4,))
    zero = k.constant(0.0, f32, (4,))
    for name in ("divf", "addf", "mulf", "remf"):
        tile = k.emit("addf", tile, k.emit(name, k.load(x, (4,)), zero))
    for name in ("log", "sqrt", "exp", "tan"):
        tile = k.emit("addf", tile, k.emit(name, k.load(x, (4,))))
    k.emit("ftoi", tile, to=i32)
    k.store(tile, y)
    func = k.finish()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="raise"):
            run(func, [np.array([np.inf, np.nan, -1, 3e38], np.float32), poisoned(f32, (4,))], (1,))
            assert np.geterr()["over"] == "raise"


def test_a_rule_that_gives_the_wrong_type_is_caught():
    k = Kernel()
    k.constant(1.0, f32, (2,))
    func = k.finish()
    rules = {**reference.RULES, "constant": lambda frame, op: (np.zeros(2, np.float64),)}
    launch = machine.ReferenceLaunch(func, (1, 1, 1), None, rules, {})
    with pytest.raises(AssertionError, match="expected elements of float32, got float64"):
        machine.Frame(launch, 0, (0, 0, 0), {}).run(func.body)


def test_a_block_without_terminator_is_caught():
    launch = machine.ReferenceLaunch(Kernel().finish(), (1, 1, 1), None, reference.RULES, {})
    with pytest.raises(AssertionError, match="terminator"):
        machine.Frame(launch, 0, (0, 0, 0), {}).run(Block())


def test_values_of_the_wrong_kind_are_named():
    value = Value(TileType(f32))
    frame = machine.Frame(None, 0, (0,), {value: machine.TensorData(0, (), ())})
    with pytest.raises(AssertionError, match="expected a tile"):
        frame.array(value)
    frame.values[value] = np.zeros(())
    with pytest.raises(AssertionError, match="expected a tensor"):
        frame.tensor(value)


def test_blocks_do_not_see_the_values_of_others():
    k = Kernel()
    z = k.output("z", i32, 1)
    with k.region(TileType(i32), TileType(i32)) as body:
        k.op("continue", [k.emit("addi", body.args[1], k.i32(1))])
    loop = k.op("for", k.i32(0), k.block_id(), k.i32(1), [k.i32(0)], regions=[body])
    k.store(k.emit("reshape", loop.result, shape=(1,)), z, k.block_id())
    z = poisoned(i32, (6,))
    checked(k.finish(), [z], (6,))
    assert z.tolist() == list(range(6))
