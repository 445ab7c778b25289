"""Make the index of the examples: one row each, with what it shows and a picture.

    python tools/book/gallery.py

writes examples/README.md, which a test compares with what this module makes.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
INDEX = EXAMPLES / "README.md"

TOPICS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "First kernels": (
        "vector_add", "A kernel per element, its tiles and its launch.",
        ("hello_world", "vector_add", "saxpy", "pointer_add", "inter_module", "activations"),
    ),
    "Rows": (
        "softmax_rows", "Whole rows stay in a block: each is read and written once.",
        ("softmax", "rms_norm", "dropout"),
    ),
    "Matrix products": (
        "matmul_blocks", "From one tile per block to blocks that visit many tiles.",
        ("gemm", "batch_matmul", "persistent_gemm", "split_k_gemm", "grouped_gemm"),
    ),
    "Attention": (
        "online_softmax", "All keys in one pass, without a matrix of scores.", ("flash_attention",),
    ),
    "Threads": (
        "witnesses", "Kernels for one thread, and what threads of a block do together.",
        ("histogram", "block_reduction", "simt_gemm", "tile_to_simt", "tile_to_simt_from_ptx"),
    ),
    "Ops, chains and async": (
        "pipeline", "Lazy ops, chains, and work that overlaps.",
        ("and_then", "async_add", "async_saxpy", "async_gemm", "async_mlp", "custom_device_op",
         "error_handling"),
    ),
    "Graphs": (
        "graph_replay", "Work that is recorded once and replayed.",
        ("decoder", "cuda_graphs", "cuda_graphs_deviceop"),
    ),
    "Other libraries": (
        "shared_memory", "The same memory in PyTorch, JAX, Triton and CUDA C++.",
        ("interop/torch_softmax", "interop/torch_rms_norm", "interop/jax_softmax",
         "interop/triton_softmax", "interop/cuda_scale"),
    ),
    "Several devices and processes": (
        "streams", "Tensors in pieces, collectives, and tasks on a cluster.",
        ("distributed/layers", "distributed/mlp", "distributed/tensor_parallel",
         "distributed/sweep"),
    ),
    "All at once": ("tiles", "Several kernels, each checked against NumPy.", ("demo",)),
}  # fmt: skip
"""Topics with their picture, what they show, and their examples in reading order."""


HEAD = """# Examples

Each example is a program that checks its results against NumPy. The package contains them, so
their names are enough:

```text
tilewright run softmax
tilewright run --device reference gemm
```

Those of the topic "Other libraries" need the library that they are about.
`python tools/book/gallery.py` writes this page.
"""


def summary(name: str) -> str:
    """Return the first sentence of an example's docstring."""
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").splitlines()[0]


def names() -> set[str]:
    """Return every example that there is, relative to the folder."""
    return {str(path.relative_to(EXAMPLES).with_suffix("")) for path in EXAMPLES.rglob("*.py")}


def index() -> str:
    """Return the text of examples/README.md."""
    parts = [HEAD]
    for topic, (picture, about, listed) in TOPICS.items():
        shown = f"![{topic}](../docs/pictures/{picture}.svg)"
        parts += [f"## {topic}\n", f"{about}\n", f"{shown}\n"]
        rows = [f"| [{name}]({name}.py) | {summary(name)} |" for name in listed]
        parts.append("\n".join(["| example | |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def source_page(name: str) -> str:
    """Return the page of the book that shows one example."""
    code = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    short = name.rsplit("/", 1)[-1]
    command = f"```text\ntilewright run {short}\n```"
    return f"# {short}\n\n{summary(name)}\n\n{command}\n\n```python\n{code}```\n"


def write() -> None:
    """Write the index."""
    INDEX.write_text(index(), encoding="utf-8")


if __name__ == "__main__":
    write()
