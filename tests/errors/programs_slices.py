"""Wrong programs: slices in runs and in tiles."""

PROGRAMS = {
    "simt-run-of-no-witness": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], j: i32) -> None:
    out.runs(4)[j][0] = 1.0
kernel(tw.empty((8,)), 1).sync()
""",
    "simt-runs-of-two-sizes": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out.runs(4)):
        out.runs(4)[i][0] = 1.0
        out[i] = 2.0
kernel(tw.empty((8,))).sync()
""",
    "simt-index-outside-of-a-run": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    y = x.runs(4)[0][4]
kernel(tw.empty((8,)), np.zeros(8, "f4")).sync()
""",
    "simt-write-to-a-run-of-a-slice": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    x.runs(4)[0][0] = 1.0
kernel(tw.empty((8,)), np.zeros(8, "f4")).sync()
""",
    "simt-tile-of-no-witness": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], j: i32) -> None:
    out.tiles((2, 2), 4)[j][0, 0] = 1.0
kernel(tw.empty((8,)), 1).sync()
""",
    "simt-tile-by-row-and-column-is-written": """
@simt.kernel(domain=2)
def kernel(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_2d(2)
    out.tiles((2, 2), 4)[i.row, i.col][0, 0] = 1.0
kernel(tw.empty((2, 4))).sync()
""",
    "simt-tiles-of-two-shapes": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], n: i32) -> None:
    i = simt.index_1d()
    out.tiles((2, 2), n)[i][0, 0] = 1.0
    out.tiles((2, 4), n)[i][0, 0] = 1.0
kernel(tw.empty((8,)), 4).sync()
""",
    "simt-tiles-of-two-widths": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], n: i32) -> None:
    i = simt.index_1d()
    out.tiles((2, 2), n)[i][0, 0] = 1.0
    out.tiles((2, 2), n + 1)[i][0, 0] = 1.0
kernel(tw.empty((8,)), 4).sync()
""",
    "simt-tiles-and-elements": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], n: i32) -> None:
    i = simt.index_1d()
    out[i] = out.tiles((2, 2), n)[i][0, 0]
kernel(tw.empty((8,)), 4).sync()
""",
    "simt-tiles-by-a-witness-of-elements": """
@simt.kernel(domain=2)
def kernel(out: simt.DisjointSlice[f32], n: i32) -> None:
    i = simt.index_2d(n)
    out.tiles((2, 2), n)[i][0, 0] = 1.0
kernel(tw.empty((2, 4)), 4).sync()
""",
    "simt-row-outside-of-a-tile": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    y = x.tiles((2, 4), 8)[0][2, 0]
kernel(tw.empty((8,)), np.zeros(8, "f4")).sync()
""",
    "simt-one-index-of-a-tile": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    y = x.tiles((2, 4), 8)[0][1]
kernel(tw.empty((8,)), np.zeros(8, "f4")).sync()
""",
    "simt-write-to-a-tile-of-a-slice": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    x.tiles((2, 4), 8)[0][0, 0] = 1.0
kernel(tw.empty((8,)), np.zeros(8, "f4")).sync()
""",
    "simt-tiles-of-one-extent": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    y = x.tiles((4, 0), 8)[0][0, 0]
kernel(tw.empty((8,)), np.zeros(8, "f4")).sync()
""",
    "simt-tiles-of-a-width-that-varies": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    y = x.tiles((2, 2), simt.thread_idx())[0][0, 0]
kernel(tw.empty((8,)), np.zeros(8, "f4")).sync()
""",
    "simt-tile-outside-of-a-slice": """
@simt.kernel
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: i32) -> None:
    y = x.tiles((2, 4), 8)[0, n][0, 0]
kernel(tw.empty((8,)), np.zeros(32, "f4"), 2).sync()
""",
    "thread-without-an-element": """
@simt.kernel
def kernel(z: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    i = simt.index_1d()
    z[i] = x[i]
kernel(tw.empty((10,)), np.ones(10, "f4")).sync()
""",
    "tile-in-a-slice": """
@simt.kernel
def kernel(z: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i < len(z):
        z[i] = tl.zeros((4,), f32)
kernel(tw.empty((10,))).sync()
""",
}
