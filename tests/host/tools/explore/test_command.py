"""`tilewright explore` as a command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from tilewright.tools.command import main


def test_an_export_is_one_file(exported):
    assert [path.name for path in exported.parent.iterdir()] == ["page.html"]
    text = exported.read_text()
    assert text.startswith("<!doctype html>") and "shifted" in text


def test_an_unknown_architecture(program, capsys):
    assert main(["explore", str(program), "--arch", "sm_75"]) == 2
    assert "there is no 'sm_75'" in capsys.readouterr().err


@pytest.mark.full
def test_it_serves_until_ctrl_c(program):
    command = [sys.executable, "-m", "tilewright", "explore", str(program), "--arch", "none"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
        with urllib.request.urlopen(address, timeout=10) as answer:
            assert b"shifted" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
