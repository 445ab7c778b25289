"""Builds the native core anew when its sources have changed, before a test imports it.

A core that is older than the Python around it fails in riddles. This is for checkouts in which
`make inplace` or an editable install has built it; a package from elsewhere is taken as it is.
"""

from __future__ import annotations

import importlib.util
import os
import sys

from source_tree import ROOT, SOURCES


def refresh() -> None:
    """Build, once for all workers of pytest-xdist; end the run where that fails."""
    found = importlib.util.find_spec("tilewright")
    is_ours = found is not None and found.origin == str(SOURCES / "__init__.py")
    if not is_ours or "PYTEST_XDIST_WORKER" in os.environ:
        return
    sys.path.insert(0, str(ROOT / "native"))
    try:
        import build_core
    finally:
        sys.path.remove(str(ROOT / "native"))
    try:
        build_core.refresh()
    except build_core.BuildError as error:
        raise SystemExit(f"error: {error}") from None
