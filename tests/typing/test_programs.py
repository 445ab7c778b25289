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
FILES = sorted(PROGRAMS.glob("*.py"))
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""That which runs: the types of NumPy for another one may not be readable by it."""


Errors = dict[str, dict[int, str]]
"""Messages by the line they are about, for each program."""


def errors_of_mypy() -> Errors:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--python-version",
               PYTHON, *map(str, FILES)]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    errors: Errors = {path.stem: {} for path in FILES}
    for stem, line, text in re.findall(r"(\w+)\.py:(\d+): error: (.*)", done.stdout):
        errors[stem][int(line)] = text
    return errors


def errors_of_pyright() -> Errors:
    program = Path(sys.executable).with_name("pyright")
    if not program.exists() and shutil.which("pyright") is None:
        pytest.skip("pyright is not installed")
    command = [str(program), "--outputjson", "--pythonpath", sys.executable, "--pythonversion",
               PYTHON, *map(str, FILES)]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors: Errors = {path.stem: {} for path in FILES}
    for found in json.loads(done.stdout)["generalDiagnostics"]:
        if found["severity"] == "error":
            line = found["range"]["start"]["line"] + 1
            errors[Path(found["file"]).stem][line] = found["message"]
    return errors


def marked(path: Path) -> set[int]:
    """Lines that a program says are wrong; a good program has none."""
    lines = path.read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if "# error" in line}


@pytest.mark.parametrize("errors_of", [errors_of_mypy, errors_of_pyright])
def test_every_mistake_is_found_and_nothing_else(errors_of):
    """All programs in one run of the checker, which takes long to start."""
    errors = errors_of()
    assert not any(marked(path) for path in FILES if path.stem.startswith("good"))
    for path in FILES:
        found = errors[path.stem]
        missed = marked(path) - found.keys()
        assert not missed, f"{path.stem}: nothing is said of lines {sorted(missed)}"
        wrong = {line: text for line, text in found.items() if line not in marked(path)}
        assert not wrong, path.stem


def test_there_are_enough():
    texts = {path.stem: path.read_text() for path in PROGRAMS.glob("*.py")}
    checked = sum(text.count("assert_type(") for text in texts.values())
    mistakes = sum(text.count("# error") for text in texts.values())
    assert checked >= 60 and mistakes >= 40
