"""The command that measures what pages quote: one commit, a clean tree, all files or none."""

from __future__ import annotations

import json

import pytest

from benchmarks import figures
from benchmarks.figures import CPU, GPU, RefusedError, accepted, clean_commit, command, publish

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def tree(monkeypatch):
    """What git says of the tree, which a test may change."""
    said = {"commit": COMMIT, "changes": ""}
    monkeypatch.setattr(figures, "state", lambda: (said["commit"], said["changes"]))
    return said


@pytest.fixture
def measured(tmp_path):
    for part in CPU:
        machine = {"commit": COMMIT[:7]}
        (tmp_path / f"{part.stem}.json").write_text(json.dumps({"machine": machine}))
    return tmp_path


def test_a_changed_tree_is_refused(tree):
    assert clean_commit() == COMMIT
    tree["changes"] = " M README.md\n"
    with pytest.raises(RefusedError, match=r"commit these first:\n M README\.md"):
        clean_commit()


def test_a_run_is_refused_before_it_measures(tree, monkeypatch, capsys):
    tree["changes"] = "?? new.py\n"
    monkeypatch.setattr(figures, "lacking", list)
    monkeypatch.setattr(figures, "measure", lambda *_, **__: pytest.fail("it measures"))
    assert figures.main([]) == 1
    assert "no figures: the tree differs from its commit" in capsys.readouterr().err


def test_missing_libraries_are_named(tree, monkeypatch, capsys):
    monkeypatch.setattr(figures, "lacking", lambda: ["torch", "jax"])
    assert figures.main([]) == 1
    assert "not installed: torch, jax" in capsys.readouterr().err


def test_a_tree_that_changes_meanwhile_is_refused(tree, measured):
    assert {path.stem for path in accepted(CPU, measured, COMMIT)} == {p.stem for p in CPU}
    tree["commit"] = "f" * 40
    with pytest.raises(RefusedError, match="changed meanwhile"):
        accepted(CPU, measured, COMMIT)


@pytest.mark.parametrize("other", ["fedcba9", f"{COMMIT[:7]}-dirty", "unknown"])
def test_results_of_several_commits_are_refused(tree, measured, other):
    (measured / "host.json").write_text(json.dumps({"machine": {"commit": other}}))
    with pytest.raises(RefusedError, match=f"host says that it was measured at {other}"):
        accepted(CPU, measured, COMMIT)


def test_all_files_are_replaced(tmp_path, measured, monkeypatch):
    results = tmp_path / "results"
    results.mkdir()
    monkeypatch.setattr(figures, "pages", list)
    publish(sorted(measured.glob("*.json")), results)
    assert {path.stem for path in results.iterdir()} == {part.stem for part in CPU}


@pytest.mark.parametrize("parts", [CPU, GPU], ids=["cpu", "gpu"])
def test_every_part_writes_where_it_is_told(parts, tmp_path):
    assert len({part.stem for part in parts}) == len(parts)
    for part in parts:
        for quick in (False, True):
            assert command(part, tmp_path, quick=quick)[-2:] == ["--out", str(tmp_path)]
        assert command(part, tmp_path, quick=True) != command(part, tmp_path, quick=False)
