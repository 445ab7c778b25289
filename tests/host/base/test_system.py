"""What other operating systems lack is not needed to import the package and to run kernels."""

import os
import subprocess
import sys
import textwrap

from tilewright.base import config, system

ELSEWHERE = """
import os, signal, sys
import multiprocessing, subprocess, tempfile  # as they are here
for name in ("register_at_fork", "sched_getaffinity", "geteuid", "getuid", "killpg", "fork"):
    delattr(os, name)
for name in ("O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "O_NONBLOCK"):
    delattr(os, name)
os.supports_dir_fd.clear()
sys.modules["fcntl"] = sys.modules["resource"] = sys.modules["pwd"] = None
"""
"""A Python on a machine like one with Windows, as far as the system's calls go."""

KERNEL = """
import numpy as np
import tilewright as tw
import tilewright.lang as tl

@tw.entry
def double(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z) * 2)

x = np.arange(1000, dtype="f4")
for device in ("cpu", "reference"):
    with tw.device(device):
        z = double(tw.empty((1000,)).partition((64,)), x).out().sync()
        assert np.array_equal(z.to_numpy(), 2 * x)
print("right")
"""


def test_kernels_run_where_the_system_has_less(tmp_path):
    program = tmp_path / "elsewhere.py"
    program.write_text(textwrap.dedent(ELSEWHERE + KERNEL))
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "right", done.stderr
    assert not (tmp_path / "cache").exists(), "code is kept only where it can be protected"


def test_code_is_kept_here(tmp_path):
    assert system.HAS_PRIVATE_FILES
    with config.override(cache_dir=str(tmp_path)):
        assert config.cache_directory(config.current()) == tmp_path


def test_code_is_not_kept_where_it_cannot_be_protected(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "HAS_PRIVATE_FILES", False)
    with config.override(cache_dir=str(tmp_path)):
        assert config.cache_directory(config.current()) is None


def test_flags():
    assert system.flag("O_RDONLY") == os.O_RDONLY
    assert system.flag("O_NO_SUCH") == 0


def test_processors(monkeypatch):
    assert system.usable_cpus() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    assert system.usable_cpus() == os.cpu_count()
