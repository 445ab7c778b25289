"""Describe each function of kernels for the book: signature, parameters, types, errors, example.

What is told is asked: signatures and types come from the declarations, the element types that a
function takes and the message for those that it refuses from the compiler, results from a run on
the reference device.
"""

from __future__ import annotations

import inspect
import re
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import get_overloads

import numpy as np

import reference
import tilewright as tw
import tilewright.lang as tl
from book.evaluation import IMPORTS, example, host_example, result
from book.function_examples import ELSEWHERE, EXPRESSIONS
from book.locate import fenced
from tilewright import distributed, jit_cache, ops, simt, testing, tune
from tilewright.interop import cuda
from tilewright.lang.compat import CANONICAL

_MEANINGS: dict[str, dict[str, str]] = tomllib.loads(
    (Path(__file__).parent / "function_parameters.toml").read_text(encoding="utf-8")
)
PARAMETERS, HOST_PARAMETERS = _MEANINGS["kernels"], _MEANINGS["host"]

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


HOST_PAGE, OPS_PAGE = "reference/host.md", "reference/ops.md"


HOST_MODULES = {
    "tw": tw, "simt": simt, "tw.tune": tune, "tw.distributed": distributed,
    "tw.jit_cache": jit_cache, "tilewright.testing": testing, "tilewright.interop.cuda": cuda,
}  # fmt: skip
"""Modules by the names that programs of the host have for them."""


def host_functions() -> dict[str, FunctionType]:
    """Return the public functions of the host by the names that programs use, in their order."""
    in_kernels = {function for topic in reference.PAGES for function in reference.functions(topic)}
    found: dict[FunctionType, str] = {}
    for module, values in HOST_MODULES.items():
        for name in sorted(values.__all__):
            value = getattr(values, name)
            if isinstance(value, FunctionType) and value not in in_kernels:
                found.setdefault(value, f"{module}.{name}")  # its shortest name
    return {name: function for function, name in found.items()}


def host_details() -> str:
    """Return the sections that the page of the host has in the book."""
    return "\n".join(host_section(name, function) for name, function in host_functions().items())


def host_section(called: str, function: FunctionType) -> str:
    """Return the section of one function of the host, as Markdown."""
    name = called.removeprefix("tw.")
    lines = [f"### {called} {{ #{called} }}", "", "```python", *signatures(function), "```", ""]
    lines += [_prose(function), "", *_parameters(function, HOST_PARAMETERS), ""]
    if name in ELSEWHERE:
        lines += [f"Example: [there]({ELSEWHERE[name]}).", ""]
    shown = host_example(name)
    if shown is not None:
        lines += ["```python", shown.code, "```", "", "```output", shown.output, "```", ""]
    return "\n".join(lines)


def ops_details() -> str:
    """Return what the page of the operations has in the book: their docstrings."""
    listed = "\n".join(f"        - {name}" for name in ops.__all__)
    options = (
        "      show_root_heading: false\n      show_root_toc_entry: false\n      heading_level: 3"
    )
    return f"::: tilewright.ops\n    options:\n{options}\n      members:\n{listed}\n"


def section(function: FunctionType, topic: str) -> str:
    """Return the section of one function, as Markdown."""
    name = function.__name__
    space = "tl" if hasattr(tl, name) else "simt"
    lines = [f"### {space}.{name} {{ #{name} }}", ""]
    if name in CANONICAL:
        lines += [f"*Synonym, in `tl.compat`.* Write `{CANONICAL[name]}` instead.", ""]
    lines += ["```python", *signatures(function), "```", "", _prose(function), ""]
    lines += _parameters(function, PARAMETERS)
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
    return fenced(inspect.cleandoc(function.__doc__ or ""))


def _parameters(function: FunctionType, meanings: dict[str, str]) -> Iterator[str]:
    yield "| parameter | type | |"
    yield "|---|---|---|"
    for p in inspect.signature(inspect.unwrap(function)).parameters.values():
        type_ = _named(p.annotation)
        meaning = meanings.get(f"{p.name}: {type_}") or meanings[p.name]
        escaped = type_.replace("|", "\\|")
        yield f"| `{p.name}` | `{escaped}` | {meaning} |"


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
    if name in EXPRESSIONS and (kind := result(name)):
        yield from [f"The result is {kind}.", ""]
