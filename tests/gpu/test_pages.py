"""What pages of the docs say of GPUs: blocks marked ```python gpu print what stands below them."""

from __future__ import annotations

import sys

import pytest

from source_tree import ROOT, relative
from tilewright.base.errors import CompileError
from tilewright.interop import nvrtc

sys.path.insert(0, str(ROOT / "tools"))
import snippets

GPU = "python gpu"
WITH_GPU = [page for page in snippets.pages() if f"```{GPU}\n" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", WITH_GPU, ids=relative)
def test_page_runs(page, tmp_path, capsys):
    """Its other blocks run as well, for what they define."""
    try:
        nvrtc._library()
    except CompileError as error:
        pytest.skip(str(error.got))
    text = page.read_text(encoding="utf-8")
    runs = [block for block in snippets.blocks(text) if block.language in ("python", GPU)]
    module = tmp_path / f"{page.stem}.py"
    module.write_text(snippets.lines_of(text, runs), encoding="utf-8")
    namespace, printed = {"__name__": "__main__"}, []
    for block in snippets.blocks(text):
        if block in runs:
            code = compile("\n" * block.first + "\n".join(block.lines), str(module), "exec")
            exec(code, namespace)
            printed = capsys.readouterr().out.splitlines()
        elif block.language == "output gpu":
            assert printed == list(block.lines)
