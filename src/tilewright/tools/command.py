"""The command line: from arguments to a subcommand, from its errors to one text and a status."""

from __future__ import annotations

import os
import sys
import traceback
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence

from ..base.errors import Error
from . import building, cache, compiling, creating, doctor, explaining, profiling, run, tuning
from .machine import own_version
from .subcommand import FINE, MISUSED, WRONG, Subcommand, UsageError

SUBCOMMANDS: tuple[Subcommand, ...] = (
    run.SUBCOMMAND,
    creating.SUBCOMMAND,
    compiling.SUBCOMMAND,
    building.SUBCOMMAND,
    explaining.SUBCOMMAND,
    profiling.SUBCOMMAND,
    tuning.SUBCOMMAND,
    cache.SUBCOMMAND,
    doctor.SUBCOMMAND,
)
"""What `tilewright` can do, in the order of its help."""

STATUSES = "exit status: 0 success, 1 an error, 2 a usage error"
INTERRUPTED = 130
"""What a shell gives a program that Ctrl-C ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; give its exit status."""
    parser = make_parser()
    given = parser.parse_args(arguments)
    try:
        status: int = given.subcommand.run(given)
        sys.stdout.flush()
        return status
    except UsageError as error:
        return _refused(f"{error}\nsee: tilewright {given.subcommand.name} --help", MISUSED)
    except BrokenPipeError:
        # The reader of our output has closed it: `tilewright cache ls | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except (Error, OSError) as error:
        if given.debug:
            traceback.print_exc()
            return WRONG
        return _refused(str(error), WRONG)
    except KeyboardInterrupt:
        return INTERRUPTED


def _refused(text: str, status: int) -> int:
    sys.stderr.write(f"tilewright: {text}\n")
    return status


def make_parser() -> ArgumentParser:
    """Return the parser of all subcommands."""
    parser = ArgumentParser("tilewright", description="Safe tile kernels in Python.",
                            epilog=STATUSES)  # fmt: skip
    parser.add_argument("--version", action="version", version=f"tilewright {own_version()}")
    parser.add_argument("--debug", action="store_true", help="show errors with their traceback")
    each = parser.add_subparsers(metavar="COMMAND", required=True)
    for subcommand in SUBCOMMANDS:
        own = each.add_parser(
            subcommand.name,
            help=subcommand.about,
            description=subcommand.about,
            epilog=subcommand.more,
            formatter_class=RawDescriptionHelpFormatter,
        )
        subcommand.add_arguments(own)
        own.set_defaults(subcommand=subcommand)
    return parser
