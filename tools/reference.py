"""Takes the declarations in `tilewright.lang`, gives the tables of functions in docs/reference.

    python tools/reference.py

rewrites, on each family's page, what stands between the two marker lines.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from types import FunctionType

from tilewright.ir.ops import FAMILIES
from tilewright.lang import stdlib
from tilewright.lang.marker import composed_body, declared_name

STDLIB = "stdlib"
PAGES = (*FAMILIES, STDLIB)
"""The pages with a table: one per family of ops, and one of the functions that ops compose."""
FOLDER = Path(__file__).parent.parent / "docs" / "reference"
BEGIN, END = "<!-- functions: written by tools/reference.py -->\n", "<!-- end of functions -->\n"


def functions(family: str) -> list[FunctionType]:
    """The functions a family declares or composes, in the order in which they are written."""
    found = pkgutil.iter_modules(stdlib.__path__, "stdlib.") if family == STDLIB else ()
    names = [module.name for module in found] or [family]
    modules = [importlib.import_module(f"tilewright.lang.{name}") for name in names]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, FunctionType)
        and (declared_name(value) is not None or composed_body(value) is not None)
        and value.__module__ == module.__name__
    ]


def call(function: FunctionType) -> str:
    """How a function is called: its parameters with their defaults, without types."""
    signature = inspect.signature(function)
    plain = [
        p.replace(annotation=p.empty, default=p.default if p.default is p.empty else _Text(p))
        for p in signature.parameters.values()
    ]
    return f"{function.__name__}{inspect.Signature(plain)}".replace("|", "\\|")


class _Text:
    """A default value that prints as a program would write it."""

    def __init__(self, parameter: inspect.Parameter) -> None:
        value = parameter.default
        name = getattr(value, "name", None)
        owner = type(value).__name__
        self.text = f"{owner}.{name}" if isinstance(value, str) and name else _short(value)

    def __repr__(self) -> str:
        return self.text


def _short(value: object) -> str:
    if value is ...:
        return "..."
    return value.__name__ if isinstance(value, type) else repr(value)


def table(family: str) -> str:
    """One row per function: the call and the first line of its docstring."""
    rows = [f"| `{call(f)}` | {(f.__doc__ or '').splitlines()[0]} |" for f in functions(family)]
    return "\n".join(["| function | |", "|---|---|", *rows]) + "\n"


def page(family: str) -> Path:
    """Where the family is described."""
    return FOLDER / f"{family}.md"


def rewritten(family: str) -> str:
    """The family's page with its table up to date."""
    text = page(family).read_text(encoding="utf-8")
    if BEGIN not in text:
        return text
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table(family)}\n{END}{after}"


def main() -> None:
    """Rewrite every page that there is."""
    for family in PAGES:
        if page(family).exists():
            page(family).write_text(rewritten(family), encoding="utf-8")


if __name__ == "__main__":
    main()
