"""IR from its printed text, so that tests of passes read as text in, text out.

`parse` takes what `print_func` gives (launch checks excepted). Result types are computed by the
ops' own rules; only those of `if` and `scope` are read from the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from textwrap import dedent

from tilewright.base.dtypes import ALL, AnyDType
from tilewright.ir import attrs as words
from tilewright.ir.builder import Given, make_op
from tilewright.ir.core import Block, Func, Op, Value
from tilewright.ir.ops import OPS
from tilewright.ir.printer import print_func
from tilewright.ir.signature import (
    OutputSpec,
    ParamSpec,
    PointerSpec,
    ScalarSpec,
    Signature,
    TensorSpec,
)
from tilewright.ir.types import TOKEN, PtrType, TensorType, TileType, Type, ViewType
from tilewright.ir.verify import verify

DTYPES: dict[str, AnyDType] = {d.name: d for d in ALL}
ENUMS = {
    "rounding": words.Rounding, "overflow": words.Overflow, "predicate": words.Predicate,
    "ordering": words.Ordering, "scope": words.Scope, "mode": words.AtomicMode,
    "what": words.ThreadCoordinate,
}  # fmt: skip
PLAIN = {"True": True, "False": False, "None": None, "nan": float("nan"), "inf": float("inf"),
         "-inf": float("-inf")}  # fmt: skip

LINE = re.compile(
    r"^(?:(?P<results>%[\w, %]+) = )?(?P<name>\w+)(?P<operands>(?: %\w+,?)*)"
    r"(?: \{(?P<attrs>[^{}]*)\})?(?: : (?P<types>.*?))?(?P<open> \{(?: \((?P<args>.*)\))?)?$"
)


def parse(text: str, *, grid: tuple[int, ...] | None = None) -> Func:
    """A verified function from text; `grid` makes the launch grid static."""
    return _Parser(dedent(text).strip().splitlines(), grid).func()


def apply(run: Callable[[Func], Func], text: str, *, grid: tuple[int, ...] | None = None) -> str:
    """What a pass makes of a text; the result is verified and the input left as it was."""
    before = parse(text, grid=grid)
    printed = print_func(before)
    after = run(before)
    verify(after, getattr(run, "__name__", ""))
    sources = [(op.results, *(region.args for region in op.regions)) for op in after.walk()]
    defined = [value for source in sources for values in source for value in values]
    assert len(defined) == len(set(defined)), "a value is defined twice"
    assert print_func(before) == printed, "the pass changed its input"
    return print_func(after)


def expect(
    run: Callable[[Func], Func], before: str, after: str, *, grid: tuple[int, ...] | None = None
) -> None:
    """Run a pass on bodies of functions with the parameters below; compare the printed text.

    In `after` values may have any names, and result types are left out where not needed.
    """
    used = parameters(before)
    got, want = apply(run, kernel(before, used), grid=grid), kernel(after, used)
    got, want = (_short(print_func(_nameless(parse(text, grid=grid)))) for text in (got, want))
    assert got == want, f"\n--- got\n{got}\n--- expected\n{want}\n"


def unchanged(run: Callable[[Func], Func], text: str) -> None:
    """A pass must leave this body as it is."""
    expect(run, text, text)


PARAMETERS = {
    "n": "tile<i32>", "m": "tile<i32>", "k": "tile<i32>", "u": "tile<u32>", "c": "tile<bool>",
    "d": "tile<bool>", "f": "tile<f32>", "g": "tile<f32>", "h": "tile<f32>",
    "x": "tensor<?xf32, strides=[1]>", "y": "tensor<?xf32, strides=[1]>",
    "z": "tensor_mut<?xf32, strides=[1]>", "w": "tensor_mut<?x?xf32, strides=[?,1]>",
    "s": "tensor<100xf32, strides=[1]>", "half": "tensor<?xf16, strides=[1]>",
    "p": "tile<ptr<f32>>",
}  # fmt: skip
"""What bodies in tests may name: those they mention become the function's parameters."""


def parameters(body: str) -> list[str]:
    """The parameters that a body mentions and does not make itself."""
    named, made = (set(re.findall(p, body)) for p in (r"%(\w+)", r"%(\w+)(?=[^\n{]* = |: )"))
    return [name for name in PARAMETERS if name in named - made]


def kernel(body: str, used: Sequence[str] | None = None) -> str:
    """A whole function around a body."""
    names = parameters(body) if used is None else used
    given = ", ".join(f"%{name}: {PARAMETERS[name]}" for name in names)
    lines = "\n".join(f"  {line}" for line in dedent(body).strip("\n").splitlines())
    return f"kernel test({given}) {{\n{lines}\n}}\n"


def _nameless(func: Func) -> Func:
    for op in func.walk():
        for value in (*op.results, *(arg for region in op.regions for arg in region.args)):
            value.name = ""
    return func


def _short(text: str) -> str:
    return "\n".join(_without_types(line) for line in text.splitlines())


def _without_types(line: str) -> str:
    found = LINE.match(line.strip())
    if found is None or found["types"] is None or found["name"] in ("if", "scope"):
        return line
    return line.replace(f" : {found['types']}", "", 1)


