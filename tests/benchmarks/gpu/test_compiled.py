"""The page of compiled kernels, and that its command names a kernel whose checks cost something."""

from __future__ import annotations

import json

from benchmarks.gpu import compiled
from benchmarks.gpu.compiled import Twins, main, markdown

SAME = Twins("proved: 2", 100, same=True)
OTHER = Twins("in place: 1", 200, same=False)


def test_page():
    page = markdown({"commit": "abc"}, {"add": SAME, "sum": OTHER}, {"add": {"cubin": 0.5}})
    assert "| commit | abc |" in page
    assert "| add | proved: 2 | 100 | the same bytes |" in page
    assert "| sum | in place: 1 | 200 | another |" in page
    assert "| add | 0.500 |" in page


def test_a_check_that_costs_something_fails_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "compile_times", lambda call: {"cubin": 0.5})
    for found, status in ((SAME, 0), (OTHER, 1)):
        monkeypatch.setattr(compiled, "twins", lambda call, arch, found=found: found)
        assert main(["--only", "softmax", "--out", str(tmp_path)]) == status
        data = json.loads((tmp_path / "compiled.json").read_text())
        assert data["safety"]["softmax"]["same"] is found.same
        assert set(data["compile"]) == {"softmax"}
