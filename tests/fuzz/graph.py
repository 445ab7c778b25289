"""Random tile programs as data: a list of nodes that renders to kernel source.

A program loads its inputs with `load_tile_like`, computes node after node, and stores the last one.
All tiles have rank 2; `shape` is what a node has inside one block.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilewright.base.dtypes import AnyDType

Shape = tuple[int, int]


@dataclass(frozen=True)
class Node:
    """One value: how it is made, and what is known of it. `bound` limits its magnitude."""

    op: str
    args: tuple[int, ...]
    dtype: AnyDType
    shape: Shape
    bound: float = 0.0
    param: Any = None


@dataclass
class Program:
    """Inputs first, then computed nodes; `extents` is the shape of the whole output."""

    tile: Shape
    extents: Shape
    inputs: list[AnyDType]
    nodes: list[Node] = field(default_factory=list)
    n: int = 0
    seed: int = 0

    @property
    def out(self) -> Node:
        return self.nodes[-1]

    @property
    def grid(self) -> tuple[int, int, int]:
        rows, columns = (-(-e // t) for e, t in zip(self.extents, self.tile, strict=True))
        return rows, columns, 1

    def source(self) -> str:
        names = [f"x{k}: tl.Tensor" for k in range(len(self.inputs))]
        lines = [f"def kernel(out: tl.TensorMut, {', '.join(names)}, n: i32) -> None:"]
        lines += [f"    {line}" for k, node in enumerate(self.nodes) for line in render(k, node)]
        lines.append(f"    out.store(v{len(self.nodes) - 1})")
        return "\n".join(lines) + "\n"


UNARY = {
    "neg": "-{0}", "abs": "abs({0})", "floor": "tl.floor({0})", "ceil": "tl.ceil({0})",
    "invert": "~{0}", "exp": "tl.exp({0})", "exp2": "tl.exp2({0})", "log": "tl.log({0})",
    "log2": "tl.log2({0})", "sqrt": "tl.sqrt({0})", "rsqrt": "tl.rsqrt({0})",
    "cbrt": "tl.cbrt({0})", "sin": "tl.sin({0})", "cos": "tl.cos({0})", "tanh": "tl.tanh({0})",
    "sinh": "tl.sinh({0})", "cosh": "tl.cosh({0})", "expm1": "tl.expm1({0})",
    "log1p": "tl.log1p({0})", "erf": "tl.erf({0})",
    "transpose": "{0}.T", "load": "tl.load_tile_like(x{p}, out)",
    "cast": "{0}.astype({d})", "constant": "tl.full({s}, {p}, {d})",
    "sum": "tl.reduce_sum({0}, {p}, keepdims=True)",
    "max": "tl.reduce_max({0}, {p}, keepdims=True)",
    "min": "tl.reduce_min({0}, {p}, keepdims=True)",
    "scan": "tl.scan_sum({0}, {p})", "broadcast": "{0}.broadcast({s})",
    "reshape": "{0}.reshape({s})",
}  # fmt: skip
BINARY = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}",
    "floordiv": "{0} // {1}", "mod": "{0} % {1}", "and": "{0} & {1}", "or": "{0} | {1}",
    "xor": "{0} ^ {1}", "lshift": "{0} << ({1} & 15)", "rshift": "{0} >> ({1} & 15)",
    "maximum": "tl.maximum({0}, {1})", "minimum": "tl.minimum({0}, {1})",
    "lt": "{0} < {1}", "le": "{0} <= {1}", "eq": "{0} == {1}", "ne": "{0} != {1}",
    "matmul": "{0} @ {1}", "where": "tl.where({0}, {1}, {2})",
}  # fmt: skip
EXPRESSIONS = UNARY | BINARY


def render(k: int, node: Node) -> list[str]:
    """The source lines that bind v<k>."""
    args = [f"v{a}" for a in node.args]
    if node.op == "loop":
        step, trips = node.param
        inner = EXPRESSIONS[step].format("acc", args[1])
        return [f"acc = {args[0]}", f"for _{k} in range({trips}):", f"    acc = {inner}",
                f"v{k} = acc"]  # fmt: skip
    if node.op == "if":
        return [f"if n > {node.param}:", f"    v{k} = {args[0]}", "else:", f"    v{k} = {args[1]}"]
    text = EXPRESSIONS[node.op].format(
        *args, p=getattr(node.param, "__name__", node.param), s=node.shape, d=node.dtype.__name__
    )
    return [f"v{k} = {text}"]
