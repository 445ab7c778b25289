"""Writes functions of plain loops over memory: what multiplying and turning tiles share."""

from __future__ import annotations

from collections.abc import Callable

from ..functions.text import Body, vector
from ..functions.text import Value as Vec

BYTES = {"i8": 1, "i16": 2, "i32": 4, "float": 4}
"""Bytes of an element; all others take 8."""


class LoopWriter:
    """A function under construction, on elements of one LLVM type."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.body = Body()

    def number(self, n: int) -> Vec:
        """A constant."""
        return self.body.constant("i64", 1, n)

    def pointer(self, name: str) -> Vec:
        """A parameter."""
        return Vec(self.body, name, "ptr", 1)

    def at(self, address: Vec, offset: Vec) -> Vec:
        """An address some elements further on."""
        return self.body.emit(f"getelementptr {self.kind}, {address}, {offset}", "ptr", 1)

    def loop(self, count: int, inner: Callable[[Vec], None]) -> None:
        """Run `inner` for 0 .. count - 1."""
        if count == 0:
            return
        if count == 1:
            inner(self.number(0))
            return
        body = self.body
        before, head, after = body.block, body.fresh("loop"), body.fresh("after")
        body.jump(head)
        body.label(head)
        place = len(body.lines)
        i = body.emit("", "i64", 1)
        inner(i)
        following = i + 1
        text = f"phi i64 [ 0, %{before} ], [ {following.name}, %{body.block} ]"
        body.lines[place] = f"  {i.name} = {text}"
        more = following.compare("", "ult", count)
        body.lines.append(f"  br {more}, label %{head}, label %{after}")
        body.label(after)

    def load(self, address: Vec, lanes: int) -> Vec:
        """Neighbouring elements."""
        text = f"load {vector(self.kind, lanes)}, {address}, align {BYTES.get(self.kind, 8)}"
        return self.body.emit(text, self.kind, lanes)

    def store(self, value: Vec, address: Vec) -> None:
        """Neighbouring elements."""
        self.body.lines.append(f"  store {value}, {address}, align {BYTES.get(self.kind, 8)}")

    def function(self, symbol: str, parameters: tuple[str, ...]) -> str:
        """The text of the whole function."""
        given = ", ".join(f"ptr noalias {name}" for name in parameters)
        lines = "\n".join(self.body.lines)
        return (
            f'define internal void {symbol}({given}) noinline nounwind "no-builtins" {{\n'
            f"entry:\n{lines}\n  ret void\n}}\n"
        )
