"""SIMT kernels whose threads meet: barriers, shared memory, warp ops; and how to run one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from support.threads import Array, floats, ints
from tilewright import bool_, f16, f32, f64, i8, i32, i64, simt, u32

MOST = 1024


@simt.kernel(unsafe=True)
def reversed_blocks(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    i, t, n = simt.index_1d(), simt.thread_idx(), simt.block_dim()
    memory = simt.shared(i32, (MOST,))
    memory[t] = x[i] if i < len(x) else -1
    simt.sync_threads()
    if i < len(out):
        out[i] = memory[n - 1 - t]


@simt.kernel(unsafe=True)
def tree_sum(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """A barrier in a loop whose rounds all threads count alike."""
    i, t = simt.index_1d(), simt.thread_idx()
    memory = simt.shared(i32, (MOST,))
    memory[t] = x[i] if i < len(x) else 0
    simt.sync_threads()
    left = simt.block_dim()
    while left > 1:
        half = (left + 1) // 2
        if t + half < left:
            memory[t] += memory[t + half]
        simt.sync_threads()
        left = half
    if i < len(out):
        out[i] = memory[0]


@simt.kernel(unsafe=True)
def scan(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    """Two barriers in a round; what a thread has read is kept across one."""
    i, t, n = simt.index_1d(), simt.thread_idx(), simt.block_dim()
    memory = simt.shared(f32, (MOST,))
    own = x[i] if i < len(x) else 0.0
    memory[t] = own
    by = 1
    while by < n:
        simt.sync_threads()
        before: float = f32(0)
        if t >= by:
            before = memory[t - by]
        simt.sync_threads()
        own += before
        memory[t] = own
        by *= 2
    if i < len(out):
        out[i] = own


@simt.kernel(unsafe=True)
def early(out: simt.DisjointSlice[i32], x: simt.Slice[i32], n: i32) -> None:
    """Threads without an element return before barriers, others in the middle of a loop."""
    i, t = simt.index_1d(), simt.thread_idx()
    memory = simt.shared(i32, (MOST,))
    if i >= len(out):
        return
    memory[t] = 0
    total = 0
    for k in range(n):
        if x[i] == k:
            out[i] = -total
            return
        memory[t] = x[i] + k
        simt.sync_threads()
        total += memory[t // 2 * 2] if x[t // 2 * 2] > 99 else memory[t]
        simt.sync_threads()
    out[i] = total


@simt.kernel(unsafe=True)
def all_leave(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """A loop with barriers that ends because nobody is left."""
    i = simt.index_1d()
    rounds = 0
    while True:
        simt.sync_threads()
        rounds += 1
        if i >= len(out):
            return
        if rounds > x[i]:
            out[i] = rounds
            return


@simt.kernel(unsafe=True)
def uniform_ways(out: simt.DisjointSlice[i32], x: simt.Slice[i32], n: i32) -> None:
    """Branches, breaks and continues that all threads take alike, around barriers."""
    i, t = simt.index_1d(), simt.thread_idx()
    memory = simt.shared(i32, (2, MOST))
    own = x[i] if i < len(x) else 3
    memory[0, t] = own
    if n > 3:
        simt.sync_threads()
        memory[1, t] = memory[0, simt.block_dim() - 1 - t] * 2
        own += 1
    else:
        memory[1, t] = own
    for k in range(10):
        if k == n:
            continue
        if k * k > n * 4:
            break
        simt.sync_threads()
        own += memory[k % 2, (t + 1) % simt.block_dim()]
        simt.sync_threads()
        memory[0, t] = own + k
    if n == 7:
        return
    simt.sync_threads()
    if i < len(out):
        out[i] = own + memory[1, 0]


def exchanged(memory: simt.Shared[i32], t: int, value: int, upward: int) -> int:
    """A device function with barriers, and early returns that all threads take alike."""
    memory[t] = value
    simt.sync_threads()
    if upward > 1:
        return memory[simt.block_dim() - 1 - t]
    other = memory[0]
    simt.sync_threads()
    if upward > 0:
        return other + value
    return other


@simt.kernel(unsafe=True)
def functions(out: simt.DisjointSlice[i32], x: simt.Slice[i32], way: i32) -> None:
    i, t = simt.index_1d(), simt.thread_idx()
    memory = simt.shared(i32, (MOST,))
    got = exchanged(memory, t, x[i] if i < len(x) else t, way)
    simt.sync_threads()
    got += exchanged(memory, t, got * 2, 1)
    if i < len(out):
        out[i] = got


@simt.kernel(unsafe=True)
def kinds(out: simt.DisjointSlice[f64], x: simt.Slice[f32], n: i32) -> None:
    """Values of many types are kept across a barrier."""
    i, t = simt.index_1d(), simt.thread_idx()
    own = x[i] if i < len(x) else 0.0
    small, large = i8(i32(own * 3.0)), i64(i32(own * 100.0)) * 1000000
    half, flag = f16(own), own > 0.25
    double, same = f64(own) / 3.0, f32(n) * 0.5
    root = simt.sqrt(abs(own))
    memory = simt.shared(bool_, (MOST,))
    memory[t] = flag
    simt.sync_threads()
    other = memory[simt.block_dim() - 1 - t]
    if i < len(out):
        total = f64(i32(small)) + f64(large) + f64(half) + double + f64(same) + f64(root)
        out[i] = total if other and flag else -total


@simt.kernel(unsafe=True)
def counted(out: simt.DisjointSlice[i32], x: simt.Slice[i32], bins: i32) -> None:
    """Atomics on shared memory, and old values of some."""
    i, t, n = simt.index_1d(), simt.thread_idx(), simt.block_dim()
    counts = simt.dynamic_shared(i32)
    most = simt.shared(i32, (2,))
    for k in range(t, bins, n):
        counts[k] = 0
    for k in range(t, 2, n):
        most[k] = 0
    simt.sync_threads()
    own = x[i] % bins if i < len(x) else 0
    if i < len(x):
        tl.atomic_add(counts.at(own), 1)
        tl.atomic_max(most.at(0), own)
    tl.atomic_add(most.at(1), own + 1)
    simt.sync_threads()
    if i < len(out):
        out[i] = counts[own] * 1000000 + most[0] * 10000 + most[1]


@simt.kernel(unsafe=True)
def strided(out: simt.DisjointSlice[i32], x: simt.Slice[i32], rounds: i32) -> None:
    """All threads go over memory side by side, and carry what they find."""
    i, t, n = simt.index_1d(), simt.thread_idx(), simt.block_dim()
    memory = simt.shared(i32, (MOST,))
    total, most, last = 0, -100, 0
    for k in range(rounds):
        at = k * n + t
        if at < len(x):
            total += x[at]
            most = max(most, x[at] * (k + 1))
        if k * n > 2 * len(x):
            break
        last = total + k
    memory[t] = total
    simt.sync_threads()
    for k in range(1, rounds, 2):
        at = k * n + t
        if at < len(x) and x[at] > 30:
            continue
        memory[t] += last if at >= len(x) else x[at]
    if i < len(out):
        out[i] = memory[t] * 1000 + most


@simt.kernel(domain=2, unsafe=True)
def transposed(out: simt.DisjointSlice[f32], x: simt.Slice[f32], width: i32) -> None:
    """Rows and columns of a block change places."""
    i = simt.index_2d(width)
    tx, ty = simt.thread_idx(0), simt.thread_idx(1)
    memory = simt.shared(f32, (33, 33))
    memory[ty, tx] = x[i] if i < len(x) else 0.5
    simt.sync_threads()
    if i < len(out):
        total: float = f32(0)
        for k in range(simt.block_dim(0)):
            total += memory[ty, k] * (memory[k, tx] if k < simt.block_dim(1) else 1.0)
        out[i] = total


@simt.kernel(unsafe=True)
def shuffled(out: simt.DisjointSlice[i32], x: simt.Slice[i32], by: i32) -> None:
    """Every mode, by numbers known while compiling, at launch, and for each lane."""
    i, lane = simt.index_1d(), simt.lane_id()
    v = x[i] if i < len(x) else -1
    total = simt.shuffle(v, 0) + 2 * simt.shuffle_up(v, 1)
    total += 5 * simt.shuffle_up(v, by) + 7 * simt.shuffle_up(v, lane // 2, width=16)
    if simt.warp_id() * 32 + 32 <= simt.block_dim():
        total += 11 * simt.shuffle_xor(v, 5) + 13 * simt.shuffle_xor(v, by)
        total += 17 * simt.shuffle(v, 31 - lane) + 19 * simt.shuffle(v, by, width=4)
        total += 23 * simt.shuffle_down(v, by, width=16) + 29 * simt.shuffle_down(v, 4, width=8)
    if i < len(out):
        out[i] = total


@simt.kernel(unsafe=True)
def shuffled_kinds(out: simt.DisjointSlice[f64], x: simt.Slice[f32], by: i32) -> None:
    i = simt.index_1d()
    v = x[i] if i < len(x) else 0.0
    total = f64(simt.shuffle_up(v, by)) + simt.shuffle_up(f64(v) * 2.0, 3)
    total += f64(simt.shuffle_up(f16(v), by)) + f64(i64(simt.shuffle_up(i64(i32(v * 9.0)), by)))
    total += 1.0 if simt.shuffle_up(v > 0.0, by) else 0.0
    if i < len(out):
        out[i] = total


@simt.kernel(unsafe=True)
def votes(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Votes choose a way that all lanes of a warp take."""
    i = simt.index_1d()
    v = x[i] if i < len(x) else 0
    found = simt.ballot(v % 2 == 0)
    total = i32(found & u32(0x7FFFFFFF)) % 1000003
    if simt.vote_all(v > -3):
        total += simt.shuffle_up(v, 1) * 3
    if simt.vote_any(v > 50):
        total += i32(simt.match_any(v % 3) & u32(0xFFFF))
    if i < len(out):
        out[i] = total


