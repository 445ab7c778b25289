"""The book: its order, its pictures, the examples of its functions, and its build."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from enum import Enum
from types import FunctionType

import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT, relative
from support.loops import for_each
from tilewright import ops
from tilewright.op import ambient

sys.path.insert(0, str(ROOT / "tools"))
import reference
import snippets
from book import (
    contents,
    evaluation,
    function_examples,
    functions,
    gallery,
    locate,
    measured,
    pictures,
    plots,
)

DOCS = ROOT / "docs"
LISTED = {entry.path for entry in contents.entries()}
MADE = {
    "examples/index.md", "benchmarks/plots.md", "benchmarks/README.md", "project/changelog.md",
    "project/architecture.md", "project/contributing.md",
}  # fmt: skip
"""Pages in the table of contents that are made when the book is built."""
TABLES = (
    function_examples.EXPRESSIONS, function_examples.POINTERS, function_examples.THREADS,
    function_examples.BODIES, function_examples.ELSEWHERE,
)  # fmt: skip
ON_HOST = functions.host_functions()
FUNCTIONS = [f for topic in reference.PAGES for f in reference.functions(topic)]


# --- order ----------------------------------------------------------------------------------------


def test_every_page_is_in_the_table_of_contents():
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert pages - LISTED == set(), "run `python tools/book/contents.py`, and move them in nav"
    assert LISTED - pages == MADE
    assert len(contents.entries()) == len(LISTED), "a page is listed twice"


def test_a_missing_page_is_added_to_its_section():
    text = (
        "\nnav:\n  - Home: index.md\n  - Concepts:\n      - guide/a.md\n  - Help:\n"
        "      - b.md\n  - X:\n"
    )
    assert contents.with_missing(text, ["guide/a.md", "guide/c.md", "index.md", "b.md"]) == (
        text.replace("guide/a.md\n", "guide/a.md\n      - guide/c.md\n")
    )
    assert contents.with_missing(text, ["scale.md"]) == text.replace(
        "- b.md\n", "- b.md\n      - scale.md\n"
    )


def test_next_follows_the_table_of_contents(request):
    if request.config.getoption("--accept"):
        contents.main()
    stale = [relative(p) for p, t in contents.rewritten().items() if p.read_text() != t]
    assert not stale, f"run `python tools/book/contents.py`: {', '.join(stale)}"


def test_a_changed_order_is_found():
    first, second, *_ = contents.pages()
    text = first.file.read_text(encoding="utf-8")
    assert contents.with_next(text, first, second) == text
    assert contents.with_next(text, first, contents.pages()[5]) != text
    assert contents.with_next(text, first, None).count("Next: ") == 0


# --- pictures and plots ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_pictures_are_those_that_the_book_draws(name):
    path = pictures.FOLDER / f"{name}.svg"
    drawn = pictures.PICTURES[name]()
    assert path.read_text(encoding="utf-8") == drawn.svg(), "run `python tools/book/pictures.py`"
    assert ET.fromstring(drawn.svg()).get("role") == "img"
    assert "<style>" not in drawn.inline(), "its colours are those of the page"


def test_no_picture_is_left_over():
    used = "".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    used += gallery.index()
    kept = {path.stem for path in pictures.FOLDER.glob("*.svg")}
    assert kept == set(pictures.PICTURES)
    assert {name for name in kept if f"pictures/{name}.svg" not in used} == set()


@for_each([(name, draw) for name, draw in pictures.PICTURES.items()])
def test_pictures_are_inside_their_frame(case):
    name, draw = case
    picture = draw()
    for shape in ET.fromstring(picture.svg()).iter():
        kind, at = shape.tag.rpartition("}")[2], shape.attrib
        if kind == "rect":
            right, down = float(at["x"]) + float(at["width"]), float(at["y"]) + float(at["height"])
            assert right <= picture.width, name
            assert down <= picture.height, name
        elif kind == "text":
            wide = 7.2 * len(shape.text or "") * (0.86 if "small" in at.get("class", "") else 1)
            share = {"middle": 0.5, "end": 0}.get(at.get("text-anchor", ""), 1)
            assert float(at["x"]) + share * wide <= picture.width + 40, (name, shape.text)
            assert float(at["y"]) <= picture.height, (name, shape.text)


def test_plots_place_larger_values_higher():
    drawn = plots.lines("t", "n", "us", [10, 100, 1000], {"a": [1.0, 10.0, 100.0], "b": [5, 5, 5]})
    points = re.findall(r'<polyline points="([^"]+)" class="l[ab]"', drawn.svg())
    rising, level = ([tuple(map(float, p.split(","))) for p in each.split()] for each in points)
    assert [x for x, _ in rising] == sorted(x for x, _ in rising)
    assert [y for _, y in rising] == sorted((y for _, y in rising), reverse=True)
    assert len({y for _, y in level}) == 1


def test_bars_end_at_the_limit():
    text = plots.bars("t", "x", {"row": {"a": 1.0, "b": 2.0, "c": 50.0}}, most=4.0).svg()
    a, b, c = (float(w) for w in re.findall(r'width="([\d.]+)" height="16"', text))
    assert (a * 2, a * 4) == pytest.approx((b, c))
    assert ">50<" in text


def test_measurements_are_drawn_of_all_families():
    page = measured.page()
    assert page.count("<figure") >= 8
    assert "z = x + y, 64M f32" in page


def test_a_tutorial_without_measurements_has_no_plot(tmp_path, monkeypatch):
    monkeypatch.setattr(measured, "FIGURES", tmp_path)
    page = "# Title\n\n<!-- measured -->\n"
    assert measured.with_plots(page, "tutorials/title.md") == page
    figure = (
        '{"title": "t", "across": "n", "sizes": [1, 10], "seconds": {"a": [1e-6, 0.0]},'
        ' "rounds": 9, "machine": {"commit": "abc", "date": "today", "cpu": "one", "cores": "2"}}'
    )
    (tmp_path / "title.json").write_text(figure)
    drawn = measured.with_plots(page, "tutorials/title.md")
    assert "<figure" in drawn
    assert (
        "Least times of 9 runs and more, in turns, at commit `abc`, today, on 2 cores of one."
        in drawn
    )


def test_every_tutorial_has_its_plot():
    assert {page.stem for page in (DOCS / "tutorials").glob("*.md")} == set(measured.tutorials())
    for name in measured.tutorials():
        figure = json.loads((measured.FIGURES / f"{name}.json").read_text(encoding="utf-8"))
        assert all(len(each) == len(figure["sizes"]) for each in figure["seconds"].values())
        page = "<!-- measured -->"
        assert f">{figure['title']} [" in measured.with_plots(page, f"tutorials/{name}.md")


@pytest.mark.full
@pytest.mark.parametrize("name", measured.tutorials())
def test_contests_run(name, tmp_path, monkeypatch):
    code = (DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    for library in {b.language.split()[-1] for b in snippets.blocks(code)} & {"torch", "jax"}:
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    names = measured.run_page(DOCS / "tutorials" / f"{name}.md")
    assert names["TITLE"]
    assert names["ACROSS"]
    candidates = names["contest"](names["SIZES"][0])
    assert len(candidates) > 1
    for candidate in candidates.values():
        measured.run_once(candidate)


# --- functions ------------------------------------------------------------------------------------


def test_every_function_has_one_example():
    names = [f.__name__ for f in FUNCTIONS]
    hosts = {name.removeprefix("tw.") for name in ON_HOST}
    shown = [name for table in TABLES for name in table if name not in hosts or name in names]
    assert sorted(shown) == sorted(names)


@pytest.mark.parametrize(
    ("described", "meanings"),
    [(FUNCTIONS, functions.PARAMETERS), (ON_HOST.values(), functions.HOST_PARAMETERS)],
    ids=["kernels", "host"],
)
def test_every_parameter_is_described(described, meanings):
    used = {p for f in described for p in inspect.signature(inspect.unwrap(f)).parameters}
    assert used == {name.partition(":")[0] for name in meanings}, (
        "they stand in tools/book/function_parameters.toml"
    )


def test_functions_of_the_host_have_examples(monkeypatch):
    monkeypatch.setattr(ambient._Process, "device", None)  # one of them sets it for the process
    names = {name.removeprefix("tw.") for name in ON_HOST}
    assert names - set(function_examples.ELSEWHERE) == set(function_examples.HOST)
    for name in function_examples.HOST:
        shown = evaluation.host_example(name)
        assert shown is not None
        assert shown.output, name
    said = functions.host_section("tw.arange", ON_HOST["tw.arange"])
    assert "arange(start: int, stop: int | None = None" in said
    assert "[2 5 8]" in said


def test_expressions_run():
    lines = evaluation.all_expressions().splitlines()
    assert len(lines) >= len(function_examples.EXPRESSIONS)
    assert lines[0] == "[2.  2.  1.  2.5]", "tl.maximum(x, y)"


@pytest.mark.parametrize("table", [1, 2, 3], ids=["pointers", "threads", "bodies"])
def test_other_examples_run(table):
    names = list(TABLES[table])
    for name in names:
        shown = evaluation.example(name)
        assert shown is not None
        assert shown.output, name


def test_a_function_is_described():
    (function,) = [f for f in FUNCTIONS if f.__name__ == "exp"]
    text = functions.section(function, "math")
    assert "### tl.exp { #exp }" in text
    assert "exp(x: " in text
    assert "Element types: f16, f32, f64." in text
    assert "got: an i32 tile of shape (4,)" in text
    assert "[ 0.22313017  1.          2.7182817  12.182494  ]" in text


def test_kinds_of_results():
    assert evaluation.result("exp") == "a tile of f32, shape (4,)"
    assert evaluation.result("argmin") == "a scalar i32"
    assert evaluation.result("get_shape_dim") == "", "a constant"
    assert evaluation.result("topk") == (
        "a tuple: a tile of f32, shape (2,); a tile of i32, shape (2,)"
    )


def test_synonyms_are_marked():
    (function,) = [f for f in FUNCTIONS if f.__name__ == "maxf"]
    text = functions.section(function, "arithmetic")
    assert "*Synonym, in `tl.compat`.* Write `tl.maximum(a, b)` instead." in text


# --- objects --------------------------------------------------------------------------------------

DIRECTIVE = re.compile(r"^::: (?P<path>\S+)\n(?P<options>(?: +.*\n)*)", re.MULTILINE)
OBJECTS = [
    (found["path"], re.findall(r"^ +- (\w+)$", found["options"], re.MULTILINE))
    for page in sorted((DOCS / "reference" / "objects").glob("*.md"))
    for found in DIRECTIVE.finditer(page.read_text(encoding="utf-8"))
]


def _object(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _has(value, member):
    annotated = {name for base in value.__mro__ for name in vars(base).get("__annotations__", {})}
    made = getattr(inspect.unwrap(value.__init__), "__code__", None)  # attributes are set there
    return hasattr(value, member) or member in annotated or member in getattr(made, "co_names", ())


MEMBERS = {_object(path): members for path, members in OBJECTS}


@for_each(OBJECTS)
def test_objects_have_the_members_that_are_shown(case):
    path, members = case
    value = _object(path)
    assert inspect.getdoc(value), path
    assert [name for name in members if not _has(value, name)] == [], path


@for_each([case for case in OBJECTS if hasattr(_object(case[0]), "LISTED")])
def test_completion_lists_the_members_that_are_shown(case):
    path, members = case
    shown = {member for base in _object(path).__mro__ for member in MEMBERS.get(base, ())}
    listed = {
        name for base in _object(path).__mro__ for name in vars(base).get("LISTED", "").split()
    }
    assert not members or listed == shown, path


PUBLIC = functions.HOST_MODULES | {"tl": tl, "ops": ops}
REFERENCE = "".join(p.read_text(encoding="utf-8") for p in (DOCS / "reference").rglob("*.md"))


def _is_shown(called):
    """Return whether the reference describes a public name: in a section, or else in its text."""
    module, _, name = called.rpartition(".")
    value = getattr(PUBLIC[module], name)
    if isinstance(value, FunctionType):
        return value in {*FUNCTIONS, *ON_HOST.values()} or PUBLIC[module] is ops
    by_class = inspect.isclass(value) and not issubclass(value, tw.DType | Enum)
    if by_class and called not in ANNOTATIONS:
        return value in MEMBERS
    names = [
        name,
        *(value.__members__ if inspect.isclass(value) and issubclass(value, Enum) else ()),
    ]
    return all(re.search(rf"`[^`\n]*\b{each}\b[^`\n]*`", REFERENCE) for each in names)


def test_every_public_name_is_in_the_reference():
    names = [f"{module}.{name}" for module, values in PUBLIC.items() for name in values.__all__]
    assert [called for called in names if not _is_shown(called)] == []


def test_a_name_without_a_section_is_found(monkeypatch):
    monkeypatch.delitem(ON_HOST, "tw.arange")
    monkeypatch.delitem(MEMBERS, tw.CudaGraph)
    monkeypatch.setitem(globals(), "REFERENCE", REFERENCE.replace("OWNED", ""))
    missing = [name for name in ("tw.arange", "tw.CudaGraph", "tw.OWNED") if not _is_shown(name)]
    assert len(missing) == 3


ANNOTATIONS = {
    "tl.Dyn", "tl.PointerTile", "tl.Ptr", "tl.Tensor", "tl.TensorMut", "tl.AnyMappedPartitionMut",
    "tl.AnyAccumulator",
}  # fmt: skip
"""Classes in annotations: those that have members have those of a class that is shown."""


# --- examples and links ---------------------------------------------------------------------------


def test_the_index_of_examples_is_current(request):
    if request.config.getoption("--accept"):
        gallery.write()
    assert gallery.INDEX.read_text() == gallery.index(), "run `python tools/book/gallery.py`"


def test_the_readme_counts_the_examples():
    (said,) = re.findall(r"one of (\d+) examples", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert int(said) == len(list(gallery.names()))


def test_every_example_is_in_the_index():
    listed = [name for _, _, names in gallery.TOPICS.values() for name in names]
    assert sorted(listed) == sorted(gallery.names())
    assert {picture for picture, _, _ in gallery.TOPICS.values()} <= set(pictures.PICTURES)


def test_examples_in_docstrings_get_fences():
    text = "Add.\n\n>>> 1 + 1\n2\n\nMore.\n\n>>> 3\n3\n"
    assert locate.fenced(text) == (
        "Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.\n\n```pycon\n>>> 3\n3\n```\n"
    )


def test_links_lead_to_pages_of_the_book():
    text = (
        "[a](../../benchmarks/results/gpu.md#x), [`b`](../reference/ops.md), [c](#here),"
        " [d](https://example.com/a.md), [e `f`](../../README.md), [g](../../Makefile)\n"
        "```text\n[h](../../README.md)\n```\n"
    )
    assert locate.relinked(text, "docs/guide/page.md", "guide/page.md") == (
        "[a](../benchmarks/results/gpu.md#x), [`b`](../reference/ops.md), [c](#here),"
        " [d](https://example.com/a.md), [e `f`](../project/readme.md), g\n"
        "```text\n[h](../../README.md)\n```\n"
    )


# --- the build ------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.skipif(not importlib.util.find_spec("mkdocs"), reason="pip install '.[docs]'")
def test_the_book_builds_and_loads_nothing_from_elsewhere(tmp_path):
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)],
        cwd=ROOT, env=environment, check=True,
    )  # fmt: skip
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(LISTED)
    loads = re.compile(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="?(?:https?:)?//[^">]+')
    found = {hit[0] for page in pages for hit in loads.finditer(page.read_text(encoding="utf-8"))}
    assert not {hit for hit in found if 'rel="canonical"' not in hit}
    assert "softmax" in (tmp_path / "search" / "search_index.js").read_text(encoding="utf-8")
