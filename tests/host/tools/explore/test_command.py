"""`tilewright explore` as a command, and its page in a browser."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from support import browser
from tilewright.tools.command import main

needs_browser = pytest.mark.skipif(browser.find() is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def exported(program, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "deep" / "page.html"
    assert main(["explore", str(program), "--arch", "none", "--export", str(path)]) == 0
    return path


def test_an_export_is_one_file(exported):
    assert [path.name for path in exported.parent.iterdir()] == ["page.html"]
    text = exported.read_text()
    assert text.startswith("<!doctype html>") and "shifted" in text


def test_an_unknown_architecture(program, capsys):
    assert main(["explore", str(program), "--arch", "sm_75"]) == 2
    assert "there is no 'sm_75'" in capsys.readouterr().err


def test_it_serves_until_ctrl_c(program):
    command = [sys.executable, "-m", "tilewright", "explore", str(program), "--arch", "none"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
        with urllib.request.urlopen(address, timeout=10) as answer:
            assert b"shifted" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


@pytest.mark.full
@needs_browser
class TestInABrowser:
    """The page of an export, as Chromium shows it."""

    @pytest.fixture(scope="class")
    def page(self, exported, tmp_path_factory):
        program = browser.find()
        assert program is not None
        with browser.Browser(program, tmp_path_factory.mktemp("chromium")) as made:
            made.show()
            made.open(exported.as_uri())
            made.wait("document.querySelector('.code .line')")
            yield made
            assert made.complaints == []

    def shown(self, page, tab):
        page.ask(f"document.getElementById('tab-{tab}').click()")
        return page.ask("document.getElementById('view').innerText")

    def test_texts_are_texts(self, page):
        assert "alert(" in page.ask("document.getElementById('source').innerText")
        assert page.ask("document.querySelectorAll('#source script').length") == 0

    def test_it_loads_nothing(self, page):
        assert [url for url in page.requests if not url.startswith("file:")] == []

    def test_a_click_pins_a_line_everywhere(self, page):
        self.shown(page, "code")
        page.ask("[...document.querySelectorAll('#source .linked')]"
                 ".find(line => line.innerText.includes('t * 2.0')).click()")  # fmt: skip
        pinned = page.ask("[...document.querySelectorAll('.code .pinned')].map(x => x.innerText)")
        assert pinned and any("mulf" in text for text in pinned)
        page.ask("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
        assert page.ask("document.querySelectorAll('.pinned').length") == 0

    def test_stages_and_what_passes_changed(self, page):
        self.shown(page, "code")
        names = page.ask("[...document.querySelectorAll('.stage')].map(x => x.innerText)")
        assert names[0] == "frontend" and {"dce 2", "plan", "llvm", "assembly"} <= set(names)
        page.ask("[...document.querySelectorAll('.stage')].find(x => x.innerText == 'dce').click()")
        page.ask("document.getElementById('diff').click()")
        assert page.ask("document.querySelectorAll('.code .removed').length") > 0
        page.ask("document.getElementById('diff').click()")
        assert page.ask("document.querySelectorAll('.code .removed').length") == 0

    def test_tables(self, page):
        assert "proved" in self.shown(page, "checks")
        assert "object file" in self.shown(page, "facts")
        assert "frontend" in self.shown(page, "times")

    def test_blocks_can_be_chosen(self, page):
        assert "Grid 2 × 3 × 1" in self.shown(page, "grid")
        page.ask("[...document.querySelectorAll('.block')].at(-1)"
                 ".dispatchEvent(new MouseEvent('click'))")  # fmt: skip
        text = page.ask("document.getElementById('view').innerText")
        assert "block (1, 2, 0)" in text and "x[4:8, 8:12]" in text
        page.ask("document.getElementById('next').click()")
        assert "access 1 of 2" in page.ask("document.getElementById('view').innerText")

    def test_another_kernel(self, page):
        page.ask("const s = document.getElementById('kernel'); s.value = '1';"
                 "s.dispatchEvent(new Event('change'))")  # fmt: skip
        assert "shifted" in page.ask("document.getElementById('source').innerText")
        page.ask("s.value = '0'; s.dispatchEvent(new Event('change'))")

    @pytest.mark.parametrize("dark", [False, True])
    def test_pictures(self, page, dark, tmp_path):
        """Both colour schemes draw: light is light, dark is dark, and neither is empty."""
        page.show(dark=dark)
        self.shown(page, "code")
        picture = page.picture()
        assert len(picture) > 20_000
        colour = page.ask("getComputedStyle(document.querySelector('.pane')).backgroundColor")
        red = int(re.findall(r"\d+", colour)[0])
        assert red < 60 if dark else red > 200
