"""Which kernels, for which arguments, for which target."""

from __future__ import annotations

from argparse import ArgumentParser

import pytest

from tilewright.base.config import override
from tilewright.tools import choosing
from tilewright.tools.choosing import calls, target_of
from tilewright.tools.machine import Driver, Gpu
from tilewright.tools.subcommand import UsageError

FILE = """
import tilewright as tw
import tilewright.lang as tl

@tw.entry
def scale(z: tl.TensorMut, x: tl.Tensor, a: tw.f32) -> None:
    z.store(tl.load_tile_like(x, z) * a)

@tw.entry
def zero(z: tl.TensorMut) -> None:
    z.store(tl.zeros(z.shape, z.dtype))
"""
DECLARED = """
t = tw.meta((64, 64))
scale.declare(t.partition_mut((8, 8)), t, 1.0)
scale.declare(t.partition_mut((16, 16)), t, 1.0, options=tw.CompileOptions(occupancy=2))
"""
PROGRAM = """
if __name__ == "__main__":
    with tw.device("reference"):
        z = tw.zeros((10,)).sync()
        for tile in (4, 4, 2):
            scale(z.partition_mut((tile,)), tw.ones((10,)).sync(), 2.0).sync()
"""
HELLO = """
import tilewright as tw
import tilewright.lang as tl

@tw.entry
def hello(n: tw.i32) -> None:
    print(n)
"""


@pytest.fixture
def asked(tmp_path):
    def ask(text, *words, **how):
        path = tmp_path / "kernels.py"
        path.write_text(text)
        parser = ArgumentParser()
        choosing.add_arguments(parser)
        return calls(parser.parse_args([str(path), *words]), **how)

    return ask


def signatures(found):
    return [call.look("sm_90").signature for call in found]


def tiles(found):
    return [signature.params[0].tile for signature in signatures(found)]


def test_by_hand(asked):
    found = asked(FILE, "--kernel", "scale", "--arg", "z=f32[?]:tile(8)", "--arg", "x=f32[?]")
    assert [call.name for call in found] == ["scale"] and tiles(found) == [(8,)]


def test_declared_in_the_file(asked, capsys):
    found = asked(FILE + DECLARED)
    assert [call.name for call in found] == ["scale", "scale"]
    assert tiles(found) == [(8, 8), (16, 16)]
    assert capsys.readouterr().err == "left out: zero, as its arguments are not declared\n"
    assert found[1].look("sm_90")._request.options.occupancy == 2
    changed = asked(FILE + DECLARED, "--option", "occupancy=3", "--option", "allow_tma=False")
    assert changed[0].look("sm_90")._request.options.occupancy == 3


def test_launched_by_the_program(asked):
    found = asked(FILE + PROGRAM, "--launched", "--kernel", "scale")
    assert tiles(found) == [(4,), (2,)]


def test_to_explain_a_file_its_program_is_asked(asked, capsys):
    found = asked(FILE + PROGRAM + "    print('done')", explaining=True)
    assert [call.name for call in found] == ["scale", "scale"]
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "done\n")


def test_a_kernel_without_tensors_needs_nothing(asked):
    assert [call.name for call in asked(HELLO)] == ["hello"]


WRONG = {
    "nothing said": (FILE, (), "scale.declare.*--launched.*--kernel scale --arg 'z="),
    "two kernels": (FILE, ("--arg", "z=f32[?]:tile(8)"), "name it by --kernel, of scale, zero"),
    "no kernel": (FILE, ("--kernel", "other"), "it has scale, zero"),
    "no launch": (FILE, ("--launched",), "launches no kernel"),
    "no such launch": (FILE + PROGRAM, ("--launched", "--kernel", "zero"), "no kernel `zero`"),
    "program fails": ("raise SystemExit(4)", ("--launched",), "ended with status 4"),
    "no option": (FILE + DECLARED, ("--option", "speed=2"), "no option 'speed'; there are occup"),
    "no value": (FILE + DECLARED, ("--option", "occupancy=x"), "'x' is no value"),
    "wrong value": (FILE + DECLARED, ("--option", "occupancy=99"), "must be one of"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name, asked):
    text, words, said = WRONG[name]
    with pytest.raises(UsageError, match=f"(?s){said}"):
        asked(text, *words)


def test_the_order_of_targets(monkeypatch):
    monkeypatch.setattr(choosing, "ask_driver", lambda: Driver((13, 0), (Gpu("x", "sm_90", 1, 1),)))
    assert target_of(None) == "sm_90"
    with override(target="sm_100"):
        assert target_of(None) == "sm_100"
        assert target_of("sm_120") == "sm_120"
    monkeypatch.setattr(choosing, "ask_driver", lambda: Driver(error="none", missing=True))
    assert target_of(None, "sm_80") == "sm_80"
    with pytest.raises(UsageError, match="--arch sm_90"):
        target_of(None)
