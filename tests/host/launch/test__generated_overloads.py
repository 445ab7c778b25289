from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_file_is_what_the_tool_writes(tmp_path):
    spec = importlib.util.spec_from_file_location("overloads", ROOT / "tools" / "overloads.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    fresh = tmp_path / "fresh.py"
    fresh.write_text(tool.generated())
    command = [sys.executable, "-m", "ruff", "format", "--config", ROOT / "pyproject.toml", fresh]
    subprocess.run(command, check=True, capture_output=True)
    assert fresh.read_text() == tool.TARGET.read_text()
