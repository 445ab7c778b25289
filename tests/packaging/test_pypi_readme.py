"""The long description of the package: the README with links that work anywhere."""

from __future__ import annotations

import importlib.util
import re
import tomllib

from source_tree import ROOT

SPEC = importlib.util.spec_from_file_location("pypi_readme", ROOT / "native" / "pypi_readme.py")
assert SPEC is not None
assert SPEC.loader is not None
pypi_readme = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pypi_readme)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_no_link_is_relative():
    found = pypi_readme.dynamic_metadata({}, PROJECT)["readme"]
    assert found["content-type"] == "text/markdown"
    links = re.findall(r"\]\(([^)]+)\)", found["text"])
    assert len(links) > 20
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_links_name_files_that_exist():
    base = f"{PROJECT['urls']['Source']}/blob/v{PROJECT['version']}/"
    text = pypi_readme.dynamic_metadata({}, PROJECT)["readme"]["text"]
    paths = {
        link.partition("#")[0] for link in re.findall(rf"\]\({re.escape(base)}([^)]+)\)", text)
    }
    assert len(paths) > 15
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_other_text_is_kept():
    text = "[a](docs/a.md#b) `x](y)` [c](https://x) [d](#d) [![e](https://e)](LICENSE)"
    made = pypi_readme.with_absolute_links(text, "https://here")
    assert made == (
        "[a](https://here/docs/a.md#b) `x](https://here/y)` [c](https://x) [d](#d)"
        " [![e](https://e)](https://here/LICENSE)"
    )


def test_the_urls_are_of_one_repository():
    urls = PROJECT["urls"]
    assert {"Source", "Documentation", "Changelog", "Issues"} <= urls.keys()
    assert all(url.startswith(urls["Source"]) for url in urls.values())
