"""Everything printed in the README and the docs is run, on the CPU, and prints what it says."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from source_tree import ROOT, relative
from tilewright.base.config import table

sys.path.insert(0, str(ROOT / "tools"))
import snippets

PAGES = snippets.pages()
WITH_CODE = [page for page in PAGES if snippets.extract(page.read_text(encoding="utf-8")).strip()]


@pytest.mark.parametrize("page", WITH_CODE, ids=relative)
def test_page_runs(page: Path, tmp_path, monkeypatch, capsys):
    """A page is one program; its ```output blocks, joined, are what it prints."""
    text = page.read_text(encoding="utf-8")
    module = tmp_path / f"{page.stem}.py"
    module.write_text(snippets.extract(text), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(module), run_name="__main__")
    printed = capsys.readouterr().out.replace(f"{tmp_path}/", "")
    expected = "\n".join(filter(None, snippets.extract(text, "output").splitlines()))
    if expected:
        assert "\n".join(filter(None, printed.splitlines())) == expected


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_page_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{relative(page)} links to {target}"


def test_every_page_is_reachable_from_the_index():
    seen, todo = set(), [ROOT / "docs" / "index.md"]
    while todo:
        page = todo.pop().resolve()
        if page not in seen and page.suffix == ".md":
            seen.add(page)
            links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
            todo += [page.parent / link for link in links]
    lost = {p.resolve() for p in PAGES if p.parent != ROOT} - seen
    assert not lost, f"no page leads to {sorted(map(relative, lost))}"


def test_settings_page_is_the_table():
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    assert table() in page, "copy the output of tilewright.base.config.table() into the page"
