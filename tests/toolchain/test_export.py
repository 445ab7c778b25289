"""Exported kernels: the files agree with each other, and a C compiler takes the header."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess

import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import simt
from tilewright.backend.tileir.target import slots
from tilewright.base.cubin import sections
from tilewright.base.cuda_abi import CudaLaunchWord


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@tw.entry
def gemm(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    assert x.shape[1] == y.shape[0]
    i, j, _ = tl.get_tile_block_id()
    xs, ys = x.partition((64, 32)), y.partition((32, 64))
    acc = tl.zeros((64, 64), tw.f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc)


@tw.entry
def many(
    z: tl.TensorMut[tw.f16],
    float: tl.Tensor[tw.f16, 64, tl.Dyn],  # noqa: A002 - a word of C
    n: tw.i64,
    on: tw.bool_,
    s: tw.bf16,
    *,
    scale: tw.f64 = 1.0,
) -> None:
    assert n % 4 == 0
    assert z.shape[0] <= float.shape[1]
    print(n)
    z.store(tl.zeros(z.shape, tw.f16))


@tw.entry(unsafe=True)
def raw(p: tl.Ptr[tw.i8], größe: tw.u32, *, B: tl.Const[int] = 16) -> None:
    index = tl.arange(B)
    inside = index.astype(tw.u32) < größe
    tl.scatter(p, index, tl.gather(p, index, inside), inside)


@tw.entry
def odd_names(
    record: tl.TensorMut[tw.f32],
    record_: tl.Tensor[tw.f32],
    x: tl.Tensor[tw.f32],
    x_extent_0: tw.i32,
    template: tw.i32,
    this: tw.u64,
    new: tw.f32,
) -> None:
    assert x_extent_0 * template <= 8, "too many"
    assert this < 5, "not so many"
    print(new)
    record.store(tl.load_tile_like(record_, record) + tl.load_tile_like(x, record))


@tw.entry
def deep(z: tl.TensorMut) -> None:
    z.store(tl.zeros(z.shape, z.dtype))


@simt.kernel
def threads(z: simt.DisjointSlice[tw.f16], x: simt.Slice[tw.f64], k: tw.f32) -> None:
    i = simt.index_1d()
    if i < len(z):
        z[i] = (x[i] * k).astype(tw.f16)


@simt.kernel(domain=2, block=(16, 4))
def square(z: simt.DisjointSlice[tw.f32], columns: tw.i32) -> None:
    at = simt.index_2d(columns)
    if at is not None:
        z[at] = 1.0


def simt_kernels():
    z, x = tw.meta((100,), tw.f16), tw.meta((100,), tw.f64)
    return {
        "threads": (threads, (z.borrow_mut(), x, 1.0)),
        "square": (square, (tw.meta((10, 10)).borrow_mut(), 10)),
    }


def kernels():
    t, h = tw.meta((1000, 512)), tw.meta((64, 100), tw.f16)
    wide, square, small = tw.meta((3, 5, 7, 11)), tw.meta((64, 64)), tw.meta((100,))
    return {
        "add": (add, (t.partition_mut((16, 64)), t, t)),
        "odd": (add, (tw.meta((7, 7)).partition_mut((8, 8)), tw.meta((7, 7)), tw.meta((7, 7)))),
        "gemm": (gemm, (tw.meta((64, 64)).partition_mut((64, 64)), square, square)),
        "many": (many, (tw.meta((50,), tw.f16).partition_mut((16,)), h, 4, True, 1.0)),
        "raw": (raw, (tw.meta((9,), tw.i8).device_pointer(), 9)),
        "deep": (deep, (wide.partition_mut((1, 1, 1, 8)),)),
        "odd_names": (odd_names, (small.partition_mut((8,)), small, small, 1, 1, 1, 1.0)),
        "add_16x16": (add, (t.partition_mut((16, 16)), t, t)),
        "long": (deep, (tw.meta((1 << 27, 1)).partition_mut((1, 1)),)),
    }


NAMES = ("add", "odd", "gemm", "many", "raw", "deep", "odd_names", "add_16x16", "long")


@pytest.fixture(scope="module")
def exported(tool, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    found = {}
    for name, (kernel, args) in {**kernels(), **simt_kernels()}.items():
        files = kernel.export(folder, "sm_90", *args, name=name)
        # Exported kernels run in any grid, so that none but products have another order of blocks.
        options = None if name == "gemm" else tw.CompileOptions(block_group=1)
        found[name] = files, kernel.compile_for("sm_90", *args, options=options)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_files_agree(name, exported):
    files, artifact = exported[name]
    facts = json.loads(files.description.read_text())
    assert files.cubin.read_bytes() == artifact.code
    assert files.bytecode.read_bytes()[:8] == b"\x7fTileIR\0"
    for file, digest in facts["files"].items():
        data = (files.cubin.parent / file).read_bytes()
        assert digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert facts["symbol"] == artifact.name and facts["arch"] == "sm_90"


def test_a_grid_may_be_long_along_any_axis(exported):
    """A launch from Python reverses the axes, of which the hardware's last has 65535 blocks."""
    files, _ = exported["add"]
    assert json.loads(files.description.read_text())["launch"]["turned"] is False
    assert add.compile_for("sm_90", *kernels()["add"][1]).turned


