"""Where the checks of the examples' kernels go, for all that their programs launch."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from source_tree import ROOT
from tilewright.compile.checks import Checks
from tilewright.launch.inspection import Inspection
from tilewright.launch.watching import Needed, watching

FOLDER = ROOT / "examples"
WITHOUT_LAUNCHES = {"activations", "decoder", "demo", "tile_to_simt_from_ptx"}
"""Modules that examples import, what runs other examples, and what needs a GPU."""
EXAMPLES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in WITHOUT_LAUNCHES)


def counts(needed: Needed) -> str:
    artifact = Inspection.of_launch(needed, "reference").artifact()
    return str(Checks.of(artifact.obligations))


def fresh(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An example with kernels that nobody has launched yet, those it takes from others included."""
    for each in (path.stem for path in FOLDER.glob("*.py")):
        monkeypatch.delitem(sys.modules, each, raising=False)
    return importlib.import_module(name)


@pytest.mark.full
def test_where_checks_go(golden, monkeypatch, capsys):
    """Each kind of launch of a kernel of the examples once, library kernels left out."""
    monkeypatch.syspath_prepend(str(FOLDER))
    lines = []
    for name in EXAMPLES:
        seen: list[Needed] = []
        module = fresh(name, monkeypatch)
        with watching(seen.append):
            module.main()
        own = [n for n in seen if Path(n.kernel.source.source.file.name).parent == FOLDER]
        lines += sorted({f"{name:22} {n.kernel.name:22} {counts(n)}" for n in own})
    golden("\n".join(lines))
