"""Describe each function of kernels for the book: signature, parameters, types, errors, example.

What is told is asked: signatures and types come from the declarations, the element types that a
function takes and the message for those that it refuses from the compiler, results from a run on
the reference device.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator
from types import FunctionType
from typing import get_overloads

import numpy as np

import reference
import tilewright as tw
import tilewright.lang as tl
from book.evaluation import IMPORTS, example
from book.function_examples import ELSEWHERE, EXPRESSIONS
from tilewright.lang.compat import CANONICAL

PARAMETERS: dict[str, str] = {
    "x": "a tile or a scalar",
    "a": "the first operand: a tile, a scalar or a number; shapes broadcast",
    "b": "the second operand; shapes broadcast",
    "c": "the third operand; shapes broadcast",
    "tile": "a tile",
    "tiles": "a tuple of tiles of one shape",
    "value": "a number, a scalar or a tile",
    "lower": "the least value",
    "upper": "the greatest value",
    "axis": "an axis, from the end if negative; None reduces all axes, a tuple several",
    "keepdims": "whether reduced axes stay, with extent 1",
    "precise": "on a GPU: do not use the approximation of the hardware",
    "ftz": "whether subnormal f32 may be flushed to zero",
    "rounding": "the rounding, one of `tl.Rounding`",
    "overflow": "what the caller promises about overflow, one of `tl.Overflow`",
    "predicate": "the comparison, one of `tl.Predicate`",
    "unordered": "the result where an operand is NaN",
    "signed": "whether integers are compared as signed; by default as their type says",
    "condition": "bools, a tile or a scalar",
    "shape": "constants, each a power of two; an int is a shape of rank 1",
    "dtype": "an element type, such as `tw.f32`",
    "start": "the first number; alone, the number of elements",
    "stop": "the end, not included",
    "order": "a permutation of the axes",
    "axis0": "an axis",
    "axis1": "an axis",
    "index": "the place, per axis; counts parts or tiles, not elements",
    "sections": "the number of equal parts",
    "identity": "the neutral element of the combiner; a tuple for several tiles",
    "combiner": "a function of two elements, associative and commutative",
    "reverse": "whether to begin at the end",
    "acc": "the tile that is added to; its type is the type of the result",
    "fast_acc": "whether products of 8-bit floats may be added in a shorter type",
    "a_scale": "one scale per run of elements of a row",
    "b_scale": "one scale per run of elements of a column",
    "k": "how many; a constant power of two",
    "largest": "whether the largest come first, else the smallest",
    "descending": "whether the largest come first",
    "seed": "the seed, a scalar u64 or int",
    "offset": "the number of each element, a tile of integers",
    "low": "the least result",
    "high": "the end of the results, not included",
    "ddof": "what is subtracted from the number of elements",
    "approximate": '"none", or "tanh" for the approximation',
    "src": "the tensor that is loaded",
    "dst": "the output whose tile gives the position",
    "out": "an output of the kernel",
    "padding": "the value of elements outside of the tensor",
    "partition": "a partition of a tensor",
    "tensor": "a tensor",
    "pointer": "a pointer",
    "pointers": "a tile of pointers, or one",
    "by": "a number of elements",
    "addresses": "i64, in bytes",
    "mask": "bools: where memory is touched",
    "fill": "the result where the mask is false",
    "ordering": "the memory order",
    "scope": "which threads the order holds for",
    "latency": "a hint: how many steps ahead to load",
    "offsets": "elements after the pointer, a tile of integers",
    "mode": "what is done: add, max, min, and, or, xor, xchg",
    "compare": "the expected value",
    "strides": "elements from one item of an axis to the next; row-major if left out",
    "steps": "elements from the start of one tile to the next, per axis",
    "view": "a view or partition of a tensor",
    "divisor": "a constant",
    "every": "the distance between elements that are promised",
    "groups": "the shape of a group",
    "source": "a `tl.Global`",
    "lane": "the number of a lane",
    "delta": "how many lanes away",
    "bits": "what the number of the lane is combined with",
    "width": "the lanes of a segment: a power of two up to 32",
    "template": "the text; `{}` stands for a value",
    "values": "what is printed",
    "message": "what the error says",
    "args": "what is printed",
    "array": "a tuple",
    "step": "the distance of two numbers",
    "allow_tma": "whether a bulk copy may move the tile; None leaves it to the compiler",
    "base": "a pointer to the first element",
    "cond": "what must hold, or the choice per element",
    "dim_map": "axis k of a tile runs along axis dim_map[k] of the tensor",
    "nan": "whether a NaN operand wins, as in NumPy; else the other operand does",
    "rest": "more values",
    "result": "the element type of the result, or a tuple",
    "text": "the template: `{}` stands for a value",
}
"""What a parameter means, wherever the name occurs."""

PROBED = {
    "i32": "integers", "u32": "unsigned integers", "f16": "f16", "f32": "f32", "f64": "f64",
    "bool_": "bool",
}  # fmt: skip
"""The element types that the compiler is asked about."""

ANY_WIDTH = {"mma", "mmaf", "bitcast"}
"""Functions whose operands have related types, which their pages describe."""

TYPED = re.compile(r"\b[xyijbm]\b")


def details(topic: str) -> str:
    """Return the sections that a page of the book has below its table of functions."""
    return "\n".join(section(function, topic) for function in reference.functions(topic))


def section(function: FunctionType, topic: str) -> str:
    """Return the section of one function, as Markdown."""
    name = function.__name__
    space = "tl" if hasattr(tl, name) else "simt"
    lines = [f"### {space}.{name} {{ #{name} }}", ""]
    if name in CANONICAL:
        lines += [f"*Synonym, in `tl.compat`.* Write `{CANONICAL[name]}` instead.", ""]
    lines += ["```python", *signatures(function), "```", "", _prose(function), ""]
    lines += _parameters(function)
    lines += ["", *_types(name), *_shown(name), ""]
    return "\n".join(lines)


def signatures(function: FunctionType) -> list[str]:
    """Return how a function is called, with types, one line per overload."""
    declared = get_overloads(inspect.unwrap(function)) or [inspect.unwrap(function)]
    return [f"{function.__name__}{_signature(each)}" for each in declared]


def _signature(function: object) -> str:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    shown: list[str] = []
    star = False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        star = star or p.kind is p.VAR_POSITIONAL
        default = "" if p.default is p.empty else f" = {reference.default_of(p)}"
        prefix = "*" if p.kind is p.VAR_POSITIONAL else ""
        shown.append(f"{prefix}{p.name}: {_named(p.annotation)}{default}")
    return f"({', '.join(shown)}) -> {_named(signature.return_annotation)}"


def _named(annotation: object) -> str:
    return (
        annotation
        if isinstance(annotation, str)
        else getattr(annotation, "__name__", str(annotation))
    )


def _prose(function: FunctionType) -> str:
    return inspect.cleandoc(function.__doc__ or "")


def _parameters(function: FunctionType) -> Iterator[str]:
    yield "| parameter | type | |"
    yield "|---|---|---|"
    for p in inspect.signature(inspect.unwrap(function)).parameters.values():
        type_ = _named(p.annotation).replace("|", "\\|")
        yield f"| `{p.name}` | `{type_}` | {PARAMETERS.get(p.name, '')} |"


def _types(name: str) -> Iterator[str]:
    code = EXPRESSIONS.get(name, "")
    if name in ANY_WIDTH or "\n" in code or not TYPED.search(code):
        return
    taken: list[str] = []
    refused = ""
    for dtype in PROBED:
        said = _refusal(code, dtype)
        if said is None:
            taken.append(PROBED[dtype])
        else:
            refused = refused or said
    yield f"Element types: {', '.join(taken)}." if taken else ""
    yield ""
    if refused:
        yield "Another type is a `CompileError`:"
        yield ""
        yield from ["```text", *refused.splitlines(), "```", ""]


def _refusal(code: str, dtype: str) -> str | None:
    """Return what the compiler says about a call on tiles of a type; None if it takes them."""
    text = TYPED.sub(lambda found: f"of_{found[0]}", re.sub(r"\.astype\(tw\.\w+\)", "", code))
    shapes = {name: (2, 4) if name == "m" else (4,) for name in "xyijbm"}
    loads = "".join(
        f"    of_{name} = {name}.load_tile({shape}, {[0] * len(shape)})\n"
        for name, shape in shapes.items()
    )
    kernel = tw.exec(
        f"{IMPORTS}@tw.entry\ndef example(x: tl.Tensor, y: tl.Tensor, i: tl.Tensor, j: tl.Tensor, "
        f"b: tl.Tensor, m: tl.Tensor, n: tw.i32) -> None:\n{loads}    value = {text}\n"
    )["example"]
    element = getattr(tw, dtype)
    masks = set(TYPED.findall(code)) != {"b"}  # beside other tiles `b` is a condition
    types = {name: np.bool_ if name == "b" and masks else element.np for name in shapes}
    like = [np.zeros(shape, types[name]) for name, shape in shapes.items()]
    with warnings.catch_warnings(), tw.device("reference"):
        warnings.simplefilter("ignore")
        op = kernel(*like, 3).grid((1,))
        try:
            op.compile()
        except tw.CompileError as error:
            parts = [("", error.message), ("  expected: ", error.expected), ("  got: ", error.got),
                     ("  hint: ", error.hint)]  # fmt: skip
            return "\n".join(f"{label}{said}" for label, said in parts if said)
        finally:
            op.close()
    return None


def _shown(name: str) -> Iterator[str]:
    if name in ELSEWHERE:
        yield f"Example: [there]({ELSEWHERE[name]})."
        return
    shown = example(name)
    if shown is not None:
        given = f"  # {shown.given}" if shown.given else ""
        first, *rest = shown.code.splitlines()
        yield from ["```python", first + given, *rest, "```", ""]
        yield from ["```output", shown.output, "```", ""]
