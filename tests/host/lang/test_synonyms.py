"""Words of other languages: each hint names something that is there."""

from __future__ import annotations

import re

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.loops import for_each
from tilewright.lang.synonyms import SYNONYMS


@for_each(SYNONYMS)
def test_synonyms_name_what_is_there(name):
    assert name not in tl.__all__, "it has the word itself"
    for module, word in re.findall(r"\b(tl|tilewright)\.(\w+)", SYNONYMS[name]):
        assert hasattr(tl if module == "tl" else tw, word)


def test_the_module_names_its_own_word():
    with pytest.raises(AttributeError, match=r"no attribute 'program_id'; here it is tl\.block_id"):
        tl.program_id  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        tl.nonsense  # noqa: B018
