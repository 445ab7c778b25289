"""Which reads of shared memory give all threads the same."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright import i32, simt
from tilewright.analysis.structure import structure
from tilewright.analysis.uniformity import uniform_shared_reads
from tilewright.frontend.interp.build import build
from tilewright.launch.inspection import Inspection

BODIES = {
    "after a barrier": (True, "simt.sync_threads(); n = m[0]; simt.sync_threads(); m[0] = 1"),
    "to the end": (True, "m[t] = 1; simt.sync_threads(); n = m[0]; out.elements[0] = n"),
    "of another array": (True, "simt.sync_threads(); n = m[0]; k[t] = 1; simt.sync_threads()"),
    "without a barrier": (False, "m[t] = 1; n = m[0]"),
    "at the start": (False, "n = m[0]; simt.sync_threads()"),
    "behind a write": (False, "simt.sync_threads(); m[t] = 1; n = m[0]; simt.sync_threads()"),
    "before a write": (False, "simt.sync_threads(); n = m[0]; m[t] = 1; simt.sync_threads()"),
    "before a write, right after a barrier": (
        False,
        "j = count; simt.sync_threads(); n = m[j]; m[t] = 1; simt.sync_threads()",
    ),
    "before an atomic": (False, "simt.sync_threads(); n = m[0]; tl.atomic_add(m.at(1), 1)"),
    "of dynamic memory, written by another name": (
        False,
        """
d, e = simt.dynamic_shared(i32), simt.dynamic_shared(i32)
simt.sync_threads()
n = d[0]
e[t] = 1
simt.sync_threads()
""",
    ),
    "before a branch that writes": (
        False,
        """
simt.sync_threads()
n = m[0]
if t == 0:
    m[0] = 1
simt.sync_threads()
""",
    ),
    "behind a branch that writes": (
        False,
        """
simt.sync_threads()
if t == 0:
    m[0] = 1
n = m[0]
""",
    ),
    "written in the next round": (
        False,
        """
for r in range(count):
    m[t] = r
    simt.sync_threads()
    n = m[0]
""",
    ),
    "written in the next round, after a barrier": (
        True,
        """
for r in range(count):
    simt.sync_threads()
    m[t] = r
    simt.sync_threads()
    n = m[0]
""",
    ),
    "written where the loop was left": (
        False,
        """
for r in range(count):
    simt.sync_threads()
    n = m[0]
    if n > r:
        break
    simt.sync_threads()
m[t] = 1
""",
    ),
    "barrier in one arm alone": (
        False,
        """
simt.sync_threads()
n = m[0]
if count > 3:
    simt.sync_threads()
m[t] = 1
""",
    ),
}


def kernel_of(body):
    lines = [line for part in body.split("\n") for line in part.split("; ") if line.strip()]
    text = "\n".join(["@simt.kernel(block=64, unsafe=True)",
        "def kernel(out: simt.DisjointSlice[i32], count: i32) -> None:",
        "    t = simt.thread_idx()", "    m, k = simt.shared(i32, (64,)), simt.shared(i32, (64,))",
        *(f"    {line}" for line in lines)])  # fmt: skip
    head = (
        "import tilewright as tw\nimport tilewright.lang as tl\nfrom tilewright import i32, simt\n"
    )
    return tw.exec(head + text)["kernel"]


@pytest.mark.parametrize("name", BODIES)
def test_reads(name):
    expected, body = BODIES[name]
    kernel = kernel_of(body)
    args = (tw.meta((64,), i32).borrow_mut(), 3)
    func = build(kernel.source, Inspection(kernel.kernel, args, {}).signature)
    reads = [op for op in func.walk() if op.name == "load_shared"]
    assert reads
    assert (set(reads) == uniform_shared_reads(func, structure(func))) == expected


def test_what_is_read_must_be_one_element():
    """Each thread's own is not the same, however quiet the phase is."""

    @simt.kernel(block=64, unsafe=True)
    def kernel(out: simt.DisjointSlice[i32]) -> None:
        t = simt.thread_idx()
        m = simt.shared(i32, (64,))
        m[t] = t
        simt.sync_threads()
        if m[t] > 3:
            simt.sync_threads()

    with tw.unsafe(), pytest.raises(tw.CompileError, match="not all threads of a block"):
        kernel(tw.empty((64,), i32)).sync()
