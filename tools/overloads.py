"""Writes launch/_generated_overloads.py and launch/_generated_simt.py: launchers typed by arity.

    python tools/overloads.py

Type checkers cannot map a kernel's parameters to what the host passes for them, so there is one
class per number of positional parameters. Its call gives back exactly what was passed. Their names
are lost on the way, so a call by keywords alone is taken as it comes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "src/tilewright/launch"
NAMES = "ABCDEFGHJKMNQRST"
"""Of the type variables, one per argument; without the letters that look like digits, and P."""
MOST = len(NAMES)
WIDTH = 100
"""Columns of a line; the formatter would give each parameter one of its own."""

HEAD = '''\
"""{title} typed by their number of arguments. Written by tools/overloads.py; do not edit."""

# The longest match comes first, so that each overload is narrower than those below it.
# pyright: reportOverlappingOverload=false

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, overload

{imports}
if TYPE_CHECKING:
    from typing import Concatenate, TypeAlias

    from ..op.core import DeviceOp

# fmt: off
P = ParamSpec("P")
'''


@dataclass(frozen=True, slots=True)
class Kind:
    """A decorator and the classes it gives."""

    file: str
    title: str
    imports: str
    word: str
    """The decorator's name."""
    written: str
    """How users write it."""
    prefix: str
    noun: str
    base: str
    launch: str
    function: str
    """The decorator itself, with options."""


ENTRY = Kind(
    file="_generated_overloads.py",
    title="Kernels",
    imports="""\
from ..compile.hints import GivenHints
from ..frontend.preconditions import Asked, Preconditions
from .definition import Entry, make_entry
from .given import KernelArg
from .operation import Launch
""",
    word="entry",
    written="@tw.entry",
    prefix="Entry",
    noun="A kernel",
    base="Entry",
    launch="Launch",
    function='''\
@overload
def entry(
    *,
    unsafe: bool = False,
    source: str | None = None,
    preconditions: Preconditions = (),
    deny_in_kernel_checks: bool = False,
    unchecked_accesses: bool = False,
    hints: GivenHints = None,
) -> Decorator: ...
def entry(
    function: Callable[..., None] | None = None,
    /,
    *,
    unsafe: bool = False,
    source: str | None = None,
    preconditions: Preconditions = (),
    deny_in_kernel_checks: bool = False,
    unchecked_accesses: bool = False,
    hints: GivenHints = None,
) -> Any:
    """Turn a function into a kernel: `@tw.entry`, or `@tw.entry(unsafe=True)`.

    Calling the kernel builds the op that runs it; its result is the tuple of the very objects
    passed. `unsafe=True` allows raw pointers, and its launches are built inside `tw.unsafe()`.
    `source` is the text to compile where Python cannot show it.

    `preconditions` are conditions on extents, such as `tw.dim("x", 1) == tw.dim("y", 0)`: each
    launch checks them, and the compiler believes them. With `deny_in_kernel_checks=True` it is an
    error if the kernel must check an index itself; with `unchecked_accesses=True`, which needs
    `unsafe=True`, nobody checks any.

    `hints` are for the code generator on CUDA: a `CompileOptions`, or a mapping from architectures
    to them, such as `{"sm_90": tw.CompileOptions(occupancy=2)}`, where `"default"` holds for what
    an architecture does not say. What a launch asks by `.compile_options(...)` goes before them.
    """
    asked = Asked(preconditions, deny_in_kernel_checks, unchecked_accesses)
    return make_entry(function, unsafe=unsafe, source=source, asked=asked, hints=hints)
''',
)

