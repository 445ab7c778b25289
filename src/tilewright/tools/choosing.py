"""Which kernels of a file a command is about, and for which arguments: said by text, by the file
itself, or by the launches of its program."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from ..base import dtypes
from ..base.config import current
from ..base.dtypes import AnyDType, as_dtype
from ..base.errors import Error
from ..compile.options import CompileOptions
from ..frontend.capture.parameters import Parameter
from ..launch.definition import Declared, Entry
from ..launch.inspection import Inspection
from ..launch.watching import Needed, watching
from ..tensors.create import meta
from .loading import chosen
from .machine import ask_driver
from .run import run_program
from .subcommand import UsageError

WAYS = """\
arguments are given in one of three ways:
  --arg NAME=VALUE ...   by hand, for one kernel:
        tensor     f32[128,?,?%8]: a number, ? for any extent, ?%8 for any multiple of 8
        output     f32[?,?]:tile(64,64), mapped f32[?,?]:tile(64,64):map(8,1)
        view       bf16[?,?]:permute(1,0)
        pointer    f32*
        number     i32; may be left out where the kernel says its type
        constant   a Python literal, or an element type
  kernel.declare(...)    in the file, with tw.meta(...) for tensors
  --launched             by running the file's program on the CPU: all that it launches"""


HERE = "cpu"
"""Where the program of a file is run."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A kernel with arguments, to be looked at for any target."""

    name: str
    look: Callable[[str], Inspection]
    launched: bool = False
    """Whether it was launched by the file's program, which may have caught its error."""

    def leave_out(self, error: Error) -> None:
        """Leave out what failed in the program as well, which went on; else raise the error."""
        if self.launched:
            try:
                self.look(HERE).artifact()
            except Error:
                sys.stderr.write(
                    f"left out: a launch of {self.name} that failed in the program, too:"
                    f" {error.message}\n"
                )
                return
        raise error


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options that select kernels and their arguments."""
    parser.add_argument("file", type=Path, help="a Python file that defines kernels")
    parser.add_argument("--kernel", metavar="NAME", help="one kernel; else all that have arguments")
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", dest="words",
                        help="an argument, see below")  # fmt: skip
    parser.add_argument("--launched", action="store_true",
                        help="take the launches of the file's program")  # fmt: skip
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        dest="options", help="of tw.CompileOptions: occupancy=2")  # fmt: skip


def calls(given: Namespace, *, explaining: bool = False) -> list[Chosen]:
    """Return the kernels and arguments that a command line names; at least one.

    To explain a file's kernels, its program is run if the command line has no arguments for them.
    """
    options = _options(given.options)
    if given.launched:
        return _launched(given.file, given.kernel, own=explaining)
    kernels = chosen(given.file, given.kernel)
    if given.words:
        return [_by_hand(kernels, given.words, options)]
    found = [
        _declared(name, kernel, declared, options)
        for name, kernel in kernels.items()
        for declared in kernel.declared or _without_words(kernel)
    ]
    if not found and explaining:
        return _launched(given.file, given.kernel, own=True)
    if not found:
        raise UsageError(_nothing(given.file, kernels))
    _tell_left_out([name for name, kernel in kernels.items() if not _is_told(kernel)])
    return found


def _is_told(kernel: Entry) -> bool:
    return bool(kernel.declared) or is_enough(kernel)


def _tell_left_out(names: Sequence[str]) -> None:
    if names:
        which = "its arguments are" if len(names) == 1 else "their arguments are"
        sys.stderr.write(f"left out: {', '.join(names)}, as {which} not declared\n")


def _without_words(kernel: Entry) -> list[Declared]:
    """Return the one call of a kernel that needs no arguments from the command line."""
    return [Declared(*call_of(kernel, ()))] if is_enough(kernel) else []


def _by_hand(kernels: dict[str, Entry], words: list[str], options: CompileOptions | None) -> Chosen:
    if len(kernels) > 1:
        raise UsageError(f"--arg is for one kernel: name it by --kernel, of {', '.join(kernels)}")
    ((name, kernel),) = kernels.items()
    args, keywords = call_of(kernel, words)
    return _declared(name, kernel, Declared(args, keywords), options)


def _declared(
    name: str, kernel: Entry, declared: Declared, options: CompileOptions | None
) -> Chosen:
    wanted = options or declared.options
    return Chosen(name, partial(_look, kernel, declared.args, declared.constants, wanted))


def _look(
    kernel: Entry,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    options: CompileOptions | None,
    target: str,
) -> Inspection:
    return kernel.inspection(args, keywords, target, options)


def _nothing(path: Path, kernels: dict[str, Entry]) -> str:
    name, kernel = next(iter(kernels.items()))
    shown = " ".join(
        f"--arg '{p.name}={suggestion(p, simt=kernel.source.dialect == 'simt')}'"
        for p in kernel.source.parameters
        if p.kind != "scalar"
    )
    return (
        f"{path} does not say for which arguments: declare them there by {name}.declare(...),"
        f" take those of its program by --launched, or give them:\n  --kernel {name} {shown}"
    )


def _launched(path: Path, name: str | None, *, own: bool) -> list[Chosen]:
    """Return what a file's program launches, each kind once; with `own` only the file's kernels."""
    seen: list[Needed] = []
    # What the program prints is not the command's answer.
    with watching(seen.append), redirect_stdout(sys.stderr):
        status = run_program(path, ())
    if status:
        raise UsageError(f"{path} ended with status {status}")
    if name is not None:
        seen = [needed for needed in seen if needed.kernel.name == name]
    elif own:
        seen = [n for n in seen if Path(n.kernel.source.source.file.name).name == path.name]
    if not seen:
        raise UsageError(f"{path} launches no kernel{f' `{name}`' if name else ' in its own file'}")
    return [Chosen(n.kernel.name, partial(Inspection.of_launch, n), launched=True) for n in seen]


def _options(words: list[str]) -> CompileOptions | None:
    if not words:
        return None
    known = [field.name for field in fields(CompileOptions)]
    found: dict[str, Any] = {}
    for word in words:
        name, _, text = word.partition("=")
        if name not in known:
            raise UsageError(f"there is no option {name!r}; there are {', '.join(known)}")
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise UsageError(f"{text!r} is no value for the option {name}") from None
    try:
        return CompileOptions(**found)
    except ValueError as error:
        raise UsageError(str(error)) from None


def target_of(given: str | None, otherwise: str | None = None) -> str:
    """Return the target: the given one, that of the setting, the local GPU, or `otherwise`."""
    known = given or current().target
    if known:
        return known
    gpus = ask_driver().gpus
    if gpus:
        return gpus[0].arch
    if otherwise is None:
        raise UsageError("there is no GPU here: say what to compile for, --arch sm_90")
    return otherwise


# -------------------------------------------------------------------------------------------------
# Arguments written as text, as in `z=f32[?,?%8]:tile(64,64)`.
#
#   tensor    DTYPE[EXTENT,...]      EXTENT is a number, `?` for any, `?%8` for any multiple of 8
#   output    the same, then :tile(8,8), and :map(4,1) if it is mapped; of a SIMT kernel no more
#   view      the same, then :permute(1,0) and so on, any method that gives another tensor
#   pointer   DTYPE*
#   number    DTYPE; may be left out where the kernel says it
#   constant  a Python literal or an element type, likewise the name of a generic
#
# An extent is part of the code only where the kernel's annotations make it so. For other extents
# only the fact counts that every launch is specialized on: whether rows are multiples of 16 bytes.

TENSOR = re.compile(r"(?P<dtype>\w+)\[(?P<extents>[^\]]*)\](?P<views>(?::\w+\([^()]*\))*)")
VIEW = re.compile(r":(\w+)\(([^()]*)\)")
EXTENT = re.compile(r"(\d+)|\?(?:%(\d+))?")
VIEWS = {
    "tile": "partition_mut", "map": "map", "permute": "permute", "transpose": "transpose",
}  # fmt: skip
"""What may follow a tensor, and the method it stands for."""
SHAPED = ("tile", "map")
"""Those that take a shape."""
ANY = 7
"""Stands for `?`: no power of two but 1 divides it, and it is small, so that strides are too."""
PLAIN_NUMBERS: Mapping[str, Any] = {"b": True, "f": 1.0}
"""Some number by the kind of its type; 1 for integers."""


def call_of(kernel: Entry, words: Sequence[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments for `kernel.compile_for`, from `name=text` words."""
    given = dict(map(_split, words))
    args = tuple(_positional(kernel, p, given) for p in kernel.source.parameters)
    return args, {name: _constant(text) for name, text in given.items()}


