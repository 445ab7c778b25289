"""Wrong SIMT kernels, and wrong launches of right ones."""

RIGHT = """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: i32) -> None:
    assert len(x) >= n * 2
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i]
"""

PROGRAMS = {
    "simt-index-is-no-witness": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i + 0] = 1.0
kernel(tw.empty((4,))).sync()
""",
    "simt-number-is-no-witness": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], j: i32) -> None:
    out[j] = 1.0
kernel(tw.empty((4,)), 3).sync()
""",
    "simt-read-of-anothers-element": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = out[0]
kernel(tw.empty((4,))).sync()
""",
    "simt-chosen-witness": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], j: i32) -> None:
    i = simt.index_1d()
    k = i if j > 0 else 0
    out[k] = 1.0
kernel(tw.empty((4,)), 1).sync()
""",
    "simt-width-that-varies": """
@simt.kernel(domain=2)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_2d(simt.thread_idx() + 1)
    if i < len(out):
        out[i] = 1.0
kernel(tw.empty((4, 4))).sync()
""",
    "simt-two-widths": """
@simt.kernel(domain=2)
def kernel(out: simt.DisjointSlice[f32], a: i32, b: i32) -> None:
    i, j = simt.index_2d(a), simt.index_2d(b)
    if i < len(out):
        out[i] = 1.0
    if j < len(out):
        out[j] = 2.0
kernel(tw.empty((4, 4)), 4, 2).sync()
""",
    "simt-wrong-domain": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_2d(4)
kernel(tw.empty((4,))).sync()
""",
    "simt-store-to-slice": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    x[i] = 1.0
kernel(tw.empty((4,)), np.zeros(4, "f4")).sync()
""",
    "simt-store-of-another-type": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = i
kernel(tw.empty((4,))).sync()
""",
    "simt-tile-word": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    t = tl.zeros((8,), f32)
kernel(tw.empty((4,))).sync()
""",
    "simt-tile-annotation": """
@simt.kernel
def kernel(out: tl.TensorMut[f32]) -> None:
    pass
""",
    "simt-word-in-tile-kernel": """
@tw.entry
def kernel(z: tl.TensorMut) -> None:
    i = simt.index_1d()
launch(kernel)
""",
    "simt-word-on-host": """
simt.index_1d()
""",
    "simt-slice-arithmetic": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    y = x + 1.0
kernel(tw.empty((4,)), np.zeros(4, "f4")).sync()
""",
    "simt-plain-tensor-is-written": RIGHT + """
z = tw.zeros((4,)).sync()
kernel(z, np.zeros(4, "f4"), 2)
""",
    "simt-array-is-written": RIGHT + """
kernel(np.zeros(4, "f4"), np.zeros(4, "f4"), 2)
""",
    "simt-partition-is-written": RIGHT + """
z = tw.zeros((4,)).sync()
kernel(z.partition_mut((4,)), np.zeros(4, "f4"), 2)
""",
    "simt-not-contiguous": RIGHT + """
kernel(tw.empty((4,)), np.zeros((4, 4), "f4")[:, 1], 2).sync()
""",
    "simt-wrong-dtype": RIGHT + """
kernel(tw.empty((4,)), np.zeros(4, "f8"), 2).sync()
""",
    "simt-size-requirement": RIGHT + """
kernel(tw.empty((4,)), np.zeros(5, "f4"), 3).sync()
""",
    "simt-same-memory-twice": RIGHT + """
z = tw.zeros((4,)).sync()
kernel(z.borrow_mut(), z, 2)
""",
    "simt-index-out-of-range": RIGHT + """
kernel(tw.empty((4,)), np.zeros(3, "f4"), 1).launch_config(block=1).sync()
""",
    "simt-index-from-data-out-of-range": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32], where: simt.Slice[i32]) -> None:
    i = simt.index_1d()
    if i < len(out) and i < len(where):
        out[i] = x[where[i]]
kernel(tw.empty((4,)), np.zeros(3, "f4"), np.arange(4, dtype="i4")).launch_config(block=1).sync()
""",
    "simt-grid-of-wrong-rank": RIGHT + """
kernel(tw.empty((4,)), np.zeros(4, "f4"), 2).launch_config(grid=(1, 2), block=(4,)).sync()
""",
    "simt-block-too-large": RIGHT + """
z = tw.zeros((4,)).sync()
kernel(z.borrow_mut(), np.zeros(4, "f4"), 2).launch_config(block=2048)
""",
    "simt-block-not-exact": """
@simt.kernel(block=64)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    pass
kernel(tw.empty((4,))).launch_config(block=32).sync()
""",
    "simt-no-threads-known": """
@simt.kernel
def kernel(x: simt.Slice[f32]) -> None:
    pass
kernel(np.zeros(4, "f4")).sync()
""",
    "simt-rows-unknown": """
@simt.kernel(domain=2)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    pass
kernel(tw.empty((4,))).sync()
""",
    "simt-barrier-in-a-branch": """
@simt.kernel(block=64)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    with tw.unsafe():
        if i < len(out):
            simt.sync_threads()
            out[i] = 1.0
kernel(tw.empty((4,))).sync()
""",
    "simt-barrier-in-a-loop-that-threads-leave": """
@simt.kernel(block=64)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    with tw.unsafe():
        for k in range(i):
            simt.sync_threads()
kernel(tw.empty((4,))).sync()
""",
    "simt-block-sum-in-a-branch": """
@simt.kernel(block=64)
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = simt.block_sum(x[i])
kernel(tw.empty((4,)), np.zeros(4, "f4")).sync()
""",
    "simt-block-sum-of-part-of-a-warp": """
@simt.kernel(block=48)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    total = simt.block_sum(f32(simt.thread_idx()))
kernel(tw.empty((4,))).sync()
""",
    "simt-warp-sum-of-part-of-a-warp": """
@simt.kernel(block=48)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    total = simt.warp_sum(f32(simt.thread_idx()))
kernel(tw.empty((4,))).sync()
""",
    "simt-warp-sum-launched-over-part-of-a-warp": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    total = simt.warp_sum(f32(simt.thread_idx()))
