"""SIMT kernels in which threads are to meet that do not all come."""

PROGRAMS = {
    "simt-barrier-in-branch": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    t = simt.thread_idx()
    if t < 16:
        simt.sync_threads()
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
    "simt-barrier-in-loop": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    for k in range(simt.thread_idx()):
        simt.sync_threads()
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
    "simt-barrier-in-loop-left-apart": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    k = 0
    while k < 10:
        k += 1
        simt.sync_threads()
        if x[i] > 0.5:
            break
with tw.unsafe():
    kernel(tw.empty((4,)), np.zeros(4, "f4")).sync()
""",
    "simt-barrier-behind-shared-memory": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    memory = simt.shared(i32, (4,))
    if memory[0] > 3:
        simt.sync_threads()
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
    "simt-barrier-in-function": """
def helper(v: float) -> float:
    if v > 3.0:
        return 1.0
    simt.sync_threads()
    return 2.0

@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    out[i] = helper(x[i])
with tw.unsafe():
    kernel(tw.empty((4,)), np.zeros(4, "f4")).sync()
""",
    "simt-shuffle-in-branch": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if x[i] > 3.0:
        out[i] = simt.shuffle(x[i], 0)
with tw.unsafe():
    kernel(tw.empty((4,)), np.zeros(4, "f4")).sync()
""",
    "simt-vote-behind-lane": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    if simt.lane_id() < simt.warp_id():
        assert simt.vote_all(simt.thread_idx() > 0)
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
}