@pytest.mark.parametrize("name", NAMES)
def test_the_description_has_the_slots_of_the_kernel(name, exported):
    files, artifact = exported[name]
    facts = json.loads(files.description.read_text())
    expected = slots(artifact.signature, reports=bool(artifact.sites))
    assert [(s["what"], s["dtype"]) for s in facts["slots"]] == [
        (s.what, s.dtype.name) for s in expected
    ]
    for slot, described in zip(expected, facts["slots"], strict=True):
        address = slot.what in ("address", "record")
        assert described["bytes"] == (8 if address else slot.dtype.itemsize)
        assert described["parameter"] == (slot.param if slot.param >= 0 else None)
        assert described["axis"] in (slot.axis, None)
    assert [p["name"] for p in facts["parameters"]] == [p.name for p in artifact.signature.params]
    assert (facts["record"] is not None) == bool(artifact.sites)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "gemm"])
def test_the_cubin_has_as_many_parameter_bytes(name, exported):
    """The size of the parameters that the assembler laid out is that of the slots in a row.

    Behind those of a kernel that copies in bulk it adds its own.
    """
    files, _ = exported[name]
    at = 0
    for slot in json.loads(files.description.read_text())["slots"]:
        at += -at % slot["bytes"] + slot["bytes"]
    assert constant_bytes(files.cubin.read_bytes()) == at


def constant_bytes(cubin):
    (found,) = [s.nbytes for s in sections(cubin) if s.name.startswith(".nv.constant0.")]
    return found - PARAMETERS_BEGIN


PARAMETERS_BEGIN = 0x210
"""Where sm_90 keeps parameters among its constants."""

PROGRAM = """
#include <stdio.h>
#include <string.h>
{includes}
int main(void)
{{
    {body}
    return 0;
}}
"""