SIMT = Kind(
    file="_generated_simt.py",
    title="SIMT kernels",
    imports="""\
from ..array.shape import ShapeLike
from .given import KernelArg
from .simt import SimtEntry, SimtLaunch, make_kernel
""",
    word="kernel",
    written="@simt.kernel",
    prefix="Simt",
    noun="A SIMT kernel",
    base="SimtEntry",
    launch="SimtLaunch",
    function='''\
@overload
def kernel(
    *,
    domain: int = 1,
    block: ShapeLike | None = None,
    unsafe: bool = False,
    source: str | None = None,
) -> Decorator: ...
def kernel(
    function: Callable[..., None] | None = None,
    /,
    *,
    domain: int = 1,
    block: ShapeLike | None = None,
    unsafe: bool = False,
    source: str | None = None,
) -> Any:
    """Turn a function into a SIMT kernel: `@simt.kernel`, or `@simt.kernel(domain=2)`.

    Every thread runs the function; calling the kernel builds the op that starts them, and its
    result is the tuple of the very objects passed. `domain` is the number of axes of its launches,
    `block` the exact shape of their blocks. `unsafe=True` allows raw pointers, and its launches
    are built inside `tw.unsafe()`. `source` is the text to compile where Python cannot show it.
    """
    return make_kernel(function, domain=domain, block=block, unsafe=unsafe, source=source)
''',
)

KINDS = (ENTRY, SIMT)

BY_NAME = """\
        @overload
        def __call__(self, /, **by_name: Any) -> {launch}[Any]: ...
        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...
"""

UNBROKEN = "\u00a0"
"""Where a line is not broken."""


def wrapped(indent: str, items: Sequence[str]) -> str:
    """Items with commas, on as many lines as they need."""
    text = ", ".join(item.replace(" ", UNBROKEN) for item in items)
    lines = textwrap.wrap(text, WIDTH - len(indent), break_on_hyphens=False)
    return "".join(f"{indent}{line}\n" for line in lines).replace(UNBROKEN, " ")


def kernel_class(kind: Kind, n: int) -> str:
    """The class of kernels with n positional parameters."""
    names = NAMES[:n]
    noun = "parameter" if n == 1 else "parameters"
    given = [f"{x.lower()}: {x} | DeviceOp[{x}]" for x in names]
    taken = wrapped(" " * 12, ["self", *given, "/", "*args: P.args", "**constants: P.kwargs"])
    result = ", ".join(names) if names else "()"
    mark, by_name = ("        @overload\n", BY_NAME.format(launch=kind.launch)) if n else ("", "")
    return f'''

class {kind.prefix}{n}({kind.base}, Generic[P]):
    """{kind.noun} of {n} positional {noun}; `P` are its keywords."""

    if TYPE_CHECKING:
{mark}        def __call__(
{taken}        ) -> {kind.launch}[tuple[{result}]]: ...
{by_name}'''


def kernel_type(n: int) -> str:
    """The type of functions with n positional parameters, by name."""
    if n == 0:
        return "    Function0: TypeAlias = Callable[P, None]\n"
    taken = wrapped(" " * 12, ["Any"] * n + ["P"])
    return (
        f"    Function{n}: TypeAlias = Callable[\n        Concatenate[\n{taken}        ], None]\n"
    )


def overload(kind: Kind, indent: str, head: str, n: int) -> str:
    """One overload of the decorator: for n positional parameters."""
    line = f"{indent}def {head}function: Function{n}[P], /) -> {kind.prefix}{n}[P]: ..."
    return f"{indent}@overload\n{line}\n"


def generated(kind: Kind) -> str:
    """The whole file."""
    order = range(MOST, -1, -1)
    variables = "".join(f'{x} = TypeVar("{x}", bound=KernelArg)\n' for x in NAMES)
    types = "".join(kernel_type(n) for n in range(MOST + 1))
    classes = "".join(kernel_class(kind, n) for n in range(MOST + 1))
    methods = "".join(overload(kind, "    ", "__call__(self, ", n) for n in order)
    functions = "".join(overload(kind, "", f"{kind.word}(", n) for n in order)
    decorator = (
        f'\n\nclass Decorator(Protocol):\n    """What `{kind.written}(...)` with options gives."""'
        f"\n\n{methods}"
    )
    head = HEAD.format(title=kind.title, imports=kind.imports)
    names = f"{variables}\nif TYPE_CHECKING:\n{types}"
    return f"{head}{names}{classes}{decorator}\n\n{functions}# fmt: on\n{kind.function}"


if __name__ == "__main__":
    for each in KINDS:
        (FOLDER / each.file).write_text(generated(each))
        print(FOLDER / each.file)
