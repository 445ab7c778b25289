"""`tilewright run`: a program, or an example by its name, on the device of choice."""

from __future__ import annotations

import runpy
import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ..backend.tileir.target import ARCHITECTURES, is_architecture
from ..base.config import override
from ..op.ambient import device
from .loading import first_on_path
from .subcommand import FINE, WRONG, Subcommand, UsageError

EXAMPLES = (Path(__file__).parents[1] / "examples", Path(__file__).parents[3] / "examples")
"""Where they are: in the installed package, or beside the sources it is run from."""


OPTIONS = ("--device", "--arch")
"""The options that are allowed before the program, or right behind it."""


def find_program(name: str) -> Path:
    """Return a file, a folder with a `main.py`, or an example, with or without `.py`."""
    given, known = Path(name), examples()
    for path in (given, given.with_suffix(".py"), given / "main.py"):
        if path.is_file():
            return path
    if given.stem in known:
        return known[given.stem]
    listed = f"; examples: {', '.join(known)}" if known else "; no examples are installed here"
    raise UsageError(f"there is no program {name}{listed}")


def examples() -> dict[str, Path]:
    """Return the examples by name, those that need another library included."""
    folder = next((folder for folder in EXAMPLES if folder.is_dir()), None)
    return {} if folder is None else {path.stem: path for path in sorted(folder.rglob("*.py"))}


def run_program(path: Path, arguments: Sequence[str]) -> int:
    """Run a file as Python runs a script; give its exit status."""
    with _script(path, arguments):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as ended:
            return _status(ended.code)
    return FINE


@contextmanager
def _script(path: Path, arguments: Sequence[str]) -> Generator[None, None, None]:
    before = sys.argv
    sys.argv = [str(path), *arguments]
    try:
        with first_on_path(path.parent):
            yield
    finally:
        sys.argv = before


def _status(code: object) -> int:
    """Return the exit status of `SystemExit` as Python computes it: a text is an error."""
    if code is None or isinstance(code, int):
        return code or FINE
    sys.stderr.write(f"{code}\n")
    return WRONG


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--device", help="where it runs, as TILEWRIGHT_DEVICE")
    parser.add_argument("--arch", help="what it builds code for, as TILEWRIGHT_TARGET")
    parser.add_argument("program", help="a file, a folder with a main.py, or an example's name")
    parser.add_argument("arguments", nargs=REMAINDER,
                        help="what the program gets; behind a `--`, whatever it is")  # fmt: skip


def take_options(given: Namespace, options: Sequence[str] = OPTIONS) -> None:
    """Remove our own options from what follows the program; `--` ends them."""
    rest: list[str] = given.arguments
    while rest and rest[0].partition("=")[0] in options:
        name, equals, value = rest.pop(0).partition("=")
        if not equals:
            if not rest:
                raise UsageError(f"{name} needs a value")
            value = rest.pop(0)
        setattr(given, name.removeprefix("--"), value)
    if rest[:1] == ["--"]:
        del rest[0]


def _run(given: Namespace) -> int:
    path = find_program(given.program)
    take_options(given)
    if given.arch and not is_architecture(given.arch):
        raise UsageError(f"there is no {given.arch!r}; --arch is one of {', '.join(ARCHITECTURES)}")
    with ExitStack() as settings:
        if given.arch:
            settings.enter_context(override(target=given.arch))
        if given.device:
            settings.enter_context(device(given.device))
        return run_program(path, given.arguments)


SUBCOMMAND = Subcommand("run", "run a program or an example", _add_arguments, _run)