class _Parser:
    def __init__(self, lines: Sequence[str], grid: tuple[int, ...] | None) -> None:
        self.lines = [line.strip() for line in lines]
        self.at = 0
        self.grid = grid
        self.values: dict[str, Value] = {}

    def next(self) -> str:
        self.at += 1
        return self.lines[self.at - 1]

    def func(self) -> Func:
        head = re.match(r"kernel (\w+)\((.*)\) \{", self.next())
        assert head, "expected `kernel name(...) {`"
        params = tuple(self.define(p, param=True) for p in _split(head[2]))
        body = self.block(())
        signature = Signature(tuple(map(_spec, params)), grid=self.grid)
        made = Func(head[1], signature, params, body)
        verify(made, "parse")
        return made

    def define(self, text: str, param: bool = False) -> Value:
        name, kind = text.split(": ", 1)
        return self.value(name, _type(kind, name[1:] if param else None))

    def value(self, name: str, kind: Type) -> Value:
        label = name.strip().removeprefix("%")
        self.values[label] = Value(kind, "" if label.isdigit() else label)
        return self.values[label]

    def block(self, args: tuple[Value, ...]) -> Block:
        block = Block(args)
        while not self.lines[self.at].startswith("}"):
            if line := self.next():
                block.ops.append(self.op(line))
        return block

    def op(self, line: str) -> Op:
        found = LINE.match(line)
        assert found, f"cannot read: {line}"
        names = [n.strip() for n in (found["results"] or "").split(",") if n.strip()]
        operands = [self.values[n] for n in re.findall(r"%(\w+)", found["operands"] or "")]
        given = dict(part.split("=", 1) for part in _split(found["attrs"] or ""))
        attrs = {key: _attr(key, text) for key, text in given.items()}
        if found["name"] in ("if", "scope"):
            attrs["types"] = tuple(_type(t) for t in _split(found["types"] or ""))
        regions = self.regions(found["args"] or "") if found["open"] else ()
        groups = _grouped(found["name"], operands)
        op = make_op(found["name"], *groups, regions=regions, attrs=attrs)
        for name, result in zip(names, op.results, strict=True):
            result.name = self.value(name, result.type).name
            self.values[name.removeprefix("%")] = result
        return op

    def regions(self, args: str) -> tuple[Block, ...]:
        regions = [self.block(tuple(self.define(a) for a in _split(args)))]
        while (line := self.next()) != "}":
            assert line == "} else {", f"expected an end of a region: {line}"
            regions.append(self.block(()))
        return tuple(regions)


def _split(text: str) -> list[str]:
    """The parts between commas that are not inside brackets."""
    return [part.strip() for part in _parts(text) if part.strip()]


def _parts(text: str) -> list[str]:
    depth, parts = 0, [""]
    for c in text:
        depth += (c in "<([") - (c in ">)]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return parts


def _attr(key: str, text: str) -> object:
    if text.startswith("("):
        return tuple(_attr(key, t) for t in _split(text[1:-1]))
    if text in PLAIN:
        return PLAIN[text]
    if text[0] in "'\"":
        return text[1:-1]
    if text in DTYPES:
        return DTYPES[text]
    if key in ENUMS:
        return ENUMS[key](text)
    return float(text) if re.search(r"[.e]", text) else int(text)


def _type(text: str, param: str | None = None) -> Type:
    if text == "token":
        return TOKEN
    head, inner = text.split("<", 1)
    inner = inner[:-1]
    if head == "tile":
        *dims, elem = re.split(r"(?<=\d)x", inner)
        of = PtrType(DTYPES[elem[4:-1]]) if elem.startswith("ptr<") else DTYPES[elem]
        return TileType(of, tuple(map(int, dims)))
    *dims, dtype = re.split(r"x", inner.split(", ")[0])
    strides = inner.split("[")[1].rstrip("]").split(",")
    shape = tuple(_extent(d) for d in dims)
    mutable = head == "tensor_mut"
    return TensorType(DTYPES[dtype], shape, tuple(map(_extent, strides)), mutable, param)


def _extent(text: str) -> int | None:
    return None if text == "?" else int(text)


def _grouped(name: str, operands: list[Value]) -> list[Given]:
    """Flat operands to one group per declared operand: `*` takes what its op needs."""
    rest, groups = list(operands), list[tuple[Value, ...]]()
    for spec in OPS[name].operands:
        count = 1
        if spec.arity == "*":
            view = next((v.type for v in operands if isinstance(v.type, ViewType)), None)
            count = len(rest) if view is None else view.rank
        elif spec.arity == "?":
            count = int(bool(rest) and (rest[0].type == TOKEN) == (spec.name == "token"))
        groups.append(tuple(rest[:count]))
        rest = rest[count:]
    assert not rest, f"{name}: operands left over"
    return [*groups]


def _spec(value: Value) -> ParamSpec:
    kind = value.type
    if isinstance(kind, TensorType):
        if kind.mutable:
            return OutputSpec(value.name, kind.dtype, kind.shape, kind.strides, (1,) * kind.rank)
        return TensorSpec(value.name, kind.dtype, kind.shape, kind.strides)
    assert isinstance(kind, TileType)
    if isinstance(kind.elem, PtrType):
        return PointerSpec(value.name, kind.elem.to)
    return ScalarSpec(value.name, kind.dtype)
