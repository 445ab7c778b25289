"""`tilewright explore`: what becomes of a program's kernels, line by line, as a page."""

from __future__ import annotations

import webbrowser
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from ...backend.tileir.target import ARCHITECTURES, is_architecture
from ...op.ambient import device
from ..choosing import HERE
from ..machine import ask_driver
from ..run import find_program
from ..subcommand import FINE, Subcommand, UsageError, in_bytes, say
from .model import described
from .page import PageServer, html_of
from .recording import launches

USUAL_ARCH = "sm_90"
"""What code for CUDA is shown for where there is no GPU, and none is asked for."""
MORE = """\
The program is run once, on the CPU, and each specialization of a kernel that it launches is shown;
without --export the page is served until Ctrl-C, at an address that cannot be guessed."""


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("program", help="a file, a folder with a main.py, or an example's name")
    parser.add_argument(
        "--kernel", metavar="NAME", help="one kernel; else all of the program's own"
    )
    parser.add_argument("--arch", action="extend", default=[], type=_words,
                        help="CUDA architectures: sm_90, or sm_90,sm_100; or none")  # fmt: skip
    parser.add_argument("--export", type=Path, metavar="FILE.html",
                        help="write the page to a file, to be opened anywhere")  # fmt: skip
    parser.add_argument("--port", type=int, default=0, help="where to serve it; else a free one")
    parser.add_argument("--open", action="store_true", help="open it in the browser")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _run(given: Namespace) -> int:
    path = find_program(given.program)
    targets = [HERE, *_architectures(given.arch)]
    with device(HERE):
        found = launches(path, given.kernel)
    page = html_of(described(path, found, targets))
    if given.export is not None:
        given.export.parent.mkdir(parents=True, exist_ok=True)
        given.export.write_text(page, encoding="utf-8")
        size = in_bytes(len(page.encode()))
        say(f"{given.export}: {len(found)} specialization{'s'[: len(found) > 1]}, {size}")
        return FINE
    _serve(page, given.port, opening=given.open)
    return FINE


def _architectures(asked: Sequence[str]) -> list[str]:
    if asked == ["none"]:
        return []
    for arch in asked:
        if not is_architecture(arch):
            raise UsageError(
                f"there is no {arch!r}; --arch is of {', '.join(ARCHITECTURES)}, or none"
            )
    if asked:
        return list(dict.fromkeys(asked))
    gpus = ask_driver().gpus
    return [gpus[0].arch if gpus else USUAL_ARCH]


def _serve(page: str, port: int, *, opening: bool) -> None:
    with PageServer(page, port) as server:
        say(f"{server.address}\nCtrl-C ends it")
        if opening:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say()


SUBCOMMAND = Subcommand(
    "explore",
    "show what becomes of a program's kernels, line by line, as a page",
    _add_arguments,
    _run,
    MORE,
)
