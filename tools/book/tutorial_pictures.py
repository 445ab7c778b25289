"""Draw the pictures of the tutorials: what one block reads, keeps and writes."""

from __future__ import annotations

from collections.abc import Callable

from book.drawing import Canvas


def vector_add() -> Canvas:
    """Draw two inputs and an output in tiles, of which one block handles the same number."""
    c = Canvas(720, 220, "z = x + y: block 1 loads tile 1 of x and of y, and stores tile 1 of z")
    for row, name in enumerate("xyz"):
        top = 24 + row * 62
        c.text(20, top + 26, name, "code strong")
        for i in range(4):
            width = 130 if i < 3 else 90
            c.box(50 + i * 132, top, width, 42, "a" if i == 1 else "paper", f"tile {i}")
    c.arrow((247, 66), (247, 84))
    c.arrow((247, 128), (247, 146))
    c.box(600, 64, 100, 62, "b", "block 1|x + y", radius=6)
    c.text(600, 150, "blocks 0, 2 and 3", "small note")
    c.text(600, 166, "do the same for", "small note")
    c.text(600, 182, "their tiles", "small note")
    return c


def softmax_rows() -> Canvas:
    """Draw the traffic of a softmax by steps and of one kernel."""
    c = Canvas(720, 270, "Softmax by steps reads and writes memory five times, one kernel twice")
    c.text(20, 26, "by steps: each one reads and writes memory", "strong")
    for i, step in enumerate(("max", "x - max", "exp", "sum", "e / sum")):
        x = 20 + i * 138
        c.box(x, 40, 100, 36, "e", step, code=True, radius=4)
        c.box(x, 98, 100, 26, "paper", "memory", radius=2)
        c.arrow((x + 34, 97), (x + 34, 77))
        c.arrow((x + 66, 77), (x + 66, 97))
    c.text(20, 164, "one kernel: a row stays in the block from the load to the store", "strong")
    c.box(20, 180, 652, 36, "c", "load   max   x - max   exp   sum   e / sum   store", code=True,
          radius=4)  # fmt: skip
    c.box(20, 236, 652, 26, "paper", "memory")
    c.arrow((56, 235), (56, 217))
    c.arrow((630, 217), (630, 235))
    return c


def matmul_blocks() -> Canvas:
    """Draw the tiles of the operands that one tile of a matrix product needs."""
    c = Canvas(720, 330, "A tile of z needs a row of tiles of x and a column of tiles of y")
    side = 34
    c.text(330, 20, "y", "code strong")
    for k in range(4):
        for n in range(4):
            c.box(350 + n * side, 10 + k * side, side, side, "b" if n == 2 else "paper")
    c.text(130, 172, "x", "code strong")
    for m in range(4):
        for k in range(4):
            c.box(150 + k * side, 160 + m * side, side, side, "a" if m == 1 else "paper")
    for m in range(4):
        for n in range(4):
            c.box(350 + n * side, 160 + m * side, side, side, "c" if (m, n) == (1, 2) else "paper")
    c.text(498, 172, "z", "code strong")
    c.arrow((288, 160 + 1.5 * side), (348 + 2 * side, 160 + 1.5 * side))
    c.arrow((350 + 2.5 * side, 148), (350 + 2.5 * side, 192))
    c.text(150, 320, "for k: load (m, k)", "code small")
    c.text(500, 60, "for k: load (k, n)", "code small")
    c.text(500, 210, "the sum stays in the block", "note")
    c.text(500, 228, "until the loop ends;", "note")
    c.text(500, 246, "z.store(acc) writes it once", "note")
    return c


