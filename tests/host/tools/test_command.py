"""The command line: help, versions, statuses, errors as one text."""

from __future__ import annotations

import errno
import importlib
import subprocess
import sys
import tomllib

import pytest

from source_tree import ROOT
from tilewright.base.errors import ShapeError
from tilewright.tools import command
from tilewright.tools.command import SUBCOMMANDS, main
from tilewright.tools.subcommand import MISUSED, WRONG, Subcommand, UsageError


@pytest.fixture
def failing(monkeypatch):
    """A subcommand that raises what a test wants."""

    def install(error):
        def run(given):
            raise error

        row = Subcommand("fail", "fails", lambda parser: None, run)
        monkeypatch.setattr(command, "SUBCOMMANDS", (row,))

    return install


def test_help_names_every_subcommand(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for subcommand in SUBCOMMANDS:
        assert subcommand.name in text and subcommand.about in " ".join(text.split())


@pytest.mark.parametrize("name", [s.name for s in SUBCOMMANDS])
def test_every_subcommand_has_help(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"tilewright {name}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["frobnicate"], ["cache"], ["cache", "frobnicate"]])
def test_what_is_not_understood(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == MISUSED
    assert "usage: tilewright" in capsys.readouterr().err


def test_an_error_is_one_text(failing, capsys):
    failing(ShapeError("the shapes do not fit", expected="(2,)", got="(3,)", hint="reshape"))
    assert main(["fail"]) == WRONG
    assert capsys.readouterr().err == (
        "tilewright: the shapes do not fit\n  expected: (2,)\n  got: (3,)\n  hint: reshape\n"
    )


def test_debug_shows_where(failing, capsys):
    failing(ShapeError("the shapes do not fit"))
    assert main(["--debug", "fail"]) == WRONG
    assert "Traceback" in capsys.readouterr().err


def test_a_wrong_use_points_at_the_help(failing, capsys):
    failing(UsageError("there is no such thing"))
    assert main(["fail"]) == MISUSED
    assert "see: tilewright fail --help" in capsys.readouterr().err


def test_what_the_system_refuses_is_one_text(failing, capsys):
    failing(PermissionError(errno.EACCES, "Permission denied", "/out"))
    assert main(["fail"]) == WRONG
    assert capsys.readouterr().err == "tilewright: [Errno 13] Permission denied: '/out'\n"


def test_a_bug_is_not_hidden(failing):
    failing(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        main(["fail"])


def test_an_interrupt_is_quiet(failing, capsys):
    failing(KeyboardInterrupt())
    assert main(["fail"]) == 130
    assert capsys.readouterr().err == ""


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "--version"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("tilewright ")


def test_the_installed_program_is_this_one():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["scripts"]["tilewright"].partition(":")
    assert getattr(importlib.import_module(module), name) is main


def test_a_reader_that_leaves_is_no_error(tmp_path):
    done = subprocess.run(
        f"{sys.executable} -m tilewright doctor | true; echo ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "0"
    assert done.stderr == ""
