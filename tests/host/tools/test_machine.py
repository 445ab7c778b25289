"""The driver is asked by another process; whatever becomes of it, an answer comes."""

from __future__ import annotations

import pytest

from tilewright.tools.machine import Driver, Gpu, ask_driver


@pytest.fixture
def probe(tmp_path):
    def write(code):
        path = tmp_path / "probe.py"
        path.write_text(code)
        return path

    return write


def test_a_driver_with_devices(probe):
    said = """print('{"version": 13020, "devices": [{"name": "H200", "arch": "sm_90",'
                    '"memory": 5, "processors": 132}]}')"""
    assert ask_driver(probe(said)) == Driver((13, 2), (Gpu("H200", "sm_90", 5, 132),))


def test_one_that_hangs(probe):
    driver = ask_driver(probe("import time; time.sleep(1000)"), 0.2)
    assert "did not answer" in driver.error and driver.version is None


@pytest.mark.parametrize(
    ("code", "said"),
    [("import os; os.abort()", "status -6"), ("raise SystemExit(3)", "status 3"),
     ("1 / 0", "ZeroDivisionError")],
)  # fmt: skip
def test_one_that_dies(probe, code, said):
    assert said in ask_driver(probe(code)).error


def test_this_machine_gives_an_answer():
    driver = ask_driver()
    assert driver.error or driver.gpus or driver.version
