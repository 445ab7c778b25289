"""CUDA C++ to PTX or a cubin, by NVIDIA's compiler as a library; needs no GPU."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..base.config import current
from ..base.errors import Code, CompileError
from ..base.tracebacks import publish
from ..op.ambient import default_device

PACKAGE = "cuda.bindings.nvrtc"
INSTALL = "pip install 'tilewright[nvrtc]'"
OLDEST = "sm_80"
"""The default target where there is no GPU: PTX for it runs on all newer ones."""
MOST_LINES = 40


def compile_cuda(
    source: str, *, arch: str | None = None, options: Sequence[str] = (), name: str = "kernel.cu"
) -> bytes:
    """Compile CUDA C++: to PTX for `compute_90`, to a cubin for `sm_90`.

    Without `arch`: PTX for TILEWRIGHT_TARGET, else for the default GPU, else for the oldest.
    Kernels keep their names if they are declared extern "C".
    """
    chosen = arch or _virtual()
    nvrtc = _library()
    program = _ask(nvrtc, "nvrtcCreateProgram", source.encode(), name.encode(), 0, [], [])
    try:
        wishes = [f"--gpu-architecture={chosen}", *options]
        _compile(nvrtc, program, [wish.encode() for wish in wishes])
        kind = "PTX" if chosen.startswith("compute_") else "CUBIN"
        return _text(nvrtc, program, kind)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _virtual() -> str:
    target = current().target or default_device().target
    return (target if target.startswith("sm_") else OLDEST).replace("sm_", "compute_")


def _library() -> Any:
    try:
        nvrtc = import_module(PACKAGE)
        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:
        raise CompileError(
            "NVRTC, which compiles CUDA C++, is missing",
            got=str(error).splitlines()[0],
            hint=f"{INSTALL}; or compile with nvcc -ptx and tw.load_module_from_file(path)",
            code=Code.TOOLCHAIN,
        ) from None
    return nvrtc


def _compile(nvrtc: Any, program: Any, options: list[bytes]) -> None:
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(status) == 0:
        return
    log = _text(nvrtc, program, "ProgramLog").decode(errors="replace").strip("\0 \n")
    raise CompileError(
        "this CUDA C++ does not compile",
        got="\n".join(log.splitlines()[:MOST_LINES]) or str(status),
        code=Code.TOOLCHAIN,
    )


def _text(nvrtc: Any, program: Any, what: str) -> bytes:
    nbytes = int(_ask(nvrtc, f"nvrtcGet{what}Size", program))
    room = bytes(nbytes)
    _ask(nvrtc, f"nvrtcGet{what}", program, room)
    return room


def _ask(nvrtc: Any, call: str, *args: Any) -> Any:
    status, *results = getattr(nvrtc, call)(*args)
    if int(status) != 0:
        raise CompileError(f"NVRTC rejected {call}", got=str(status), code=Code.TOOLCHAIN)
    return results[0] if results else None


publish(["compile_cuda"], globals())
