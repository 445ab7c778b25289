"""The page in Chromium, in both colour schemes."""

from __future__ import annotations

import re

import pytest

from support import browser

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(browser.find() is None, reason="no Chromium is installed"),
]


@pytest.fixture(scope="module")
def page(exported, tmp_path_factory):
    program = browser.find()
    assert program is not None
    with browser.Browser(program, tmp_path_factory.mktemp("chromium")) as made:
        made.show()
        made.open(exported.as_uri())
        made.wait("document.querySelector('.code .line')")
        yield made
        assert made.complaints == []


def shown(page, tab):
    page.ask(f"document.getElementById('tab-{tab}').click()")
    return page.ask("document.getElementById('view').innerText")


def test_texts_are_texts(page):
    assert "alert(" in page.ask("document.getElementById('source').textContent")
    assert page.ask("document.querySelectorAll('#source script').length") == 0


def test_it_loads_nothing(page):
    assert [url for url in page.requests if not url.startswith("file:")] == []


def test_a_click_pins_a_line_everywhere(page):
    shown(page, "code")
    page.ask("[...document.querySelectorAll('#source .linked')]"
             ".find(line => line.innerText.includes('t * 2.0')).click()")  # fmt: skip
    pinned = page.ask("[...document.querySelectorAll('.code .pinned')].map(x => x.innerText)")
    assert pinned and any("mulf" in text for text in pinned)
    page.ask("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert page.ask("document.querySelectorAll('.pinned').length") == 0


def test_stages_and_what_passes_changed(page):
    shown(page, "code")
    names = page.ask("[...document.querySelectorAll('.stage')].map(x => x.innerText)")
    assert names[0] == "frontend" and {"dce 2", "plan", "llvm", "assembly"} <= set(names)
    page.ask("[...document.querySelectorAll('.stage')].find(x => x.innerText == 'dce').click()")
    page.ask("document.getElementById('diff').click()")
    assert page.ask("document.querySelectorAll('.code .removed').length") > 0
    page.ask("document.getElementById('diff').click()")
    assert page.ask("document.querySelectorAll('.code .removed').length") == 0


def test_tables(page):
    assert "proved" in shown(page, "checks")
    assert "object file" in shown(page, "facts")
    assert "frontend" in shown(page, "times")


def test_blocks_can_be_chosen(page):
    assert "Grid 2 \u00d7 3 \u00d7 1" in shown(page, "grid")
    page.ask("[...document.querySelectorAll('.block')].at(-1)"
             ".dispatchEvent(new MouseEvent('click'))")  # fmt: skip
    text = page.ask("document.getElementById('view').innerText")
    assert "block (1, 2, 0)" in text and "x[4:8, 8:12]" in text
    page.ask("document.getElementById('next').click()")
    assert "access 1 of 2" in page.ask("document.getElementById('view').innerText")


def test_another_kernel(page):
    page.ask("const s = document.getElementById('kernel'); s.value = '1';"
             "s.dispatchEvent(new Event('change'))")  # fmt: skip
    assert "shifted" in page.ask("document.getElementById('source').textContent")
    page.ask("s.value = '0'; s.dispatchEvent(new Event('change'))")


@pytest.mark.parametrize("dark", [False, True])
def test_pictures(page, dark, tmp_path):
    """Both colour schemes draw: light is light, dark is dark, and neither is empty."""
    page.show(dark=dark)
    shown(page, "code")
    picture = page.picture()
    assert len(picture) > 20_000
    colour = page.ask("getComputedStyle(document.querySelector('.pane')).backgroundColor")
    red = int(re.findall(r"\d+", colour)[0])
    assert red < 60 if dark else red > 200


@pytest.mark.parametrize("tab", ["code", "checks", "facts", "grid", "times"])
def test_on_a_phone(page, tab):
    """Code scrolls in its pane; the page does not, and drawings are there as a whole."""
    page.show(width=390, height=844)
    try:
        shown(page, tab)
        assert page.ask("document.documentElement.scrollWidth") == 390
        drawings = page.ask("[...document.querySelectorAll('figure svg, .map')]"
                            ".map(drawing => drawing.getBoundingClientRect().right)")  # fmt: skip
        assert all(right <= 390 for right in drawings)
        assert bool(drawings) == (tab == "grid")
    finally:
        page.show()