def online_softmax() -> Canvas:
    """Draw the loop of attention over tiles of keys, and what it carries."""
    c = Canvas(720, 270, "Attention in one pass: a block of queries visits all tiles of keys")
    c.box(20, 90, 110, 70, "a", "64 queries|of one head", radius=6)
    for j in range(4):
        x = 190 + j * 96
        c.box(x, 30, 84, 40, "b", f"keys {j}", radius=4)
        c.box(x, 180, 84, 40, "d", f"values {j}", radius=4)
        c.box(x, 100, 84, 50, "paper", "scores|exp", radius=4)
        c.arrow((x + 42, 70), (x + 42, 99))
        c.arrow((x + 42, 180), (x + 42, 151))
        if j < 3:
            c.arrow((x + 84, 125), (x + 95, 125))
    c.arrow((130, 125), (188, 125))
    c.arrow((562, 125), (600, 125))
    c.box(602, 92, 104, 66, "c", "acc / total", code=True, radius=6)
    c.text(190, 248, "carried from step to step: the maximum, the sum, and the weighted values",
           "note")  # fmt: skip
    c.text(190, 266, "of the rows so far; no matrix of scores is stored", "note")
    return c


def layer_norm() -> Canvas:
    """Draw which block of LayerNorm's kernels reduces along rows, and which along columns."""
    c = Canvas(720, 270, "LayerNorm: the forward pass and dx work on rows, dw and db on columns")
    for left, title, kind in ((20, "forward, and dx: a block has rows", "row"),
                              (390, "dw and db: a block has columns", "column")):  # fmt: skip
        c.text(left, 26, title, "strong")
        for i in range(6):
            for j in range(8):
                own = (i // 2 == 1) if kind == "row" else (j // 2 == 1)
                c.box(left + j * 30, 40 + i * 26, 30, 26, "a" if own else "paper")
    c.arrow((262, 105), (300, 105))
    c.text(268, 96, "mean", "small note")
    c.box(302, 92, 50, 26, "c")
    c.arrow((465, 198), (465, 222))
    c.box(450, 224, 60, 22, "c")
    c.text(520, 240, "one sum per column", "small note")
    c.text(20, 226, "A row is read once, and its mean and variance", "note")
    c.text(20, 244, "never leave the block.", "note")
    return c


def witnesses() -> Canvas:
    """Draw threads, their witnesses, and the elements that they may write and read."""
    c = Canvas(720, 230, "SIMT: each thread writes the element of its witness and reads any other")
    for t in range(8):
        x = 150 + t * 66
        c.box(x, 20, 56, 40, "a", f"thread|{t}", radius=6)
        c.arrow((x + 28, 60), (x + 28, 88))
        c.box(x, 90, 56, 30, "c", f"out[{t}]", code=True)
        c.box(x, 170, 56, 30, "paper", f"x[{t}]", code=True)
    c.text(20, 44, "simt.index_1d()", "code small")
    c.text(20, 110, "DisjointSlice", "code small")
    c.text(20, 190, "Slice", "code small")
    for t, to in ((1, 4), (2, 0), (6, 6)):
        c.arrow((150 + to * 66 + 28, 169), (150 + t * 66 + 28, 122), dashed=True)
    words = "reads: any index, checked. writes: the witness alone, which no other thread has"
    c.text(150, 222, words, "small note")
    return c


def pipeline() -> Canvas:
    """Draw three batches whose copies and kernels overlap on streams."""
    c = Canvas(720, 230, "Three batches: the copy of one overlaps with the kernels of another")
    c.text(20, 26, "one after the other", "strong")
    for i in range(3):
        for j, (kind, label) in enumerate((("a", "in"), ("b", "run"), ("c", "out"))):
            c.box(20 + (i * 3 + j) * 74, 36, 72, 30, kind, f"{label} {i}", radius=3)
    c.text(20, 106, "started together: await asyncio.gather(...)", "strong")
    for i in range(3):
        for j, (kind, label) in enumerate((("a", "in"), ("b", "run"), ("c", "out"))):
            c.box(20 + (i + j) * 74, 116 + i * 34, 72, 30, kind, f"{label} {i}", radius=3)
    c.line((20 + 5 * 74, 110), (20 + 5 * 74, 222), kind="edge none dash")
    c.text(20 + 5 * 74 + 8, 200, "finished earlier: batches share no memory,", "note")
    c.text(20 + 5 * 74 + 8, 218, "so their streams do not wait for each other", "note")
    return c


def graph_replay() -> Canvas:
    """Draw launches one by one, and a graph that is captured once and replayed."""
    c = Canvas(720, 230, "A graph is captured once; a replay is one call")
    c.text(20, 26, "launches: the host prepares each one", "strong")
    for i in range(6):
        c.box(20 + i * 112, 38, 60, 28, "e", "host", radius=3)
        c.box(82 + i * 112, 38, 44, 28, "c", "run", radius=3)
    c.text(20, 104, "captured once", "strong")
    c.box(20, 116, 150, 34, "b", "op.graph()", code=True, radius=4)
    c.arrow((170, 133), (208, 133))
    for i in range(6):
        c.box(210 + i * 52, 118, 44, 30, "c", "run", radius=3)
    c.text(20, 184, "replayed", "strong")
    for k in range(2):
        x = 20 + k * 340
        c.box(x, 194, 52, 28, "e", "host", radius=3)
        for i in range(6):
            c.box(x + 56 + i * 44, 194, 42, 28, "c", "run", radius=3)
    return c


def shared_memory() -> Canvas:
    """Draw one buffer that NumPy, PyTorch and JAX objects and a tensor look at."""
    c = Canvas(720, 210, "Arrays of other libraries are used where they are: nothing is copied")
    for x, label, kind in ((20, "numpy.ndarray", "a"), (190, "torch.Tensor", "b"),
                           (360, "jax.Array", "d"), (530, "cupy.ndarray", "e")):  # fmt: skip
        c.box(x, 20, 150, 40, kind, label, code=True, radius=6)
        c.arrow((x + 75, 60), (x + 75, 98))
    c.box(20, 100, 660, 36, "paper", "the memory, owned by the library that made it")
    c.box(190, 168, 320, 36, "c", "kernel(out.partition_mut(...), x)", code=True, radius=6)
    c.arrow((350, 167), (350, 138))
    c.text(530, 190, "reads and writes in place", "note")
    return c


def stencil() -> Canvas:
    """Draw the tile of a block and the shifted tiles that it loads."""
    c = Canvas(720, 230, "A stencil: the tile of a block, and the tile shifted by one row")
    side = 22
    for i in range(8):
        for j in range(12):
            own, above = 2 <= i < 6 and 4 <= j < 8, 1 <= i < 5 and 4 <= j < 8
            c.box(30 + j * side, 20 + i * side, side, side, "a" if own else "paper")
            if above and not own:
                c.box(30 + j * side, 20 + i * side, side, side, "b")
    c.box(30 + 4 * side, 20 + 2 * side, 4 * side, 4 * side, "none", bold=True)
    c.box(30 + 4 * side, 20 + side, 4 * side, 4 * side, "none", dashed=True)
    c.text(330, 60, "out.store(...)", "code")
    c.text(330, 80, "the block's own tile, framed", "note")
    c.text(330, 120, "x.load_at((i * BM - 1, j * BN), (BM, BN), padding=0)", "code")
    c.text(330, 140, "the tile that starts one row above, dashed", "note")
    c.text(330, 170, "padding= says what lies outside of the tensor", "note")
    return c


def pages() -> Canvas:
    """Draw a table of page numbers that leads to pages of keys anywhere in a pool."""
    c = Canvas(720, 210, "Paged attention: a table says where the pages of a sequence are")
    c.text(20, 30, "tokens of one sequence", "strong")
    for i in range(4):
        c.box(20 + i * 110, 42, 104, 34, "abcd"[i], f"page {i}", radius=3)
    c.text(20, 112, "table", "strong")
    places = (5, 1, 6, 2)
    for i, page in enumerate(places):
        c.box(80 + i * 60, 96, 56, 26, "abcd"[i], str(page), code=True)
    c.text(20, 164, "pool", "strong")
    for p in range(8):
        kind = "abcd"[places.index(p)] if p in places else "paper"
        c.box(80 + p * 76, 146, 72, 34, kind, f"{p}", code=True)
    words = "pages.load_tile((1, PAGE, D), [number, 0, 0]): a number out of range is an error"
    c.text(80, 202, words, "small note")
    return c


PICTURES: dict[str, Callable[[], Canvas]] = {
    each.__name__: each
    for each in (
        vector_add, softmax_rows, matmul_blocks, online_softmax, layer_norm, witnesses, pipeline,
        graph_replay, shared_memory, stencil, pages,
    )
}  # fmt: skip
