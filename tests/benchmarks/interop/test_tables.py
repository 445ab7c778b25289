from __future__ import annotations

import importlib.util
import json

import pytest

from benchmarks.host.probes import repeated
from benchmarks.interop import arrays, tables
from benchmarks.interop.__main__ import main
from benchmarks.timing import Effort

SHORT = Effort(seconds=0.001, rounds=1)


def test_who_is_wrong_or_missing_does_not_run():
    def wrong():
        arrays.checked([1.0], [1.0])

    def missing():
        raise ImportError("no such library")

    makers = {"a row": {"right": lambda: repeated(int), "wrong": wrong, "missing": missing}}
    rows, absent = tables.contest(makers, SHORT)
    assert list(rows["a row"]) == ["right"]
    assert (
        absent["missing, a row"] == "no such library" and "its error is" in absent["wrong, a row"]
    )


@pytest.mark.filterwarnings("ignore")
def test_a_whole_run_on_the_cpu(tmp_path, capsys):
    assert main(["--seconds", "0.001", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "interop.json").read_text())
    names = [table["name"] for table in found["tables"]]
    assert names == ["torch", "jax"], "there are no foreign kernels on the CPU"
    if importlib.util.find_spec("torch"):
        assert list(found["tables"][0]["rows"]["a call"]) == [
            arrays.OURS, arrays.IN_PYTHON, arrays.THEIRS
        ]  # fmt: skip
    assert main(["--draw", str(tmp_path / "interop.json"), "--out", str(tmp_path)]) == 0
