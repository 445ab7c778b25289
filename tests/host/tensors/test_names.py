from __future__ import annotations

import asyncio
import contextlib
import weakref

import numpy as np
import pytest

from tilewright.tensors.names import is_held_elsewhere


class Lender:
    """Lends an array for a block, and notes whether anything but variables holds it then."""

    def __enter__(self):
        self.array = np.zeros(4)
        return self.array

    def __exit__(self, kind, error, traceback):
        array = self.array
        del self.array
        self.held = is_held_elsewhere(array, error)


MODULE = """
with lender as a:
    {body}
held = lender.held
"""


@pytest.mark.parametrize(
    ("body", "held"),
    [
        ("pass", False), ("b = a", False), ("del a", False), ("kept = memoryview(a)", True),
        ("kept = memoryview(a); del a", True), ("kept = a[1:].base", False), ("kept = [a]", True),
        ("kept = np.from_dlpack(a)", True), ("kept = a.flat", True), ("kept = a.ctypes", True),
        ("kept = np.lib.stride_tricks.as_strided(a)", True), ("kept = lambda: a", False),
        ("kept = np.nditer(a)", True), ("kept = [x for x in (1, 2)]", False),
    ],
)  # fmt: skip
def test_what_holds_an_array(body, held):
    program = MODULE.format(body=body)
    names = {"np": np, "lender": Lender()}
    exec(program, names)
    assert names["held"] is held
    of_class = {"np": np, "lender": Lender()}
    exec("class C:\n" + program.replace("\n", "\n    "), of_class)
    if "lambda" not in body:  # which has the module's names there
        assert of_class["C"].held is held
    of_function = {"np": np, "lender": Lender()}
    exec("def f():\n" + program.replace("\n", "\n    ") + "return held\nheld = f()", of_function)
    assert of_function["held"] is held


def test_an_array_that_is_returned_is_held():
    lender = Lender()

    def give():
        with lender as a:
            return a

    give()
    assert lender.held


def test_variables_of_callers():
    lender = Lender()

    @contextlib.contextmanager
    def lent():
        with lender as a:
            yield a

    with lent() as mine:
        pass
    assert not lender.held
    with lent() as mine:
        kept = memoryview(mine)
        del mine
    assert lender.held
    with contextlib.ExitStack() as stack:
        mine = stack.enter_context(lender)
    assert not lender.held
    assert mine.shape == (4,)
    del kept


def test_variables_of_generators_and_coroutines():
    lender = Lender()

    async def block():
        with lender as a:
            await asyncio.sleep(0)
        return a.size

    def steps():
        with lender as a:
            yield a.size

    asyncio.run(block())
    assert not lender.held
    some = steps()
    next(some)
    some.close()
    assert not lender.held


def test_a_variable_of_the_function_around_is_one_reference():
    """However many functions see it."""
    lender, a = Lender(), None

    def block(keeps):
        nonlocal a
        with lender as a:
            return memoryview(a) if keeps else None

    block(False)
    assert not lender.held
    kept = block(True)
    assert lender.held
    del kept


@pytest.mark.parametrize("keeps", [False, True])
def test_variables_of_functions_that_failed(keeps):
    lender = Lender()

    def fail(x):
        raise ValueError(x.size)

    def again(x):
        try:
            fail(x)
        except ValueError:
            y = x
            raise TypeError(y.size) from None

    def block(function):
        nonlocal kept
        with lender as a:
            kept = memoryview(a) if keeps else None
            function(a)

    kept = None
    for function in (fail, again):
        with pytest.raises((ValueError, TypeError)):
            block(function)
        assert lender.held is keeps
    del kept


def test_variables_that_are_looked_at():
    """By a debugger, or by their own function."""
    lender = Lender()

    def block(keeps):
        seen = locals()
        with lender as a:
            kept = memoryview(a) if keeps else None
        assert "keeps" in seen
        return kept

    block(False)
    assert not lender.held
    kept = block(True)
    assert lender.held
    del kept


def test_looking_keeps_nothing_alive():
    lender, other = Lender(), np.zeros(4)
    gone = weakref.ref(other)
    with lender:
        pass
    del other
    assert gone() is None
