"""Writes launch/_generated_overloads.py and launch/_generated_simt.py: launchers typed by arity.

    python tools/overloads.py

Type checkers cannot map a kernel's parameters to what the host passes for them, so there is one
class per number of positional parameters, and of outputs among the first of them: for these a
partition must be given. Its call gives back exactly what was passed. Their names are lost on the
way, so a call by keywords is taken as it comes; outputs given by position are checked even so.
A call with too few arguments, none of them named, gives what cannot be run.
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
OUTPUTS = "UVW"
"""Of the type variables of outputs."""
WIDTH = 100
"""Columns of a line; the formatter would give each parameter one of its own."""

HEAD = '''\
"""{title} typed by their number of arguments. Written by tools/overloads.py; do not edit."""

# The longest match comes first, so that each overload is narrower than those below it.
# pyright: reportOverlappingOverload=false
# mypy: disable-error-code="overload-overlap"

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, {never}ParamSpec, Protocol, TypeVar, overload

{imports}
if TYPE_CHECKING:
    from typing import Concatenate, TypeAlias

    from ..op.core import DeviceOp

# fmt: off
P = ParamSpec("P")
'''

GIVEN = """\
    Or: TypeAlias = A | DeviceOp[A]
    \"\"\"What may be given for an argument: it, or an op that gives it.\"\"\"
"""


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
    outputs: int
    """How many outputs, first among the parameters, are told from others."""
    function: str
    """The decorator itself, with options."""
    variadic: bool = False
    """Whether its kernels may take any number of tensors."""


ENTRY = Kind(
    file="_generated_overloads.py",
    title="Kernels",
    imports="""\
from ..compile.options import GivenHints
from ..frontend.capture.parameters import DeclaredConditions, Preconditions
from .definition import Entry, make_entry
from .given import KernelArg, OutputArg, TooFewArguments
from .operation import Launch

if TYPE_CHECKING:
    from .outputs import Launch1, Launch2, Launch3, Written
""",
    word="entry",
    written="@tw.entry",
    prefix="Entry",
    noun="A kernel",
    base="Entry",
    launch="Launch",
    outputs=len(OUTPUTS),
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
    `unsafe=True`, none is checked.

    `hints` are for the code generator on CUDA: a `CompileOptions`, or a mapping from architectures
    to them, such as `{"sm_90": tw.CompileOptions(occupancy=2)}`, where `"default"` holds for what
    an architecture does not say. What a launch asks by `.compile_options(...)` goes before them.
    """
    asked = DeclaredConditions(preconditions, deny_in_kernel_checks, unchecked_accesses)
    return make_entry(function, unsafe=unsafe, source=source, asked=asked, hints=hints)
''',
    variadic=True,
)

SIMT = Kind(
    file="_generated_simt.py",
    title="SIMT kernels",
    imports="""\
from ..tensors.shape import ShapeLike
from .given import KernelArg, TooFewArguments
from .simt import SimtEntry, SimtLaunch, make_kernel
""",
    word="kernel",
    written="@simt.kernel",
    prefix="Simt",
    noun="A SIMT kernel",
    base="SimtEntry",
    launch="SimtLaunch",
    outputs=0,
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

ANY_CALL = "        def __call__(self, /, *args: Any, **constants: Any) -> Any: ...\n"

VARIADIC = """

class Variadic(Protocol):
    \"\"\"A function with `*xs`: a function without it does not take any number of arguments.\"\"\"

{taken}

class EntryVariadic(Entry):
    \"\"\"A kernel of any number of tensors.\"\"\"

    if TYPE_CHECKING:
        def __call__(
            self, /, *args: KernelArg | DeviceOp[Any], **constants: Any
        ) -> Launch[tuple[Any, ...]]: ...
"""
"""Kernels with `*xs`, whose launches are typed by no number."""

UNBROKEN = "\u00a0"
"""Where a line is not broken."""


def wrapped(head: str, items: Sequence[str], tail: str) -> str:
    """Items with commas between a head and a tail, on as many lines as they need."""
    text = f"{head}{', '.join(items)}{tail}".replace(" ", UNBROKEN).replace(f",{UNBROKEN}", ", ")
    later = UNBROKEN * (len(head) - len(head.lstrip()) + 4)
    lines = textwrap.wrap(
        text, WIDTH, subsequent_indent=later, break_on_hyphens=False, break_long_words=False
    )
    return "".join(f"{line}\n" for line in lines).replace(UNBROKEN, " ")


def called(given: Sequence[str], result: str) -> str:
    """A method that calls a kernel with these arguments."""
    return wrapped("        def __call__(", ["self", *given], f") -> {result}: ...")


def shapes(kind: Kind) -> list[tuple[int, int]]:
    """How many positional parameters, and how many outputs first; the narrowest comes first."""
    most = range(MOST, -1, -1)
    return [(n, k) for n in most for k in range(min(n, kind.outputs), -1, -1)]


def suffix(n: int, k: int) -> str:
    """How a name of n parameters ends, the first k of which are outputs."""
    return f"{n}Out{k}" if k else str(n)


def kernel_class(kind: Kind, n: int, k: int) -> str:
    """The class of kernels with n positional parameters, of which the first k are outputs."""
    names = OUTPUTS[:k] + NAMES[k:n]
    noun = "parameter" if n == 1 else "parameters"
    outputs = f", {k} of them written" if k else ""
    given = [f"{x.lower()}: Or[{x}]" for x in names]
    result, launch = ", ".join(names) if names else "()", f"{kind.launch}{k or ''}"
    by_name, unknown = "**by_name: Any", f"{kind.launch}[Any]"
    calls = [
        called(
            [*given, "/", "*args: P.args", "**constants: P.kwargs"], f"{launch}[tuple[{result}]]"
        )
    ]
    some = [f"{each} = ..." for each in given[:-1]]
    if some:
        calls.append(called([given[0], *some[1:], "/"], "TooFewArguments"))
    if given:
        calls.append(called([*some, "/", by_name], unknown))
    mark, any_call = ("        @overload\n", ANY_CALL) if n else ("", "")
    body = "".join(mark + each for each in calls)
    return f'''

