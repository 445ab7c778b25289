"""Cuts a program down to what still fails: lines go, branches become one arm, operands results."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator

BLOCKS = ("body", "orelse")


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in BLOCKS:
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                yield body


def _drop(body: list[ast.stmt], at: int) -> bool:
    if isinstance(body[at], ast.FunctionDef | ast.Pass):
        return False
    body[at : at + 1] = [] if len(body) > 1 else [ast.Pass()]
    return True


def _unwrap(name: str) -> Callable[[list[ast.stmt], int], bool]:
    def act(body: list[ast.stmt], at: int) -> bool:
        inner = getattr(body[at], name, None)
        if isinstance(body[at], ast.FunctionDef) or not inner:
            return False
        body[at : at + 1] = inner
        return True

    return act


def _operand(number: int) -> Callable[[list[ast.stmt], int], bool]:
    def act(body: list[ast.stmt], at: int) -> bool:
        statement = body[at]
        if not isinstance(statement, ast.Assign) or isinstance(statement.value, ast.Name):
            return False
        names = [n for n in ast.walk(statement.value)
                 if isinstance(n, ast.Name) and n.id.startswith("v")]  # fmt: skip
        if number >= len(names):
            return False
        statement.value = names[number]
        return True

    return act


ACTS = (_drop, _unwrap("body"), _unwrap("orelse"), _operand(0), _operand(1))


def smaller(source: str) -> Iterator[str]:
    """Texts that are a little shorter, the last lines first."""
    count = sum(len(body) for body in _bodies(ast.parse(source)))
    for number in reversed(range(count)):
        for act in ACTS:
            tree, at = ast.parse(source), number
            for body in _bodies(tree):
                if at < len(body):
                    if act(body, at):
                        yield ast.unparse(tree) + "\n"
                    break
                at -= len(body)


def shrink(source: str, fails: Callable[[str], bool], seconds: float) -> str:
    """The shortest text found in time that still fails."""
    end = time.monotonic() + seconds
    found = True
    while found:
        found = False
        for text in smaller(source):
            if time.monotonic() > end:
                return source
            if len(text) < len(source) and fails(text):
                source, found = text, True
                break
    return source
