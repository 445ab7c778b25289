"""Calls rules of the front end without a kernel: on given tiles, in an emitter of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.backend.reference.interpreter import RULES as REFERENCE
from tilewright.backend.reference.machine import Frame, ReferenceLaunch
from tilewright.backend.reference.storage import LaunchMemory
from tilewright.backend.reference.watch import Watch
from tilewright.base.dtypes import AnyDType
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.rules import RULES
from tilewright.frontend.semantics.builder import SemanticBuilder
from tilewright.ir.builder import make_op
from tilewright.ir.core import Block, Func, Op, Value
from tilewright.ir.printer import print_func
from tilewright.ir.signature import Signature
from tilewright.ir.types import PtrType, TileType
from tilewright.ir.verify import verify


class Kit:
    """An emitter whose inputs are tiles: `kit("operator.add", x, 1.0)` calls a rule."""

    def __init__(self) -> None:
        self.em = SemanticBuilder(Signature(()), unsafe=False)
        self.inputs: list[Value] = []

    def tile(self, dtype: AnyDType, *shape: int) -> Value:
        """A new input: a tile, or a scalar where no extents are given."""
        return self._input(TileType(dtype, shape))

    def pointers(self, dtype: AnyDType, *shape: int) -> Value:
        """A new input: a tile of pointers."""
        return self._input(TileType(PtrType(dtype), shape))

    def _input(self, kind: TileType) -> Value:
        self.inputs.append(Value(kind, "xyzw"[len(self.inputs)]))
        return self.inputs[-1]

    def __call__(self, name: str, *args: Any, **keywords: Any) -> Any:
        return RULES[name](self.em, *args, **keywords)

    @property
    def func(self) -> Func:
        """What was emitted so far, as a verified function."""
        body = Block((), [*self.em.block.ops, make_op("return")])
        func = Func("test", self.em.signature, tuple(self.inputs), body)
        verify(func)
        return func

    @property
    def ops(self) -> list[Op]:
        """The ops emitted so far."""
        return self.em.block.ops

    @property
    def text(self) -> str:
        """The ops emitted so far as text, a line each."""
        lines = print_func(self.func).splitlines()[1:-2]
        return "\n".join(line.strip() for line in lines)

    def compute(self, result: Value, *inputs: Any) -> np.ndarray[Any, Any]:
        """What the reference computes for a result, given the inputs' elements."""
        func = self.func
        launch = ReferenceLaunch(func, (1, 1, 1), LaunchMemory([], Watch()), REFERENCE, {})
        data = {v: np.asarray(a, v.tile.dtype.np) for v, a in zip(self.inputs, inputs, strict=True)}
        frame = Frame(launch, 0, (0, 0, 0), dict(data))
        with np.errstate(all="ignore"):
            frame.run(func.body)
        return frame.array(result)

    def refused(self, code: Code, name: str, *args: Any, **keywords: Any) -> CompileError:
        """Call a rule that must complain with this code; its complaint."""
        with pytest.raises(CompileError) as caught:
            self(name, *args, **keywords)
        assert caught.value.code is code, caught.value
        return caught.value
