"""Tables and drawings: well formed, escaped, bounded."""

import xml.etree.ElementTree as ET

import pytest

from tilewright.base.showing import (
    MOST_ROWS,
    Text,
    chain_drawing,
    grid,
    preformatted,
    table,
    tiles_drawing,
)


def parsed(html):
    return ET.fromstring(f"<div>{html}</div>")


def test_a_table_is_escaped():
    found = parsed(table("<t>", [("<a>", "<b>"), ("n", 3)], preformatted("<c>\n&")))
    assert [cell.text for cell in found.iter("th")] == ["<a>", "n"]
    assert [cell.text for cell in found.iter("code")] == ["<b>", "3"]
    assert found.find("pre").text == "<c>\n&"


@pytest.mark.parametrize("rows", [0, 1, MOST_ROWS, MOST_ROWS + 7])
def test_long_tables_are_cut(rows):
    found = parsed(grid("t", ("a", "b"), [(i, "<x>") for i in range(rows)]))
    assert len(found.findall(".//tr")) == 1 + min(rows, MOST_ROWS)
    assert ("7 more rows" in "".join(found.itertext())) == (rows > MOST_ROWS)


@pytest.mark.parametrize(
    ("shape", "tile", "count"),
    [
        ((4, 6), (2, 2), 6),
        ((5, 7), (2, 4), 6),
        ((10,), (4,), 3),
        ((), (), 1),
        ((2, 8, 8), (1, 8, 8), 1),
    ],
)
def test_tiles(shape, tile, count):
    found = parsed(tiles_drawing(shape, tile))
    boxes = [each.attrib for each in found.iter("{http://www.w3.org/2000/svg}rect")]
    assert len(boxes) == count + 2
    whole, inside = ({k: float(b[k]) for k in ("width", "height")} for b in boxes[:2])
    assert inside["width"] <= whole["width"] and inside["height"] <= whole["height"]


def test_nothing_is_drawn_of_what_has_no_tiles():
    assert tiles_drawing((0, 4), (2, 2)) == ""
    assert "too many" in tiles_drawing((10_000,), (1,))


@pytest.mark.parametrize("count", [0, 1, 6, 7, MOST_ROWS + 1])
def test_chains(count):
    found = parsed(chain_drawing([f"<kernel {i}>" for i in range(count)]))
    titles = [each.text for each in found.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == [f"<kernel {i}>" for i in range(min(count, MOST_ROWS))]
    assert ("1 more not shown" in "".join(found.itertext())) == (count > MOST_ROWS)


def test_reports_are_texts():
    text = Text("a\nb")
    assert text == "a\nb" and isinstance(text, str)
    assert text._repr_html_() == "<pre>a\nb</pre>"
