"""mypy and pyright over users' programs: the good ones pass, every mistake is found."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PROGRAMS = HERE / "programs"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""That which runs: the types of NumPy for another one may not be readable by it."""


def errors_of_mypy(path: Path) -> dict[int, str]:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--python-version",
               PYTHON, str(path)]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.findall(rf"{path.name}:(\d+): error: (.*)", done.stdout)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return {int(line): text for line, text in found}


def errors_of_pyright(path: Path) -> dict[int, str]:
    program = Path(sys.executable).with_name("pyright")
    if not program.exists() and shutil.which("pyright") is None:
        pytest.skip("pyright is not installed")
    command = [str(program), "--outputjson", "--pythonpath", sys.executable, "--pythonversion",
               PYTHON, str(path)]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {
        d["range"]["start"]["line"] + 1: d["message"] for d in found if d["severity"] == "error"
    }


CHECKERS = [pytest.param(errors_of_mypy, id="mypy"), pytest.param(errors_of_pyright, id="pyright")]


@pytest.mark.parametrize("errors", CHECKERS)
@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("good*.py")), ids=lambda p: p.stem)
def test_a_good_program_has_no_errors(errors, path):
    assert errors(path) == {}


@pytest.mark.parametrize("errors", CHECKERS)
@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("bad*.py")), ids=lambda p: p.stem)
def test_every_mistake_is_found_and_nothing_else(errors, path):
    lines = path.read_text().splitlines()
    marked = {i: line for i, line in enumerate(lines, 1) if "# error" in line}
    found = errors(path)
    missed = {i: line for i, line in marked.items() if i not in found}
    assert not missed
    assert not {i: text for i, text in found.items() if i not in marked}


def test_there_are_enough():
    texts = {path.stem: path.read_text() for path in PROGRAMS.glob("*.py")}
    checked = sum(text.count("assert_type(") for text in texts.values())
    mistakes = sum(text.count("# error") for text in texts.values())
    assert checked >= 60 and mistakes >= 40
