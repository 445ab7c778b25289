"""Every example in a docstring is run."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest

from source_tree import modules
from tilewright import ops

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

KNOWN = {"np": np, "ops": ops}
"""Names that examples need not import."""

WITH_EXAMPLES = [
    name for name, m in modules().items() if ">>> " in m.path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    # Declared functions wrap the written ones; the finder must not take them for foreign.
    failed, tried = doctest.testmod(module, optionflags=OPTIONS, extraglobs=KNOWN)
    assert tried > 0, f"{name} has examples that are not found"
    assert failed == 0
