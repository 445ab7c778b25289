"""Writes src/tilewright/launch/_generated_overloads.py: launchers typed by arity.

    python tools/overloads.py

Type checkers cannot map a kernel's parameters to what the host passes for them, so there is one
class per number of positional parameters. Its call gives back exactly what was passed.
"""

from __future__ import annotations

from pathlib import Path

TARGET = Path(__file__).parent.parent / "src/tilewright/launch/_generated_overloads.py"
NAMES = "ABCDEFGHJKMN"
"""Of the type variables, one per argument; without the letters that look like digits."""
MOST = len(NAMES)

HEAD = '''\
"""Kernels typed by their number of arguments. Written by tools/overloads.py; do not edit."""

# The longest match comes first, so that each overload is narrower than those below it.
# pyright: reportOverlappingOverload=false

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from .definition import Entry, make_entry
from .given import KernelArg
from .operation import Launch

if TYPE_CHECKING:
    from ..op.core import DeviceOp

P = ParamSpec("P")
'''

FUNCTION = '''\
@overload
def entry(*, unsafe: bool = False, source: str | None = None) -> Decorator: ...
def entry(
    function: Callable[..., None] | None = None,
    /,
    *,
    unsafe: bool = False,
    source: str | None = None,
) -> Any:
    """Turn a function into a kernel: `@tw.entry`, or `@tw.entry(unsafe=True)`.

    Calling the kernel builds the op that runs it; its result is the tuple of the very objects
    passed. `unsafe=True` allows raw pointers, and its launches are built inside `tw.unsafe()`.
    `source` is the text to compile where Python cannot show it.
    """
    return make_entry(function, unsafe=unsafe, source=source)
'''


def entry_class(n: int) -> str:
    """The class of kernels with n positional parameters."""
    names = NAMES[:n]
    noun = "parameter" if n == 1 else "parameters"
    given = "".join(f"            {x.lower()}: {x} | DeviceOp[{x}],\n" for x in names)
    result = ", ".join(names) if names else "()"
    return f'''

class Entry{n}(Entry, Generic[P]):
    """A kernel of {n} positional {noun}; `P` are its keywords."""

    if TYPE_CHECKING:

        def __call__(
            self,
{given}            /,
            *args: P.args,
            **constants: P.kwargs,
        ) -> Launch[tuple[{result}]]: ...
'''


def kernel_type(n: int) -> str:
    """The type of a function with n positional parameters."""
    anys = "Any, " * n
    return f"Callable[Concatenate[{anys}P], None]" if n else "Callable[P, None]"


def overload(indent: str, head: str, n: int) -> str:
    """One overload of the decorator: for n positional parameters."""
    line = f"{indent}def {head}function: {kernel_type(n)}, /) -> Entry{n}[P]: ..."
    return f"{indent}@overload\n{line}\n"


def generated() -> str:
    """The whole file."""
    order = range(MOST, -1, -1)
    variables = "".join(f'{x} = TypeVar("{x}", bound=KernelArg)\n' for x in NAMES)
    classes = "".join(entry_class(n) for n in range(MOST + 1))
    methods = "".join(overload("    ", "__call__(self, ", n) for n in order)
    functions = "".join(overload("", "entry(", n) for n in order)
    decorator = (
        '\n\nclass Decorator(Protocol):\n    """What `@tw.entry(...)` with options gives."""\n\n'
        f"{methods}"
    )
    return f"{HEAD}{variables}{classes}{decorator}\n\n{functions}{FUNCTION}"


if __name__ == "__main__":
    TARGET.write_text(generated())
    print(TARGET)
