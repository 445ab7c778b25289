"""SIMT kernels as PTX, assembled by NVIDIA's own assembler."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.cooperating import KERNELS as COOPERATING
from support.teams import PLANES, TEAMS
from support.threads import CASES, UNSAFE

KERNELS = {
    **{name: case.kernel for name, case in (CASES | TEAMS | PLANES).items()},
    **UNSAFE,
    **COOPERATING,
}
ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")


@pytest.fixture(scope="module")
def ptxas(tool) -> Path:
    """The assembler of PTX, which comes with that of tiles."""
    path = Path(tool.path).with_name("ptxas")
    if not path.exists():
        pytest.skip("no ptxas beside tileiras")
    return path


@pytest.mark.thinned(20)
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", KERNELS)
def test_ptx_is_accepted(name, arch, ptxas, tmp_path):
    source, cubin = tmp_path / "kernel.ptx", tmp_path / "kernel.cubin"
    source.write_text(KERNELS[name].ptx(arch))
    done = subprocess.run(
        [ptxas, "-arch", arch, source, "-o", cubin], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert cubin.stat().st_size > 0
