"""The page as a file: nothing in it can be anything but text, and it loads nothing."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from tilewright.tools.explore import page
from tilewright.tools.explore.page import html_of, script_of

MODULES = sorted((Path(page.__file__).parent / page.FOLDER).glob("*.js"))


def test_data_cannot_end_its_element(data):
    text = html_of(data)
    assert "</script><script>alert" not in text
    embedded = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert embedded is not None and json.loads(embedded[1]) == json.loads(json.dumps(data))
    assert text.count("<script") == 2 and text.count("</script>") == 2


def test_the_title_is_text(data):
    assert "<title>&lt;b&gt;.py: tilewright explore</title>" in html_of({**data, "title": "<b>.py"})


def test_only_its_own_script_and_style_are_allowed(data):
    text = html_of(data)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None and policy[1].startswith("default-src 'none'; script-src 'sha256-")
    script = re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    assert script is not None
    assert b64encode(sha256(script[1].encode()).digest()).decode() in policy[1]
    assert "unsafe" not in policy[1] and "http" not in re.sub(r"www\.w3\.org", "", policy[1])


def test_all_modules_are_in_it_once():
    script = script_of()
    assert "import " not in re.sub(r"//.*|/\*.*?\*/", "", script).split("const WORDS")[0]
    for module in MODULES:
        first = next(line for line in module.read_text().splitlines() if line.startswith("//"))
        assert script.count(first) == 1, module.name


def test_names_of_modules_differ():
    """They are joined into one script."""
    names = [
        name
        for module in MODULES
        for name in re.findall(
            r"^(?:export )?(?:const|let|function|class) (\w+)", module.read_text(), re.MULTILINE
        )
    ]
    assert len(names) == len(set(names)) > 40


FORBIDDEN = ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write", "fetch(",
             "XMLHttpRequest", "localStorage")  # fmt: skip


@pytest.mark.parametrize("word", FORBIDDEN)
def test_modules_make_no_markup_of_texts_and_send_nothing(word):
    assert word not in script_of()
