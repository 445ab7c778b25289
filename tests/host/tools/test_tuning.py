"""`tilewright tune` on a file of tuned kernels."""

from __future__ import annotations

import json

import pytest

from tilewright.base import config
from tilewright.tools.command import main
from tilewright.tune import records

KERNEL = """
import tilewright as tw
import tilewright.lang as tl

@tw.autotune(tw.search(tile=[(8, 8), (32, 32)]))
@tw.entry
def scale(z: tl.TensorMut, x: tl.Tensor, a: tw.f32) -> None:
    z.store(tl.load_tile_like(x, z) * a)
"""
DECLARED = f"{KERNEL}\nt = tw.meta((40, 30))\nscale.declare(t, t, 2.0)\n"
PROGRAM = f"""{KERNEL}
x, z = tw.ones((40, 30)).sync(), tw.zeros((40, 30)).sync()
if __name__ == "__main__":
    scale(z.borrow_mut(), x, 3.0).sync()
    print((z.to_numpy() == 3).all())
"""


ENDS = 'if __name__ == "__main__":\n    raise SystemExit(3)\n'


@pytest.fixture(autouse=True)
def cache(tmp_path):
    records.forget_imported()
    with config.override(cache_dir=str(tmp_path / "cache")):
        yield
    records.forget_imported()


def written(tmp_path, text):
    path = tmp_path / "kernels.py"
    path.write_text(text)
    return str(path)


def test_declared_calls_are_tuned_and_recorded(tmp_path, capsys):
    path = written(tmp_path, DECLARED)
    assert main(["tune", path, "--device", "cpu"]) == 0
    first = capsys.readouterr().out
    assert first.startswith("scale on ") and "tuned in" in first
    assert main(["tune", path]) == 0
    assert "from a record" in capsys.readouterr().out
    assert main(["tune", path, "--again"]) == 0
    assert "tuned in" in capsys.readouterr().out


def test_the_calls_of_a_program_are_tuned(tmp_path, capsys):
    assert main(["tune", written(tmp_path, PROGRAM)]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("scale on ")
    assert "True" in told.err


def test_exported_and_imported(tmp_path, capsys):
    path, file = written(tmp_path, DECLARED), tmp_path / "tuned.json"
    assert main(["tune", path, "--export", str(file)]) == 0
    assert "tuned.json: 1 record\n" in capsys.readouterr().out
    assert len(json.loads(file.read_text())["records"]) == 1
    with config.override(cache_dir=str(tmp_path / "other")):
        assert main(["tune", path, "--import", str(file)]) == 0
        assert "from a record" in capsys.readouterr().out
        assert len(list(records.own())) == 1


def test_a_file_that_tunes_nothing(tmp_path, capsys):
    assert main(["tune", written(tmp_path, KERNEL)]) == 2
    assert "does not launch any kernel under tw.autotune" in capsys.readouterr().err
    assert main(["tune", written(tmp_path, DECLARED), "--kernel", "other"]) == 2
    assert "does not launch `other`" in capsys.readouterr().err
    assert main(["tune", written(tmp_path, ENDS)]) == 2
    assert "ended with status 3" in capsys.readouterr().err
