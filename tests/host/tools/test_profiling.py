"""`tilewright profile`: its table, its picture and its trace."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from op_kit import HandStream
from tilewright.op.trace import Entry, MemorySample, Trace, Traffic
from tilewright.tools.command import main
from tilewright.tools.profiling import MOST_BARS, about, draw, rows_of, table

PROGRAM = """
import sys

import numpy as np

import tilewright as tw
import tilewright.lang as tl

@tw.entry
def scale(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32], a: tw.f32) -> None:
    z.store(tl.load_tile_like(x, z) * a)

x = np.ones(100, np.float32)
for _ in range(3):
    z = scale(tw.empty((100,)).partition((32,)), x, 2.0).out().sync()
z.dup().sync()
sys.exit(int(sys.argv[1]) if sys.argv[1:] else 0)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(PROGRAM)
    return path


def test_a_program_is_profiled(program, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["profile", "--device", "reference", str(program), "--output", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["WORK", "DEVICE", "GRID", "TIMES"]
    row = next(line for line in lines if line.startswith("scale")).split()
    assert row[:4] == ["scale", "reference", "4x1x1", "3"]
    assert "800 B" in " ".join(row), "100 floats are read, 100 are written"
    assert any(line.startswith("compiled or loaded: 1, in ") for line in lines)
    picture = ET.fromstring((out / "kernels.svg").read_text())
    texts = "".join(picture.itertext())
    assert "scale: " in texts and "memory of reference" in texts
    events = json.loads((out / "kernels.trace.json").read_text())["traceEvents"]
    assert sum(e["name"] == "scale" and e.get("cat") == "work" for e in events) == 3
    (compiled,) = [e for e in events if e.get("cat") == "compile"]
    (first, *_) = [e for e in events if (e.get("cat"), e["name"]) == ("op", "scale")]
    assert compiled["name"] == "scale" and "scale" in texts
    assert first["ts"] <= compiled["ts"]
    assert compiled["ts"] + compiled["dur"] <= first["ts"] + first["dur"]


def test_the_status_of_the_program_is_that_of_the_command(program, tmp_path, capsys):
    given = ["profile", "--output", str(tmp_path), "--device", "reference", str(program), "3"]
    assert main(given) == 3
    assert "scale" in capsys.readouterr().out


def test_a_program_without_work(tmp_path, capsys):
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")
    assert main(["profile", str(path), "--output", str(tmp_path / "out")]) == 0
    assert "put no work on a device" in capsys.readouterr().out


def test_a_program_that_is_none(capsys):
    assert main(["profile", "nowhere"]) == 2
    assert "there is no program nowhere" in capsys.readouterr().err


def entry(name, start, end, traffic=None, stream=None):
    return Entry("work", name, start, end, "MainThread", stream or HandStream(), traffic)


def test_rows_add_up_and_the_longest_is_first():
    stream, read = HandStream(), Traffic(100, 50, (2, 1, 1), "cpu")
    entries = [
        entry("a", 0, 10, read, stream), entry("b", 0, 25, None, stream),
        entry("a", 20, 30, read, stream), entry("a", 0, 1, read._replace(grid=(3, 1, 1)), stream),
        Entry("op", "a", 0, 99, "MainThread", None),
    ]  # fmt: skip
    rows = rows_of(entries)
    assert [(row.name, row.grid, row.total) for row in rows] == [
        ("b", (), 25), ("a", (2, 1, 1), 20), ("a", (3, 1, 1), 1)
    ]  # fmt: skip
    assert rows[1].bandwidth == 300 / 20
    head, *lines = table(rows)
    assert len({len(line) for line in [head, *lines]}) == 1, "columns of numbers end alike"
    assert "150 B" in lines[1] and "15.0" in lines[1]


def test_a_picture_says_what_each_bar_is_and_escapes_names():
    trace = Trace()
    trace.add("work", "<a&b>", HandStream(), 0, 1000, Traffic(10, 20, (4, 1, 1), "cpu"))
    root = ET.fromstring(draw(trace, "x<y"))
    assert "<a&b>: 1.0 us (work), grid 4x1x1, reads 10 B, writes 20 B, 0.0 GB/s" in [
        title.text for title in root.iter("{http://www.w3.org/2000/svg}title")
    ]


def test_a_picture_of_nothing_and_one_of_too_much():
    assert ET.fromstring(draw(Trace(), "nothing")) is not None
    trace, stream = Trace(), HandStream()
    for i in range(MOST_BARS + 10):
        trace.add("work", "k", stream, 2 * i, 2 * i + 1)
    titles = ET.fromstring(draw(trace, "much")).iter("{http://www.w3.org/2000/svg}title")
    assert len(list(titles)) == MOST_BARS


def test_waits_between_streams_are_arrows():
    one, two = HandStream(), HandStream()
    trace = Trace()
    trace.entries.extend([
        Entry("work", "<first>", 10, 20, "MainThread", one, None, 5),
        Entry("stream wait", "waits", 6, 6, "MainThread", two, None, 0, one),
        Entry("work", "second", 20, 30, "MainThread", two, None, 7),
    ])  # fmt: skip
    titles = [t.text for t in ET.fromstring(draw(trace, "x")).iter() if t.tag.endswith("title")]
    assert "second waits for <first>" in titles


def test_streams_are_drawn_by_number_and_compiling_is_marked():
    recorded = Trace()
    recorded.add("compile", "made", None, 0, 900)
    for number in (3, 1, 2):
        recorded.add(
            "work", f"of {number}", HandStream(number=number), 100 * number, 100 * number + 50
        )
    text = draw(recorded, "t")
    assert [text.index(f"stream {n}<") for n in (1, 2, 3)] == sorted(
        text.index(f"stream {n}<") for n in (1, 2, 3)
    )
    assert 'class="compile"' in text and ">compile made<" in text


def test_memory_is_drawn_as_steps():
    trace, device = Trace(), type("Gpu", (), {"name": "gpu"})()
    trace.memory += [MemorySample(0, device, 0, 100), MemorySample(10, device, 100, 100)]
    text = draw(trace, "memory")
    assert "used 100 B" in text and "of 100 B" in text


def test_what_is_not_known_of_an_entry_is_left_out():
    assert about(entry("copy", 0, 2000)) == "copy: 2.0 us (work)"
