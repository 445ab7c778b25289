"""The data of the page."""

from __future__ import annotations

import json

import pytest

from tilewright.tools.explore.model import described


@pytest.fixture
def scale(data):
    return data["kernels"][0]


def lines_of(kernel, references):
    return [
        kernel["functions"][owner]["lines"][line - kernel["functions"][owner]["first"]].strip()
        for owner, line in (kernel["references"][r] for r in references)
    ]


def test_it_is_json(data):
    assert json.loads(json.dumps(data))["title"] == "program.py"


def test_kernels_with_their_types(data):
    assert [k["name"] for k in data["kernels"]] == ["scale", "shifted"]
    scale, shifted = data["kernels"]
    assert scale["parameters"][0] == {"name": "out", "type": "f32[?, ?] in tiles of 4x4"}
    assert scale["block"] is None and shifted["block"] == [256, 1, 1]


@pytest.mark.parametrize(("stage", "word"), [
    ("frontend", "mulf"), ("passes", "mulf"), ("plan", "mulf"), ("llvm", "fmul"),
    ("assembly", "mulps"),
])  # fmt: skip
def test_every_stage_knows_the_line_of_the_product(scale, stage, word):
    """The product is in a function, and that is called: both are known down to the machine."""
    (target,) = scale["targets"]
    shown = next(s for s in target["stages"] if s["name"] == stage)
    found = [
        lines_of(scale, places)
        for text, places in zip(shown["lines"], shown["places"], strict=True)
        if word in text or (word == "mulps" and ("vmulps" in text or "vaddps" in text))
    ]
    assert found and all(lines == ["return t * 2.0", "out.store(twice(t))"] for lines in found)


def test_a_pass_that_runs_twice_is_there_twice(scale):
    names = [stage["name"] for stage in scale["targets"][0]["stages"]]
    assert names.count("dce") == 2 and names[0] == "frontend"
    assert names.index("passes") < names.index("plan") < names.index("assembly")


def test_stages_are_timed(scale):
    (target,) = scale["targets"]
    stages = {stage["name"]: stage["milliseconds"] for stage in target["stages"]}
    assert 0 < stages["frontend"] < target["milliseconds"]
    assert stages["assembly"] == 0, "it is no part of a compilation"


def test_checks_with_lines(scale):
    (target,) = scale["targets"]
    assert {c["placement"] for c in target["checks"]} == {"proved"}
    for check in target["checks"]:
        assert lines_of(scale, check["lines"])[0] == "t = tl.load_tile_like(x, out)"
    assert any("x.shape[0] == out.shape[0]" in c["text"] for c in target["launch_checks"])


def test_facts_and_decisions(scale):
    (target,) = scale["targets"]
    assert "object file" in dict(target["facts"])
    assert any("loop nest" in d["text"] for d in target["decisions"])


def test_blocks_read_and_write_tiles_with_padding(scale):
    grid = scale["grid"]
    assert grid["grid"] == [2, 3, 1] and len(grid["blocks"]) == 6 and grid["why"] == ""
    last = grid["blocks"].index([1, 2, 0])
    mine = [a for a in grid["accesses"] if a[0] == last]
    assert len(mine) == 2
    for (_, tensor, verb, lines, window, box, touched, elements, dense), name, what, line in zip(
        mine, ("x", "out"), (0, 1), ("t = tl.load_tile_like(x, out)", "out.store(twice(t))"),
        strict=True,
    ):  # fmt: skip
        assert (grid["tensors"][tensor]["name"], verb) == (name, what)
        assert (window, box) == ([4, 8, 8, 12], [4, 7, 8, 9])
        assert (touched, elements, dense) == (3, 16, True)
        assert lines_of(scale, lines)[-1] == line


def test_threads_of_a_block_are_one(data):
    grid = data["kernels"][1]["grid"]
    assert grid["grid"] == [2, 1, 1], "x comes first, as in the index of a block"
    assert [a[4] for a in grid["accesses"] if a[0] == 1] == [[256, 300]] * 2


def test_a_target_that_cannot_be_compiled_for_is_described(program, launched, monkeypatch):
    monkeypatch.setattr("tilewright.backend.tileir.toolchain.find_program", lambda *_: None)
    (_, missing) = described(program, launched[:1], ["cpu", "sm_90"])["kernels"][0]["targets"]
    assert "tileiras" in missing["error"] and missing["stages"] == []