@pytest.fixture
def run_c(tmp_path, exported):
    def run(names, body, language="c99"):
        of_c = ("c++", "g++", "clang++") if "+" in language else ("cc", "gcc", "clang")
        compiler = next(filter(None, map(shutil.which, of_c)), None)
        if compiler is None:
            pytest.skip("no such compiler here")
        includes = "\n".join(f'#include "{exported[n][0].header}"' for n in names)
        source = tmp_path / ("program.cpp" if "+" in language else "program.c")
        source.write_text(PROGRAM.format(includes=includes, body=body))
        strict = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-function"]
        program = tmp_path / "program"
        command = [compiler, f"-std={language}", *strict, str(source), "-o", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()

    return run


def test_the_checks_of_the_header_are_those_of_the_launch(run_c):
    body = """
    struct add_arguments a;
    uint32_t grid[3];
    void *p[ADD_PARAMETERS];
    memset(&a, 0, sizeof a);
    a.z_extent_0 = a.x_extent_0 = a.y_extent_0 = 1000;
    a.z_extent_1 = a.x_extent_1 = a.y_extent_1 = 512;
    a.z_stride_0 = a.x_stride_0 = a.y_stride_0 = 512;
    printf("%d ", add_check(&a));
    add_parameters(&a, p);
    printf("%d ", p[1] == (void *)&a.z_extent_0);
    add_grid(&a, grid);
    printf("%u %u %u ", grid[0], grid[1], grid[2]);
    a.x_extent_0 = 999; printf("%d ", add_check(&a) != 0); a.x_extent_0 = 1000;
    a.z = 8; printf("%d ", add_check(&a) != 0); a.z = 16;
    a.y_stride_0 = 514; printf("%d ", add_check(&a) != 0);
    printf("%s %s", ADD_SYMBOL, ADD_ARCH);
    """
    assert run_c(["add"], body) == ["0", "1", "63", "8", "1", "1", "1", "1", "add", "sm_90"]


def test_scalars_fixed_extents_and_records(run_c):
    body = """
    struct many_arguments a;
    memset(&a, 0, sizeof a);
    a.z_extent_0 = 16; a.float__extent_1 = 100; a.float__stride_0 = 100;
    a.n = 8; a.on = 1; a.s = 0x3f80; a.scale = 2.5; a.record = 256;
    printf("%d ", many_check(&a));
    a.n = 9; printf("%d ", many_check(&a) != 0);
    printf("%d %d", MANY_RECORD_WORDS, MANY_ERROR_SITE);
    """
    assert run_c(["many"], body) == ["0", "1", "8", str(int(CudaLaunchWord.ERROR_SITE))]


def test_checks_that_hold_only_somewhere(run_c):
    """A product whose inner axis is empty loads nothing, so nothing can be out of range."""
    body = """
    struct gemm_arguments a;
    memset(&a, 0, sizeof a);
    a.z_extent_0 = a.z_extent_1 = 64; a.z_stride_0 = 64;
    a.x_extent_0 = 0; a.y_extent_1 = 64; a.y_stride_0 = 64;
    printf("%d ", gemm_check(&a));
    a.x_extent_1 = a.y_extent_0 = a.x_stride_0 = 32;
    printf("%d ", gemm_check(&a) != 0);
    a.x_extent_0 = 64;
    printf("%d", gemm_check(&a));
    """
    assert run_c(["gemm"], body) == ["0", "1", "0"]


def test_folded_grids(run_c):
    body = """
    struct deep_arguments a;
    uint32_t grid[3];
    memset(&a, 0, sizeof a);
    a.z_extent_0 = 3; a.z_extent_1 = 5; a.z_extent_2 = 7; a.z_extent_3 = 11;
    deep_grid(&a, grid);
    printf("%u %u %u %d %d ", grid[0], grid[1], grid[2], a.grid_0, a.grid_3);
    """
    assert run_c(["deep"], body) == ["210", "1", "1", "3", "2"]


def test_grids_too_long_for_one_axis(run_c):
    body = """
    struct long_arguments a;
    uint32_t grid[3];
    memset(&a, 0, sizeof a);
    a.z_extent_0 = 1 << 27; a.z_extent_1 = 1;
    long_grid(&a, grid);
    printf("%u %u %d", grid[0], grid[1], (uint64_t)grid[0] * grid[1] >= 1u << 27);
    """
    assert run_c(["long"], body) == ["16777215", "9", "1"]


def test_names_that_c_does_not_have(run_c):
    body = 'struct raw_arguments a; memset(&a, 0, sizeof a); printf("%d", raw_check(&a));'
    assert run_c(["raw"], body) == ["0"]


@pytest.mark.parametrize("language", ["c99", "c11", "c++17"])
def test_several_headers_in_one_program(run_c, language):
    """Those of one kernel for other tiles too, and what C++ does not take as names."""
    body = """
    struct add_arguments a; struct add_16x16_arguments b;
    uint32_t grid[3];
    memset(&a, 0, sizeof a); memset(&b, 0, sizeof b);
    a.z_extent_0 = a.z_extent_1 = b.z_extent_0 = b.z_extent_1 = 64;
    add_grid(&a, grid); printf("%u %u ", grid[0], grid[1]);
    add_16x16_grid(&b, grid); printf("%u %u ", grid[0], grid[1]);
    printf("%s %s %s", ADD_SYMBOL, ADD_16X16_SYMBOL, MANY_SYMBOL);
    """
    names = ["add", "add_16x16", "many", "raw", "odd_names", "odd", "gemm", "deep", "long"]
    assert run_c(names, body, language) == ["4", "1", "4", "4", "add", "add", "many"]


def test_products_that_do_not_fit_32_bits(run_c, exported):
    body = """
    struct odd_names_arguments a;
    memset(&a, 0, sizeof a);
    a.record__extent_0 = a.record___extent_0 = a.x_extent_0 = 100;
    a.x_extent_0_ = 65536; a.template_ = 65536; a.record = 256;
    printf("%d ", odd_names_check(&a) != 0);
    a.x_extent_0_ = 2; a.template_ = 4;
    printf("%d", odd_names_check(&a));
    """
    assert run_c(["odd_names"], body) == ["1", "0"]
    header = exported["odd_names"][0].header.read_text()
    assert "for the caller to check: this < 5" in header, "C has no integer for all of them"


def test_only_cuda_is_exported(tool, tmp_path):
    kernel, args = kernels()["add"]
    with pytest.raises(tw.ContextError, match="for CUDA alone"):
        kernel.export(tmp_path, "cpu", *args)


def test_simt_kernels_have_ptx_and_a_header(run_c, exported):
    files, artifact = exported["threads"]
    facts = json.loads(files.description.read_text())
    assert files.code.suffix == ".ptx" and files.bytecode is None
    assert files.code.read_bytes() == artifact.code
    assert sorted(facts["files"]) == ["threads.h", "threads.ptx"]
    assert facts["launch"]["grid"] == ["ceil_div(len(z), 256)", "1", "1"]
    assert facts["launch"]["block"] == [256, 1, 1] and facts["resources"] is None
    body = """
    struct threads_arguments a;
    uint32_t grid[3];
    void *p[THREADS_PARAMETERS];
    memset(&a, 0, sizeof a);
    a.z = 2; a.x = 8; a.z_extent_0 = 1000; a.x_extent_0 = 1000; a.k = 2.5f;
    printf("%d ", threads_check(&a));
    threads_parameters(&a, p);
    printf("%d ", p[4] == (void *)&a.k);
    threads_grid(&a, grid);
    printf("%u %u %u ", grid[0], grid[1], grid[2]);
    a.x_extent_0 = 999; printf("%d ", threads_check(&a) != 0); a.x_extent_0 = 1000;
    a.z = 3; printf("%d ", threads_check(&a) != 0); a.z = 2;
    a.x = 4; printf("%d ", threads_check(&a) != 0); a.x = 8;
    a.z_extent_0 = a.x_extent_0 = 1LL << 31; printf("%d ", threads_check(&a) != 0);
    printf("%d %d %s", THREADS_BLOCK_X, THREADS_SHARED_BYTES, THREADS_ARCH);
    """
    expected = ["0", "1", "4", "1", "1", "1", "1", "1", "1", "256", "0", "sm_90"]
    assert run_c(["threads"], body) == expected


def test_of_several_axes_the_caller_decides_the_grid(run_c, exported):
    facts = json.loads(exported["square"][0].description.read_text())
    assert facts["launch"]["grid"] is None and facts["launch"]["block"] == [16, 4, 1]
    body = """
    struct square_arguments a; struct threads_arguments b;
    memset(&a, 0, sizeof a); memset(&b, 0, sizeof b);
    printf("%d %d", square_check(&a), SQUARE_BLOCK_X * SQUARE_BLOCK_Y * SQUARE_BLOCK_Z);
    """
    assert run_c(["square", "threads"], body, "c++17") == ["0", "64"]
