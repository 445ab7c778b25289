"""The hash of the sources follows their contents, and is none when it may be wrong."""

from __future__ import annotations

import os

import pytest

from tilewright.base import files
from tilewright.base.files import source_hash


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package instead of ours; its files count as old."""
    (tmp_path / "one" / "inner").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "a.py").write_text("a = 1\n")
    (tmp_path / "one" / "inner" / "b.py").write_text("b = 1\n")
    (tmp_path / "two" / "c.py").write_text("c = 1\n")
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(files, "PACKAGE", str(tmp_path))
    monkeypatch.setattr(files, "IMPORTED", float("inf"))
    yield tmp_path
    source_hash.cache_clear()


def hashed(*folders):
    source_hash.cache_clear()
    return source_hash(*folders)


def test_every_file_below_counts(package):
    seen = {hashed("one"), hashed("two"), hashed("one", "two")}
    for path in ("one/a.py", "one/inner/b.py"):
        (package / path).write_text("changed\n")
        seen.add(hashed("one"))
    (package / "one" / "new.py").touch()
    seen.add(hashed("one"))
    (package / "one" / "new.py").rename(package / "one" / "newer.py")
    seen.add(hashed("one"))
    assert len(seen) == 7
    assert None not in seen


def test_text_that_moves_between_files_counts(package):
    before = hashed("one")
    (package / "one" / "a.py").write_text("a = 1\nb = 1\n")
    (package / "one" / "inner" / "b.py").write_text("")
    assert hashed("one") != before


def test_other_files_do_not_count(package):
    before = hashed("one")
    (package / "one" / "notes.txt").write_text("x")
    (package / "two" / "c.py").write_text("x")
    os.utime(package / "one" / "a.py", (1, 1))
    assert hashed("one") == before


def test_it_does_not_depend_on_where_the_package_is(package, monkeypatch):
    before = hashed("one", "two")
    moved = package.rename(package.with_name("elsewhere"))
    monkeypatch.setattr(files, "PACKAGE", str(moved))
    assert hashed("one", "two") == before


def test_without_sources_there_is_none(package):
    assert hashed("empty") is None
    assert hashed("nowhere") is None
    (package / "one" / "broken.py").symlink_to("nowhere.py")
    assert hashed("one") is None


def test_a_file_changed_after_it_was_loaded(package, monkeypatch):
    """What runs is then older than what is on disk: a hash of the file would be a lie."""
    changed = (package / "one" / "a.py").stat().st_ctime
    monkeypatch.setattr(files, "IMPORTED", changed + 3)
    assert hashed("one") is not None
    monkeypatch.setattr(files, "IMPORTED", changed - 1)
    assert hashed("one") is None


def test_the_time_of_modification_cannot_hide_a_change(package, monkeypatch):
    path = package / "one" / "a.py"
    os.utime(path, (1, 1))
    monkeypatch.setattr(files, "IMPORTED", path.stat().st_ctime - 1)
    assert hashed("one") is None


def test_ours(monkeypatch):
    monkeypatch.setattr(files, "IMPORTED", float("inf"))
    assert len(hashed("base", "ir")) == 64
    assert hashed("base", "ir") != hashed("base")
