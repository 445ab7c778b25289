"""Everything printed in the README and the docs is run, on the CPU, and prints what it says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from source_tree import ROOT, relative
from tilewright.backend.tileir.toolchain import find_toolchain
from tilewright.base.config import table
from tilewright.base.errors import CompileError

sys.path.insert(0, str(ROOT / "tools"))
import snippets

PAGES = snippets.pages()
NOT_HERE = ("skip", "gpu")
WITH_ASSEMBLER = ("ahead_of_time.md", "cuda.md")
"""Pages that compile for CUDA."""


def programs(text: str) -> dict[snippets.Block, str]:
    """The blocks of a page that are run, and what each needs: ```python torch needs torch.

    Those marked ```python gpu are run by tests/gpu.
    """
    found = {b: b.language.removeprefix("python").strip() for b in snippets.blocks(text)
             if b.language.startswith("python")}  # fmt: skip
    return {block: needed for block, needed in found.items() if needed not in NOT_HERE}


def _skip_without_assembler() -> None:
    try:
        find_toolchain()
    except CompileError as error:
        pytest.skip(f"no CUDA assembler here ({error.got})")


WITH_CODE = [page for page in PAGES if programs(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", WITH_CODE, ids=relative)
@pytest.mark.usefixtures("sources_count_as_old")
def test_page_runs(page: Path, tmp_path, monkeypatch, capsys, request):
    """A page is one program; an ```output block holds what the block before it prints."""
    text = page.read_text(encoding="utf-8")
    runs = programs(text)
    for library in {needed for needed in runs.values() if needed}:
        pytest.importorskip(library)
    if page.name in WITH_ASSEMBLER:
        _skip_without_assembler()
    module = tmp_path / f"{page.stem}.py"
    module.write_text(snippets.lines_of(text, runs), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    namespace, printed, outputs = {"__name__": "__main__"}, [], []
    for block in snippets.blocks(text):
        if block in runs:
            code = compile("\n" * block.first + "\n".join(block.lines), str(module), "exec")
            exec(code, namespace)
            printed = capsys.readouterr().out.replace(f"{tmp_path}/", "").splitlines()
        elif block.language == "output":
            outputs.append((block, printed))
    fresh = text.splitlines()
    for block, printed in reversed(outputs):
        fresh[block.first : block.first + len(block.lines)] = printed
    if request.config.getoption("--accept"):
        page.write_text("\n".join(fresh) + "\n", encoding="utf-8")
        return
    assert fresh == text.splitlines(), "what the page prints has changed; see `pytest --accept`"


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_page_links_lead_somewhere(page: Path):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{relative(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_page_anchors_are_headings(page: Path):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]*)\)", prose):
        linked = page.parent / target if target else page
        assert anchor in anchors(linked), f"{relative(page)} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return the names that Markdown viewers give to the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


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


def test_settings_page_is_the_table(request):
    page = ROOT / "docs" / "reference" / "settings.md"
    text = page.read_text(encoding="utf-8")
    fresh = re.sub(r"(^\|.*\n)+", lambda _: table(), text, count=1, flags=re.MULTILINE)
    if request.config.getoption("--accept"):
        page.write_text(fresh, encoding="utf-8")
        return
    assert text == fresh, "the settings have changed; see `pytest --accept`"
