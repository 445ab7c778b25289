"""Finding the source of functions: files, lambdas, made text, and functions without any."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import tilewright.lang as tl
from support.kernels import ir_of, out, run
from tilewright.base.dtypes import f32
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.sources import execute, function_source

TWO_ON_A_LINE = (lambda x: x + 1, lambda x: x + 2)


def test_a_function_is_found_with_its_columns():
    def local(a):
        return a * 2

    source = function_source(local)
    assert isinstance(source.node, ast.FunctionDef)
    assert source.file.line(source.node.lineno).strip() == "def local(a):"
    returned = source.span(source.node.body[0])
    assert source.file.line(returned.line)[returned.column :] == "return a * 2"


@pytest.mark.parametrize("k", [0, 1])
def test_lambdas_on_one_line_are_told_apart(k):
    node = function_source(TWO_ON_A_LINE[k]).node
    assert ast.unparse(node.body) == f"x + {k + 1}"


def test_executed_source_can_be_compiled():
    names = execute("def double(t):\n    return t + t\n")
    double = names["double"]

    def kernel(z: tl.TensorMut[f32]) -> None:
        z.store(double(z.load()))

    z = np.arange(4, dtype="f4")
    run(ir_of(kernel, out((4,))), z)
    assert z.tolist() == [0, 2, 4, 6]


def test_plain_exec_has_no_source():
    names: dict = {}
    exec("def hidden(t):\n    return t", names)
    with pytest.raises(CompileError) as caught:
        function_source(names["hidden"])
    assert caught.value.code is Code.SOURCE
    assert "tw.exec" in caught.value.hint


def test_text_given_by_hand_is_used():
    names: dict = {}
    text = "def hidden(t):\n    return t + 1"
    exec(text, names)
    assert ast.unparse(function_source(names["hidden"], text).node.body[0]) == "return t + 1"


def test_builtins_have_no_source():
    with pytest.raises(CompileError, match="not a Python function"):
        function_source(len)
