from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.base.config import override
from tilewright.interop import nvrtc
from tilewright.interop.cuda import compile_cuda

SOURCE = """
extern "C" __global__ void scale(float *out, const float *x, unsigned n, float factor) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}
"""


@pytest.fixture
def there():
    """Skip where NVIDIA's compiler is not installed."""
    try:
        nvrtc._library()
    except tw.CompileError as error:
        pytest.skip(str(error.got))


def test_ptx_and_cubins(there):
    assert b".visible .entry scale(" in compile_cuda(SOURCE)
    assert b".target sm_90" in compile_cuda(SOURCE, arch="compute_90")
    assert compile_cuda(SOURCE, arch="sm_90").startswith(b"\x7fELF")
    with override(target="sm_100"):
        assert b".target sm_100" in compile_cuda(SOURCE)


def test_options_and_the_file_s_name(there):
    wrong = "#if N != 3\n#error N is not 3\n#endif\n"
    with pytest.raises(tw.CompileError) as caught:
        compile_cuda(wrong, name="wrong.cu")
    assert "error: #error directive: N is not 3" in str(caught.value)
    compile_cuda(wrong, options=["-DN=3"])


def test_without_the_compiler_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(nvrtc, "PACKAGE", "no_such_package")
    with pytest.raises(tw.CompileError) as caught:
        compile_cuda(SOURCE)
    assert "NVRTC, which compiles CUDA C++, is missing" in str(caught.value)
    assert "pip install 'tilewright[nvrtc]'; or compile with nvcc -ptx" in str(caught.value)
