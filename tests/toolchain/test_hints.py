"""Hints where a kernel is defined reach the program and the code, and `explain` names them."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl

pytestmark = pytest.mark.usefixtures("tool")

HINTS = tw.CompileOptions(num_worker_warps_per_cta=8, occupancy=2)
FOUR = tw.CompileOptions(num_worker_warps_per_cta=4)


@tw.entry(hints={"sm_90": HINTS})
def hinted(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) * 2)


@tw.entry
def plain(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) * 2)


def arguments():
    x = tw.meta((1024, 1024))
    return x.partition_mut((2, 1024)), x


def stages(kernel, arch="sm_90", options=None):
    return kernel.inspect(*arguments(), device=arch, options=options)


def test_hints_reach_the_program_and_the_code():
    made = stages(hinted)
    assert "{occupancy = 2, num_worker_warps_per_cta = 8}" in made["tile_ir"]
    assert ".reqntid 256" in made["ptx"]
    assert hinted.compile_for("sm_90", *arguments()).occupancy == 2


def test_a_launch_goes_before_them_field_by_field():
    made = stages(hinted, options=FOUR)
    assert "{occupancy = 2, num_worker_warps_per_cta = 4}" in made["tile_ir"]
    assert ".reqntid 128" in made["ptx"]


def test_other_architectures_are_left_alone():
    assert stages(hinted, "sm_80")["tile_ir"] == stages(plain, "sm_80")["tile_ir"].replace(
        "@plain", "@hinted"
    )


def test_hints_are_part_of_the_key():
    codes = [hinted.compile_for("sm_90", *arguments(), options=o).code for o in (None, FOUR)]
    assert codes[0] != codes[1]
    again = hinted.compile_for("sm_90", *arguments(), options=HINTS)
    assert again is hinted.compile_for("sm_90", *arguments())


def test_explain_says_who_asked():
    chosen = plain.explain(*arguments(), device="sm_90")
    assert "hint num_worker_warps_per_cta = 8: tiles of 8192 bytes" in chosen
    assert "requested" not in chosen
    by_both = hinted.explain(*arguments(), device="sm_90", options=FOUR).splitlines()
    assert "requested where the kernel is defined: occupancy = 2" in by_both
    assert "requested by the launch: num_worker_warps_per_cta = 4" in by_both
    hinted.compile_for("sm_90", *arguments(), options=tw.CompileOptions(occupancy=3))
    assert "requested by the launch: occupancy = 3" in hinted.explain()