def _split(word: str) -> tuple[str, str]:
    name, equals, text = word.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"an argument is written NAME=VALUE, not {word!r}")
    return name, text.strip()


def _positional(kernel: Entry, p: Parameter, given: dict[str, str]) -> Any:
    text = given.pop(p.name, None)
    if p.kind == "scalar":
        return _number(p, text)
    simt = kernel.source.dialect == "simt"
    if text is None and _is_known(p, simt=simt):
        text = suggestion(p, simt=simt)
    if text is None:
        shown = f"--arg '{p.name}={suggestion(p, simt=simt)}'"
        raise UsageError(f"`{p.name}` of `{kernel.__name__}` is missing: {shown}")
    if p.kind == "pointer":
        return _pointer(p, text)
    tensor = _tensor(p, text)
    return tensor.borrow_mut() if simt and p.kind == "output" else tensor


def is_enough(kernel: Entry) -> bool:
    """Return whether a kernel can be called without any word."""
    simt = kernel.source.dialect == "simt"
    known = [_is_known(p, simt=simt) for p in kernel.source.parameters]
    empty = inspect.Parameter.empty
    return all(known) and all(p.default is not empty for p in kernel.source.constants)


def _is_known(p: Parameter, *, simt: bool) -> bool:
    """Return whether the kernel declares the whole type: the length of a slice does not matter."""
    return p.kind == "scalar" or (_own_type(p) is not None and (simt or p.kind == "pointer"))


