"""The types of the real torch and JAX go with ours: mypy and pyright, far from our own stubs."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOST = Path(__file__).parent / "frameworks" / "host.py"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def lines_of_mypy(path: Path) -> set[int]:
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", PYTHON, path.name]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return {int(n) for n in re.findall(r"host\.py:(\d+): error", done.stdout)}


def lines_of_pyright(path: Path) -> set[int]:
    program = Path(sys.executable).with_name("pyright")
    if not program.exists():
        pytest.skip("pyright is not installed")
    command = [str(program), "--outputjson", "--pythonpath", sys.executable, str(path)]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}


@pytest.mark.full
@pytest.mark.parametrize("lines_of", [lines_of_mypy, lines_of_pyright])
def test_host_programs_over_real_frameworks(lines_of, tmp_path):
    for name in ("torch", "jax"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    path = Path(shutil.copy(HOST, tmp_path))
    (tmp_path / "pyproject.toml").write_text("[tool.mypy]\n[tool.pyright]\n")
    lines = path.read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if "# error" in line}
    assert lines_of(path) == wrong
