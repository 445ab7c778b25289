"""Which kernels of a file a command is about, and for which arguments: said by text, by the file
itself, or by the launches of its program."""

from __future__ import annotations

import ast
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from ..base.config import current
from ..base.errors import Error
from ..compile.options import CompileOptions
from ..launch.definition import Declared, Entry
from ..launch.inspection import Inspection
from ..launch.watching import Needed, watching
from .loading import chosen
from .machine import ask_driver
from .run import run_program
from .subcommand import UsageError
from .wording import call_of, is_enough, suggestion

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