@simt.kernel(unsafe=True)
def warps_apart(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Warps go different ways, and meet again at barriers."""
    i, t = simt.index_1d(), simt.thread_idx()
    sums = simt.shared(i32, (32,))
    v = x[i] if i < len(x) else 0
    warp = t // 32
    count = (simt.block_dim() + 31) // 32
    if warp % 2 == 1:
        v = simt.shuffle(v, 0)
    for k in range(warp):
        v += simt.shuffle_up(v, 1) if k < 3 else k
    if simt.lane_id() == 0:
        sums[warp] = v
    simt.sync_threads()
    total = 0
    for k in range(count):
        total += sums[k]
    if i < len(out):
        out[i] = total * 10 + v


@simt.kernel(unsafe=True)
def masked(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Warp ops of the lanes that a mask names."""
    i, lane = simt.index_1d(), simt.lane_id()
    v = x[i] if i < len(x) else 1
    total = 0
    if lane < 8:
        total = simt.shuffle_up(v, 1, width=8, mask=0xFF)
        if simt.vote_any(v > 40, mask=0xFF):
            total += 1000
        simt.sync_warp(mask=0xFF)
        total += i32(simt.ballot(v > 20, mask=0xFF)) * 7
    if i < len(out):
        out[i] = total


@simt.kernel(domain=2, unsafe=True)
def warps_of_rows(out: simt.DisjointSlice[i32], x: simt.Slice[i32], width: i32) -> None:
    """Warps with threads of several rows."""
    i = simt.index_2d(width)
    v = x[i] if i < len(x) else 7
    number = simt.thread_idx(1) * simt.block_dim(0) + simt.thread_idx(0)
    right = 1 if number % 32 == simt.lane_id() and number // 32 == simt.warp_id() else 0
    total = simt.shuffle_up(v, 1) * 2 + simt.shuffle(v, 0) + i32(simt.ballot(v > 10)) % 97
    memory = simt.shared(i32, (MOST,))
    memory[number] = total
    simt.sync_threads()
    if i < len(out):
        out[i] = memory[number // 3] * 10 + right


@simt.kernel(unsafe=True)
def given_up(out: simt.DisjointSlice[i32], x: simt.Slice[i32], wanted: i32) -> None:
    """A block stops when one of its threads has found a number: it reads a flag after a barrier."""
    i, t, n = simt.index_1d(), simt.thread_idx(), simt.block_dim()
    found, other = simt.shared(i32, (2,)), simt.shared(i32, (MOST,))
    if t == 0:
        found[0] = 0
        found[1] = simt.block_idx()
    rounds = i32(0)
    for start in range(simt.block_idx() * n, len(x), n):
        simt.sync_threads()
        other[t] = start
        if found[0] != 0:
            break
        simt.sync_threads()
        if start + t < len(x) and x[start + t] == wanted:
            tl.atomic_add(found.at(0), 1, ordering="relaxed", scope="tile_block")
        rounds += 1
    simt.sync_threads()
    if found[1] > 0:
        simt.sync_threads()
        rounds += other[n - 1 - t] * 100
    if i < len(out):
        out[i] = rounds


@dataclass(frozen=True)
class Team:
    """A kernel, fresh arguments of n elements, the output first, and how it is launched."""

    kernel: Any
    given: Callable[[np.random.Generator, int], Sequence[Any]]
    shared_bytes: int = 0
    tolerance: float = 0.0


def _ints(*more: Any) -> Callable[[np.random.Generator, int], Sequence[Any]]:
    return lambda r, n: (ints(r, n), ints(r, n), *more)


TEAMS: dict[str, Team] = {
    "reversed": Team(reversed_blocks, lambda r, n: (ints(r, n), ints(r, max(n - 3, 1)))),
    "tree-sum": Team(tree_sum, _ints()),
    "scan": Team(scan, lambda r, n: (floats(r, n), floats(r, n))),
    "early": Team(early, lambda r, n: (ints(r, n), ints(r, n, -1, 9), 6)),
    "given-up": Team(given_up, lambda r, n: (ints(r, n), ints(r, 9 * n, 0, 400), 7)),
    "given-up-late": Team(given_up, lambda r, n: (ints(r, n), ints(r, 3 * n, 0, 99), 1000)),
    "all-leave": Team(all_leave, lambda r, n: (ints(r, n), ints(r, n, 0, 9))),
    **{f"ways-{n}": Team(uniform_ways, _ints(n)) for n in (0, 3, 5, 7)},
    **{f"functions-{way}": Team(functions, _ints(way)) for way in range(3)},
    "kinds": Team(
        kinds, lambda r, n: (r.standard_normal(n), floats(r, n), 5), tolerance=1e-14
    ),
    "counted": Team(counted, lambda r, n: (ints(r, n), ints(r, n, 0, 999), 17), shared_bytes=68),
    "strided": Team(strided, lambda r, n: (ints(r, n), ints(r, 3 * n + 5), 9)),
    "shuffled": Team(shuffled, _ints(3)),
    "shuffled-kinds": Team(shuffled_kinds, lambda r, n: (r.standard_normal(n), floats(r, n), 2)),
    "votes": Team(votes, _ints()),
    "warps-apart": Team(warps_apart, _ints()),
    "masked": Team(masked, _ints()),
}  # fmt: skip
PLANES: dict[str, Team] = {
    "transposed": Team(
        transposed, lambda r, n: (floats(r, n).reshape(-1, 11), floats(r, n), 11), tolerance=1e-5
    ),
    "warps-of-rows": Team(
        warps_of_rows, lambda r, n: (ints(r, n).reshape(-1, 11), ints(r, n), 11)
    ),
}  # fmt: skip


def run_on(device: str, team: Team, args: Sequence[Any], block: int | tuple[int, ...]) -> Array:
    """The output of a kernel on a device."""
    with tw.device(device), tw.unsafe():
        out = tw.from_numpy(args[0]).sync()
        launch = team.kernel(out.borrow_mut(), *args[1:])
        launch.launch_config(block=block, shared_mem_bytes=team.shared_bytes).sync()
        return out.to_numpy()
