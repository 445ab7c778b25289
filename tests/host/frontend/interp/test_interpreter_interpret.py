"""Names from outside: what is captured, what is refused, what is noticed when it changes."""

from __future__ import annotations

import math
import types

import numpy as np
import pytest

import tilewright.lang as tl
from support.kernels import ir_of, out, run, scalar
from tilewright.base.dtypes import f32, i32
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.capture.annotations import capture
from tilewright.frontend.interp.build import build_captured
from tilewright.ir.signature import OutputSpec, Signature

SCALE = 3.0
config = types.SimpleNamespace(offset=1.0)
SIGNATURE = Signature((OutputSpec("z", f32, (None,), (1,), (4,)),))


def scaled(z: tl.TensorMut[f32]) -> None:
    z.store(z.load() * SCALE + config.offset)


def test_a_captured_global_is_remembered(monkeypatch):
    captured = build_captured(capture(scaled), SIGNATURE).captured
    by_name = {c.name: c for c in captured}
    assert by_name["SCALE"].value == 3.0
    assert not by_name["SCALE"].changed()
    monkeypatch.setitem(globals(), "SCALE", 3.0 + 0)
    assert not by_name["SCALE"].changed(), "an equal number is no change"
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    assert by_name["SCALE"].changed()
    config.offset, before = 2.0, config.offset
    assert by_name["offset"].changed()
    config.offset = before


WEIGHTS = [1.0, 2.0]
TABLE = {"a": ([3.0], 4.0)}


def weighted(z: tl.TensorMut[f32]) -> None:
    z.store(z.load() * WEIGHTS[0] + TABLE["a"][0][0])


@pytest.mark.parametrize(
    ("change", "undo"),
    [
        (lambda: WEIGHTS.append(5.0), lambda: WEIGHTS.pop()),
        (lambda: WEIGHTS.reverse(), lambda: WEIGHTS.reverse()),
        (lambda: TABLE.update(b=1), lambda: TABLE.pop("b")),
        (lambda: TABLE["a"][0].append(1), lambda: TABLE["a"][0].pop()),
        (lambda: WEIGHTS.__setitem__(0, 1), lambda: WEIGHTS.__setitem__(0, 1.0)),
    ],
)
def test_what_is_in_lists_and_dicts_is_remembered(change, undo):
    captured = build_captured(capture(weighted), SIGNATURE).captured
    assert not any(c.changed() for c in captured)
    change()
    assert any(c.changed() for c in captured)
    undo()
    assert not any(c.changed() for c in captured), "the same values are no change"


def test_closure_values_are_captured():
    def make(factor):
        def kernel(z: tl.TensorMut[f32]) -> None:
            z.store(z.load() * factor)

        return kernel

    z = np.arange(4, dtype="f4")
    run(ir_of(make(5.0), out((4,))), z)
    assert z.tolist() == [0, 5, 10, 15]


def test_functions_of_math_work_on_constants():
    def kernel(z: tl.TensorMut[f32]) -> None:
        z.store(z.load() * math.sqrt(16.0) + math.pi)

    z = np.zeros(4, "f4")
    run(ir_of(kernel, out((4,))), z)
    assert z[0] == np.float32(math.pi)


def test_a_typo_gets_a_suggestion():
    def kernel(z: tl.TensorMut[f32]) -> None:
        tile = z.load()  # noqa: F841 - the name that is meant
        z.store(tiel)  # noqa: F821

    with pytest.raises(CompileError) as caught:
        ir_of(kernel, out((4,)))
    assert caught.value.code is Code.NAME
    assert "`tile`" in caught.value.hint
    assert caught.value.span.line == kernel.__code__.co_firstlineno + 2


def test_the_chain_of_calls_is_shown():
    def inner(t):
        return t.nothing

    def outer(t):
        return inner(t)

    def kernel(z: tl.TensorMut[f32]) -> None:
        z.store(outer(z.load()))

    with pytest.raises(CompileError) as caught:
        ir_of(kernel, out((4,)))
    text = str(caught.value)
    assert text.index("in `inner`, called at") < text.index("in `outer`, called at")


def test_spans_point_at_the_expression():
    def kernel(z: tl.TensorMut[f32], n: i32) -> None:
        z.store(z.load() + tl.zeros((n,), f32))

    with pytest.raises(CompileError) as caught:
        ir_of(kernel, out((4,)), scalar(i32))
    span = caught.value.span
    line = span.file.line(span.line)
    assert line[span.column : span.end_column] == "tl.zeros((n,), f32)"