class {kind.prefix}{suffix(n, k)}({kind.base}, Generic[P]):
    """{kind.noun} of {n} positional {noun}{outputs}; `P` are its keywords."""

    if TYPE_CHECKING:
{body}{any_call}'''


def kernel_type(n: int, k: int) -> str:
    """The type of functions with n positional parameters, by name."""
    if n == 0:
        return "    Function0: TypeAlias = Callable[P, None]\n"
    taken = ["Written"] * k + ["Any"] * (n - k) + ["P"]
    head = f"    Function{suffix(n, k)}: TypeAlias = Callable[Concatenate["
    return wrapped(head, taken, "], None]")


def overload(kind: Kind, indent: str, head: str, ending: str) -> str:
    """One overload of the decorator: for functions of one type."""
    line = f"{indent}def {head}function: Function{ending}[P], /) -> {kind.prefix}{ending}[P]: ..."
    return f"{indent}@overload\n{line}\n"


def variadic(kind: Kind) -> tuple[str, str, str]:
    """The classes of kernels with `*xs`, and the overloads for them, which come first."""
    if not kind.variadic:
        return "", "", ""
    # One more than any other overload names, which else would look like a special case of this.
    names = [*NAMES.lower(), "z"]
    taken = wrapped(
        "    def __call__(",
        ["self", *[f"{x}: Any" for x in names], "/", "*xs: Never"],
        ") -> None: ...",
    )
    head = "function: Variadic, /) -> EntryVariadic: ..."
    method = f"    @overload\n    def __call__(self, {head}\n"
    return VARIADIC.format(taken=taken), method, f"@overload\ndef {kind.word}({head}\n"


def generated(kind: Kind) -> str:
    """The whole file."""
    found = shapes(kind)
    stars, star_method, star_function = variadic(kind)
    variables = "".join(f'{x} = TypeVar("{x}", bound=KernelArg)\n' for x in NAMES)
    variables += "".join(
        f'{x} = TypeVar("{x}", bound=OutputArg)\n' for x in OUTPUTS[: kind.outputs]
    )
    types = "".join(kernel_type(n, k) for n, k in reversed(found))
    classes = "".join(kernel_class(kind, n, k) for n, k in reversed(found))
    endings = [suffix(n, k) for n, k in found]
    methods = star_method
    methods += "".join(overload(kind, "    ", "__call__(self, ", ending) for ending in endings)
    functions = star_function
    functions += "".join(overload(kind, "", f"{kind.word}(", ending) for ending in endings)
    decorator = (
        f'\n\nclass Decorator(Protocol):\n    """What `{kind.written}(...)` with options gives."""'
        f"\n\n{methods}"
    )
    never = "Never, " if kind.variadic else ""
    head = HEAD.format(title=kind.title, imports=kind.imports, never=never)
    names = f"{variables}\nif TYPE_CHECKING:\n{GIVEN}{types}"
    return f"{head}{names}{classes}{stars}{decorator}\n\n{functions}# fmt: on\n{kind.function}"


if __name__ == "__main__":
    for each in KINDS:
        (FOLDER / each.file).write_text(generated(each))
        print(FOLDER / each.file)