def _own_type(p: Parameter) -> str | None:
    return None if p.dtype is None or isinstance(p.dtype, str) else p.dtype.name


def suggestion(p: Parameter, *, simt: bool = False) -> str:
    """Return an example of an argument for a parameter."""
    dtype = _own_type(p) or "f32"
    if p.kind == "pointer":
        return f"{dtype}*"
    if simt:
        return f"{dtype}[?]"
    rank = 2 if p.dims is None else max(len(p.dims), 1)
    dims = [str(d) if isinstance(d, int) and p.kind == "tensor" else "?" for d in p.dims or ()]
    tile = f":tile({','.join(['64'] * rank)})" if p.kind == "output" else ""
    mapped = f":map({','.join(['1'] * rank)})" if p.mapped else ""
    return f"{dtype}[{','.join(dims or ['?'] * rank)}]{tile}{mapped}"


def _number(p: Parameter, text: str | None) -> Any:
    """Return a number of the parameter's type; the code does not depend on which."""
    own = _own_type(p)
    if text is not None and own is not None and text != own:
        raise UsageError(f"`{p.name}` is a number of type {own}, not {text}")
    dtype = _dtype(text or own or "i32")
    return PLAIN_NUMBERS.get(dtype.kind, 1)


def _pointer(p: Parameter, text: str) -> Any:
    if not text.endswith("*"):
        raise UsageError(f"`{p.name}` is a pointer, written such as f32*, not {text!r}")
    return meta((1,), _dtype(text[:-1].strip())).device_pointer()


def _tensor(p: Parameter, text: str) -> Any:
    found = TENSOR.fullmatch(text.replace(" ", ""))
    if found is None:
        raise UsageError(f"`{p.name}` is written such as {suggestion(p)}, not {text!r}")
    value: Any = meta(tuple(_extents(p, found["extents"])), _dtype(found["dtype"]))
    for name, inner in VIEW.findall(found["views"]):
        if name not in VIEWS:
            raise UsageError(f"`{p.name}`: {name} is none of {', '.join(VIEWS)}")
        numbers = [_extent(p, word) for word in inner.split(",")]
        method = getattr(value, VIEWS[name])
        value = method(tuple(numbers)) if name in SHAPED else method(*numbers)
    return value


def _extents(p: Parameter, text: str) -> Iterator[int]:
    for word in text.split(",") if text else ():
        yield _extent(p, word)


def _extent(p: Parameter, word: str) -> int:
    found = EXTENT.fullmatch(word)
    if found is None or found[2] == "0":
        raise UsageError(f"`{p.name}`: {word!r} is no extent; write 128, ? or ?%8")
    return int(found[1]) if found[1] else ANY * int(found[2] or 1)


def _dtype(name: str) -> AnyDType:
    found = getattr(dtypes, {"bool": "bool_"}.get(name, name), None)
    if not (inspect.isclass(found) and issubclass(found, dtypes.DType)):
        raise UsageError(f"there is no element type {name!r}")
    return as_dtype(found)


def _constant(text: str) -> Any:
    """Return a constant or a generic: an element type, or a Python literal."""
    if inspect.isclass(getattr(dtypes, text, None)):
        return _dtype(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise UsageError(f"{text!r} is neither an element type nor a Python literal") from None
