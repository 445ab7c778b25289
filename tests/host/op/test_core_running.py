"""The native half of ops: what it is given wrongly, objects that were never initialized, leaks."""

from __future__ import annotations

from typing import Any

import pytest

from op_kit import Give, HandStream
from support.leaks import assert_none_left
from tilewright import _core
from tilewright.op.context import ExecutionContext
from tilewright.op.core import Linked, value
from tilewright.op.running import Progress, run_here
from tilewright.op.zipping import zip

CTX = ExecutionContext(HandStream())


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (_core.link, ()),
        (_core.link, (3, 0, "map", str, (), 0)),
        (_core.link, (value(1), 99, "map", str, (), 0)),
        (_core.link, (value(1), -1, "map", str, (), 0)),
        (_core.link, (value(1), _core.LINK_MAP, 3, str, (), 0)),
        (_core.link, (value(1), _core.LINK_MAP, "map", 3, (), 0)),
        (_core.link, (value(1), _core.LINK_MAP, "map", str, [], 0)),
        (_core.link, (value(1), _core.LINK_MAP, "map", str, (), "here")),
        (_core.link, (value(1), _core.LINK_METHOD, "map", str, (), 0)),
        (_core.call_function, ("map", str, 1, ())),
        (_core.call_function, ("map", str, 1, (), None)),
        (_core.call_function, ("map", 3, 1, (), CTX)),
        (_core.admit, (3, "then", CTX, 1)),
        (_core.admit, (value(1), "then", 3, 1)),
        (_core.run_op, (value(1), 3)),
        (_core.run_op, (3, CTX)),
        (_core.join_names, ("a", 3)),
        (_core.new_op, ()),
        (_core.new_op, (int,)),
        (_core.is_shape, ((1,), 0)),
        (_core.stream_for, (3,)),
        (_core.has_op, (3,)),
        (_core.Progress, (3, CTX)),
        (_core.Progress, (value(1), 3)),
        (_core.set_op_classes, (3,)),
        (_core.set_call_classes, ({},)),
        (_core.set_link_classes, ({"Linked": int, "pledge": 0, "refuse_function": 0},)),
        (_core.set_run_classes, ({},)),
        (_core.set_ending_classes, ({},)),
        (_core.set_defer_classes, ({},)),
        (value(1).claim, (3,)),
        (value(1).claim_at, ("x",)),
    ],
)
def test_wrong_arguments_are_refused(function: Any, given: tuple[Any, ...]):
    with pytest.raises(TypeError):
        function(*given)


def test_links_that_were_never_initialized_are_refused():
    blank: Any = object.__new__(Linked)
    assert blank.made_of == () and not blank.spent and blank.home is None
    for use in (
        lambda: blank.name, blank.sync, lambda: blank.map(str), lambda: blank.claim("x"),
        lambda: run_here(blank, CTX), lambda: blank.sync_on(HandStream()),
    ):  # fmt: skip
        with pytest.raises((AttributeError, TypeError)):
            use()


def test_contexts_that_were_never_initialized_are_refused():
    blank: Any = object.__new__(ExecutionContext)
    with pytest.raises(TypeError, match="ExecutionContext"):
        run_here(value(1), blank)
    with pytest.raises(TypeError, match="ExecutionContext"):
        Progress(value(1), blank)


def test_what_is_under_way_can_be_looked_at_and_changed():
    seen: list[Any] = []
    ctx = ExecutionContext(HandStream())

    def look(n: int) -> int:
        seen.extend(ctx.running)
        ctx.running.clear()  # type: ignore[attr-defined]
        return n + 1

    op = value(1).map(look).map(lambda n: n + 1)
    assert run_here(op, ctx) == 3
    assert [each.name for each in seen] == ["value.map.map", "value.map"]
    assert ctx.running == ()


@pytest.mark.parametrize("name", ["stream", "outcomes"])
def test_a_context_that_loses_something_is_refused(name):
    ctx = ExecutionContext(HandStream())
    ctx.on_loop = True

    def lose(n: int) -> int:
        delattr(ctx, name)
        return n

    op = value(1).map(lose).then(lambda n: Give(n))
    op.claim("this test")
    with pytest.raises((AttributeError, TypeError)):
        run_here(op, ctx)


def test_an_op_is_driven_by_one_call_at_a_time():
    held: list[Any] = []
    op = value(1).map(lambda n: held[0].advance())
    held.append(Progress(op, CTX))
    with pytest.raises(RuntimeError, match="driven by another call"):
        held[0].advance()
    held[0].abandon()


def test_chains_that_never_run_may_be_as_long_as_memory_allows():
    op = value(0)
    for _ in range(100_000):
        op = op.map(str)
    op.close()
    del op


def test_names_in_any_alphabet():
    class Größe(Give):
        name = "größe"

    assert Größe().map(str).name == "größe.map"
    long = Größe()
    for _ in range(20):
        long = long.map(str)
    assert long.name.startswith("größe. … .map")


class Bound:
    """Has methods, which are given to ops."""

    def one(self, n: int) -> int:
        return n

    def two(self, n: int, m: int = 2) -> int:
        return n + m

    def several(self, *numbers: int) -> int:
        return sum(numbers)


def test_methods_are_counted_without_their_object():
    bound = Bound()
    assert value(1).map(bound.one).sync() == 1
    assert zip(value(1), value(5)).map(bound.two).sync() == 6
    assert zip(value(1), value(5)).map(bound.several).sync() == 6
    with pytest.raises(TypeError, match="it takes 1\n"):
        zip(value(1), value(5)).map(bound.one).sync()


def test_nothing_is_left_behind():
    stream, function = HandStream(), lambda *n: n
    watched = [stream, function, None, True, False, (), "map", "then"]

    def run() -> None:
        op = zip(value(1), value(2)).map(function).then(lambda *n: value(n))
        op.inspect(function).map(function).sync_on(stream)
        with pytest.raises(ZeroDivisionError):
            value(1).map(lambda n: n / 0).map(function).sync_on(stream)

    assert_none_left(run, watched, 50)
