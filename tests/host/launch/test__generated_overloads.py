from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def _tool():
    name = "tilewright_overloads_tool"
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "overloads.py")
    tool = importlib.util.module_from_spec(spec)
    sys.modules[name] = tool  # dataclasses look their module up
    spec.loader.exec_module(tool)
    return tool


TOOL = _tool()


@pytest.mark.parametrize("kind", TOOL.KINDS, ids=lambda kind: kind.word)
def test_the_file_is_what_the_tool_writes(kind, tmp_path):
    pytest.importorskip("ruff")
    fresh = tmp_path / "fresh.py"
    fresh.write_text(TOOL.generated(kind))
    command = [sys.executable, "-m", "ruff", "format", "--config", ROOT / "pyproject.toml", fresh]
    subprocess.run(command, check=True, capture_output=True)
    assert fresh.read_text() == (TOOL.FOLDER / kind.file).read_text()
