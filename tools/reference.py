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

from tilewright import lang, simt
from tilewright.kernels import cooperative as of_threads
from tilewright.lang import stdlib
from tilewright.lang.compat import CANONICAL
from tilewright.lang.marker import composed_body, declared_name

STDLIB, COOPERATIVE = "stdlib", "cooperative"
TOPICS: dict[str, dict[str, str]] = {
    "elementwise": {
        "arithmetic": "maximum", "math": "ceil", "comparison": "cmpi", "bitwise": "andi",
        "conversion": "astype",
    },
    "layout": {"creation": "zeros", "layout": "reshape"},
    "reduction": {"reduction": "reduce_sum"},
    "matmul": {"matmul": "mma"},
    "memory": {"memory": "load_tile_like", "atomics": "atomic_rmw"},
    "pointer": {"pointer": "pointer_to_tile"},
    "control": {"control": "static_range", "grid": "get_tile_block_id", "debug": "cuda_tile_print"},
    "simt": {
        "threads": "index_1d", "shared": "shared", "warps": "lane_id", "assembly": "inline_ptx",
    },
}  # fmt: skip
"""Pages by module of `lang`, each with the first function that it lists: readers look for one topic
of a family. A page lists all functions up to the first of the next one."""
PAGES = (*(topic for topics in TOPICS.values() for topic in topics), STDLIB, COOPERATIVE)
"""The pages with a table: one per topic, one of the functions that ops compose, and one of the
functions of threads that are written in their language."""
FOLDER = Path(__file__).parent.parent / "docs" / "reference"
BEGIN, END = "<!-- functions: written by tools/reference.py -->\n", "<!-- end of functions -->\n"


def functions(topic: str) -> list[FunctionType]:
    """Return the functions that a page lists, in the order in which they are written."""
    if topic == STDLIB:
        names = [module.name for module in pkgutil.iter_modules(stdlib.__path__, "stdlib.")]
        return [function for name in names for function in declared(name)]
    if topic == COOPERATIVE:
        written = vars(of_threads).values()
        return [f for f in written if isinstance(f, FunctionType) and f in vars(simt).values()
                and f.__module__ == of_threads.__name__]  # fmt: skip
    module, topics = next((m, topics) for m, topics in TOPICS.items() if topic in topics)
    found = declared(module)
    starts = {name: i for i, name in enumerate(f.__name__ for f in found)}
    bounds = [*(starts[first] for first in topics.values()), len(found)]
    place = list(topics).index(topic)
    return found[bounds[place] : bounds[place + 1]]


def declared(name: str) -> list[FunctionType]:
    """Return the functions that a module of `lang` declares or composes for kernels."""
    module = importlib.import_module(f"tilewright.lang.{name}")
    return [
        value
        for value in vars(module).values()
        if isinstance(value, FunctionType)
        and (declared_name(value) is not None or composed_body(value) is not None)
        and value.__module__ == module.__name__
        and (hasattr(lang, value.__name__) or hasattr(simt, value.__name__))
    ]


def call(function: FunctionType) -> str:
    """How a function is called: its parameters with their defaults, without types."""
    signature = inspect.signature(function)
    plain = [
        p.replace(annotation=p.empty, default=p.default if p.default is p.empty else _Text(p))
        for p in signature.parameters.values()
    ]
    return f"{function.__name__}{inspect.Signature(plain)}".replace("|", "\\|")


def default_of(parameter: inspect.Parameter) -> str:
    """Return the default value of a parameter as a program would write it."""
    return _Text(parameter).text


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


def table(topic: str) -> str:
    """One row per function: the call and the first line of its docstring; then the synonyms."""
    found = functions(topic)
    rows = [
        f"| `{call(f)}` | {(f.__doc__ or '').splitlines()[0]} |"
        for f in found
        if f.__name__ not in CANONICAL
    ]
    lines = ["| function | |", "|---|---|", *rows] if rows else []
    others = [f for f in found if f.__name__ in CANONICAL]
    if others:
        lines += [""] * bool(lines)
        lines += ["Synonyms, in `tl.compat`, and what to write instead:", ""]
        lines += ["| synonym | write |", "|---|---|"]
        lines += [f"| `{call(f)}` | {_canonical(f.__name__)} |" for f in others]
    return "\n".join(lines) + "\n"


def _canonical(name: str) -> str:
    written = CANONICAL[name].replace("|", "\\|")
    return f"`{written}`"


def page(topic: str) -> Path:
    """Where the topic is described."""
    return FOLDER / f"{topic}.md"


def rewritten(topic: str) -> str:
    """The topic's page with its table up to date."""
    text = page(topic).read_text(encoding="utf-8")
    if BEGIN not in text:
        return text
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table(topic)}\n{END}{after}"


def main() -> None:
    """Rewrite every page that there is."""
    for topic in PAGES:
        if page(topic).exists():
            page(topic).write_text(rewritten(topic), encoding="utf-8")


if __name__ == "__main__":
    main()