kernel(tw.empty((4,))).launch_config(block=48).sync()
""",
    "simt-warp-sum-of-three": """
@simt.kernel(block=96)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    total = simt.warp_sum(f32(simt.thread_idx()), width=3)
kernel(tw.empty((4,))).sync()
""",
    "simt-block-sum-of-a-block-that-is-not-said": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    total = simt.block_sum(f32(simt.thread_idx()))
kernel(tw.empty((4,))).launch_config(block=64).sync()
""",
    "simt-dynamic-shared-without-room": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    s = simt.dynamic_shared(f32, offset=64)
    s[0] = 1.0
with tw.unsafe():
    kernel(tw.empty((4,))).launch_config(shared_mem_bytes=64).sync()
""",
    "simt-contract-on-the-grid": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    assert simt.grid_dim() * simt.block_dim() >= len(out), "a thread for each element"
    i = simt.index_1d()
    if i < len(out):
        out[i] = 1.0
kernel(tw.empty((640,))).launch_config(grid=2, block=64).sync()
""",
    "simt-shared-memory-in-floats": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
kernel(tw.empty((4,))).launch_config(shared_mem_bytes=1.5)
""",
    "simt-ptx-for-the-cpu": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
kernel.ptx("cpu")
""",
    "simt-shared-memory-in-safe-code": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    s = simt.shared(f32, 32)
kernel(tw.empty((4,))).sync()
""",
    "simt-shuffle-in-safe-code": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    v = simt.shuffle(simt.thread_idx(), 3)
kernel(tw.empty((4,))).sync()
""",
    "simt-shared-shape-varies": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32], n: i32) -> None:
    s = simt.shared(f32, n)
with tw.unsafe():
    kernel(tw.empty((4,)), 3).sync()
""",
    "simt-shared-too-large": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    a = simt.shared(f32, (64, 128))
    b = simt.shared(f32, (64, 128))
    a[0, 0] = 1.0
    out[i] = a[0, 0] + b[0, 0]
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
    "simt-shared-index-outside": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    tile = simt.shared(f32, (4, 4))
    tile[0, 4] = 1.0
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
    "simt-shared-index-of-wrong-rank": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    tile = simt.shared(f32, (4, 4))
    tile[3] = 1.0
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
    "simt-shared-store-of-another-type": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    tile = simt.shared(f32, 4)
    tile[0] = simt.thread_idx()
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
    "simt-shared-atomic-of-another-type": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    tile = simt.shared(i8, 4)
    tl.atomic_add(tile.at(0), 1)
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
    "simt-shared-length-is-no-constant": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    room = simt.dynamic_shared(f32)
    n = room.shape
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
    "simt-shared-memory-chosen": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32], n: i32) -> None:
    a, b = simt.shared(f32, 4), simt.shared(f32, 4)
    c = a if n > 0 else b
with tw.unsafe():
    kernel(tw.empty((4,)), 1).sync()
""",
    "simt-shared-bytes-too-many": RIGHT + """
z = tw.zeros((4,)).sync()
kernel(z.borrow_mut(), np.zeros(4, "f4"), 2).launch_config(shared_mem_bytes=1 << 20)
""",
    "simt-shared-word-in-tile-kernel": """
@tw.entry(unsafe=True)
def kernel(z: tl.TensorMut) -> None:
    s = simt.shared(f32, 4)
with tw.unsafe():
    launch(kernel)
""",
    "simt-shuffle-among-three": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    v = simt.shuffle(simt.thread_idx(), 0, width=3)
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
    "simt-ballot-of-a-number": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    v = simt.ballot(simt.thread_idx())
with tw.unsafe():
    kernel(tw.empty((4,))).sync()
""",
    "simt-ptx-on-the-cpu": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[u32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = simt.inline_ptx("mov.u32 $0, %clock;", result=u32)
with tw.unsafe():
    kernel(tw.empty((4,), u32)).sync()
""",
    "simt-ptx-place-of-nothing": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[u32]) -> None:
    x = simt.inline_ptx("brev.b32 $0, $2;", u32(1), result=u32)
with tw.unsafe():
    kernel(tw.empty((4,), u32)).sync()
""",
    "simt-ptx-of-bytes": """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[u8]) -> None:
    x = simt.inline_ptx("brev.b32 $0, $1;", u8(1), result=u32)
with tw.unsafe():
    kernel(tw.empty((4,), u8)).sync()
""",
    "simt-elements-in-safe-code": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    out.elements[0] = 1.0
kernel(tw.empty((4,))).sync()
""",
    "simt-kernel-indexed-by-grid": RIGHT + """
kernel[1, 256]
""",
}  # fmt: skip
