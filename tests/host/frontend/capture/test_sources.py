"""Finding the source of functions: files, notebooks, doctests, made text, and functions without."""

from __future__ import annotations

import ast
import doctest
import gc
import inspect
import itertools
import linecache
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.kernels import ir_of, out, run
from tilewright.base.dtypes import f32
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.capture.sources import execute, function_source

TWO_ON_A_LINE = (lambda x: x + 1, lambda x: x + 2)


def test_a_function_is_found_with_its_columns():
    def local(a):
        return a * 2

    source = function_source(local)
    assert isinstance(source.node, ast.FunctionDef)
    assert source.file.line(source.node.lineno).strip() == "def local(a):"
    returned = source.span(source.node.body[0])
    assert source.file.line(returned.line)[returned.column :] == "return a * 2"


@pytest.mark.parametrize("k", [0, 1])
def test_lambdas_on_one_line_are_told_apart(k):
    node = function_source(TWO_ON_A_LINE[k]).node
    assert ast.unparse(node.body) == f"x + {k + 1}"


def test_executed_source_can_be_compiled():
    names = execute("def double(t):\n    return t + t\n")
    double = names["double"]

    def kernel(z: tl.TensorMut[f32]) -> None:
        z.store(double(z.load()))

    z = np.arange(4, dtype="f4")
    run(ir_of(kernel, out((4,))), z)
    assert z.tolist() == [0, 2, 4, 6]


def test_plain_exec_has_no_source():
    names: dict = {}
    exec("def hidden(t):\n    return t", names)
    with pytest.raises(CompileError) as caught:
        function_source(names["hidden"])
    assert caught.value.code is Code.SOURCE
    assert "tw.exec" in caught.value.hint


def test_text_given_by_hand_is_used():
    names: dict = {}
    text = "def hidden(t):\n    return t + 1"
    exec(text, names)
    assert ast.unparse(function_source(names["hidden"], text).node.body[0]) == "return t + 1"


def test_builtins_have_no_source():
    with pytest.raises(CompileError, match="not a Python function"):
        function_source(len)


# --- files that are edited while the program runs ----------------------------------------------

FILE = """\
import tilewright as tw
import tilewright.lang as tl

def helper(t):
    return t + 1.0

@tw.entry
def kernel(z: tl.TensorMut) -> None:
    z.store(helper(z.load()))
"""


class Edited:
    """A module in a file, which is written again before it is imported again, or without that."""

    def __init__(self, folder: Path) -> None:
        self.path, self.names = folder / "edited.py", {"__name__": "edited"}

    def write(self, text: str) -> None:
        self.path.write_text(text)

    def load(self) -> None:
        exec(compile(self.path.read_text(), str(self.path), "exec"), self.names)

    def launched(self) -> list[float]:
        with tw.device("reference"):
            z = tw.zeros((2,)).partition((2,))
            return self.names["kernel"](z).out().to_numpy().sync().tolist()


@pytest.fixture
def edited(tmp_path):
    module = Edited(tmp_path)
    module.write(FILE)
    module.load()
    return module


@pytest.mark.parametrize("above", ["", "# a line more\n" * 3])
def test_a_file_that_is_edited_and_imported_again(edited, above):
    assert edited.launched() == [1, 1]
    edited.write(above + FILE.replace("+ 1.0", "+ 10.0").replace("z.load()", "z.load() + 5.0"))
    edited.load()
    assert edited.launched() == [15, 15]


def test_a_file_that_is_edited_and_not_imported_again(edited):
    before = edited.names["kernel"]
    edited.write("# further down\n" + FILE.replace("+ 1.0", "+ 10.0"))
    assert edited.launched() == [1, 1]
    edited.load()
    assert edited.launched() == [10, 10]
    edited.names["kernel"] = before
    assert edited.launched() == [10, 10], "the name of the helper means another function now"


def test_functions_of_an_older_text_are_still_found(edited):
    old = edited.names["helper"]
    function_source(old)
    for k in range(3):
        edited.write("\n" * k + FILE.replace("1.0", f"{k}.5"))
        edited.load()
        assert edited.launched() == [k + 0.5] * 2
    assert ast.unparse(function_source(old).node.body[0]) == "return t + 1.0"


def test_a_file_that_is_gone_or_broken_is_remembered(edited):
    assert edited.launched() == [1, 1]
    edited.write("def helper(t:\n")
    assert ast.unparse(function_source(edited.names["helper"]).node.body[0]) == "return t + 1.0"
    edited.path.unlink()
    assert ast.unparse(function_source(edited.names["helper"]).node.body[0]) == "return t + 1.0"


# --- what is given by hand ---------------------------------------------------------------------

FILL = "def fill(z: tl.TensorMut) -> None:\n    z.store(tl.full(z.shape, 3, z.dtype))\n"


def hidden(text=FILL):
    """A function made by plain exec, which Python cannot show."""
    names = {"tl": tl}
    exec(text, names)
    return names["fill"]


def filled(kernel):
    with tw.device("reference"):
        return kernel(tw.zeros((8,)).partition((4,))).out().to_numpy().sync().tolist()


@pytest.mark.parametrize(
    "text",
    [
        FILL,
        f"\n\n# further down\n{FILL}",
        "".join(f"        {line}\n" for line in FILL.splitlines()),
        f"@tw.entry(\n    unsafe=False\n)\n{FILL}",
        f"def other():\n    pass\n\n{FILL}",
    ],
)
def test_a_kernel_takes_its_text_by_hand(text):
    assert filled(tw.entry(source=text)(hidden())) == [3] * 8


def test_text_by_hand_is_what_messages_show():
    wrong = FILL.replace("3", "three")
    with pytest.raises(CompileError) as caught:
        filled(tw.entry(source=wrong)(hidden(wrong)))
    assert "2 |     z.store(tl.full(z.shape, three, z.dtype))" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def fill(z:", "the source given for `fill` is not Python"),
        ("x = 1", "the source given for `fill` must define it exactly once"),
        (f"\n{FILL}\n{FILL}", "the source given for `fill` must define it exactly once"),
    ],
)
def test_text_by_hand_that_does_not_fit(text, message):
    with pytest.raises(CompileError) as caught:
        tw.entry(source=text)(hidden())
    assert caught.value.code is Code.SOURCE
    assert caught.value.message == message


def test_the_text_of_a_method_will_do():
    class Holder:
        def fill(z: tl.TensorMut) -> None:  # noqa: N805
            z.store(tl.full(z.shape, 3, z.dtype))

    text = inspect.getsource(Holder.fill)
    assert filled(tw.entry(source=text)(hidden())) == [3] * 8


def test_kernels_of_executed_source():
    source = f"import tilewright as tw\nimport tilewright.lang as tl\n\n@tw.entry\n{FILL}"
    first, second = tw.exec(source), tw.exec(source.replace("3", "4"))
    linecache.checkcache()
    assert filled(first["fill"]) == [3] * 8
    assert filled(second["fill"]) == [4] * 8


# --- notebooks ---------------------------------------------------------------------------------


class Notebook:
    """Runs cells as IPython does: each is a file of its own that only linecache knows."""

    def __init__(self):
        self.names = {"__name__": "__main__"}
        self.count = itertools.count(1)

    def run(self, cell):
        name = f"<ipython-input-{next(self.count)}-{abs(hash(cell)):x}>"
        lines = [line + "\n" for line in cell.splitlines()]
        linecache.cache[name] = (len(cell), None, lines, name)
        *statements, last = ast.parse(cell).body
        exec(compile(ast.Module(statements, []), name, "exec"), self.names)
        if isinstance(last, ast.Expr):
            return eval(compile(ast.Expression(last.value), name, "eval"), self.names)
        exec(compile(ast.Module([last], []), name, "exec"), self.names)
        return None


IMPORTS = "import numpy as np\nimport tilewright as tw\nimport tilewright.lang as tl"
HELPER = "def scaled(t):\n    return t * 2.0"
KERNEL = """\
scale = 10.0

@tw.entry
def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(scaled(tl.load_tile_like(x, z)) + scale)
"""
LAUNCH = """\
x = np.arange(4, dtype=np.float32)
with tw.device("reference"):
    z = tw.zeros((4,)).sync()
kernel(z.partition_mut((4,)), x).sync()
z.to_numpy().tolist()
"""


@pytest.fixture
def notebook():
    notebook = Notebook()
    notebook.run(IMPORTS)
    return notebook


def test_cells_define_kernels_and_functions(notebook):
    notebook.run(HELPER)
    notebook.run(KERNEL)
    assert notebook.run(LAUNCH) == [10, 12, 14, 16]


def test_cells_run_again(notebook):
    for cell in (HELPER, KERNEL, LAUNCH):
        notebook.run(cell)
    notebook.run(HELPER.replace("2.0", "3.0"))
    assert notebook.run(LAUNCH) == [10, 13, 16, 19]
    notebook.run("scale = 0.0")
    assert notebook.run(LAUNCH) == [0, 3, 6, 9]
    notebook.run(KERNEL.replace("+ scale", "- scale"))
    assert notebook.run(LAUNCH) == [-10, -7, -4, -1]
    linecache.checkcache()
    assert notebook.run(LAUNCH) == [-10, -7, -4, -1]
    reasons = notebook.run("kernel.explain_recompile()")
    assert len(reasons.splitlines()) == 1


def test_messages_show_the_cell(notebook):
    notebook.run(HELPER.replace("2.0", "two"))
    notebook.run(KERNEL)
    with pytest.raises(CompileError) as caught:
        notebook.run(LAUNCH)
    text = str(caught.value)
    assert "unknown name `two`" in text
    assert "--> <ipython-input-2-" in text
    assert "2 |     return t * two" in text
    assert "in `scaled`, called at <ipython-input-3-" in text


def test_lambdas_of_a_cell(notebook):
    notebook.run("scaled, scale = (lambda t: t * 5.0), 1.0")
    notebook.run(KERNEL.replace("scale = 10.0", ""))
    assert notebook.run(LAUNCH) == [1, 6, 11, 16]


# --- doctests and other interpreters -----------------------------------------------------------

DOCTEST = """
>>> import numpy as np
>>> import tilewright as tw
>>> import tilewright.lang as tl

>>> def twice(t):
...     return t + t

>>> @tw.entry
... def kernel(z: tl.TensorMut, x: tl.Tensor) -> None:
...     print("sum", tl.reduce_sum(twice(tl.load_tile_like(x, z)), 0))
...     z.store(twice(tl.load_tile_like(x, z)))

>>> with tw.device("reference"):
...     z = tw.zeros((4,)).sync()
>>> _ = kernel(z.partition_mut((4,)), np.arange(4, dtype="f4")).sync()
sum 12.0
>>> z.to_numpy()
array([0., 2., 4., 6.], dtype=float32)

>>> @tw.entry
... def wrong(z: tl.TensorMut) -> None:
...     z.store(missing)
>>> try:
...     wrong(z.partition_mut((4,))).sync()
... except tw.CompileError as error:
...     print(error)
[unknown-name] unknown name `missing`
  --> <doctest page[8]>:3:13
  |
3 |     z.store(missing)
  |             ^^^^^^^
"""


def test_doctests():
    parsed = doctest.DocTestParser().get_doctest(DOCTEST, {}, "page", "page.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    texts = []
    runner.run(parsed, out=texts.append)
    assert runner.summarize(verbose=False) == (0, len(parsed.examples)), "".join(texts)


def python(*options, program):
    """What another interpreter prints for a program, and what it complains about."""
    environment = {"PYTHONPATH": str(Path(tw.__file__).parent.parent), "PATH": ""}
    done = subprocess.run(
        [sys.executable, *options], input=program, text=True, capture_output=True, check=False,
        env=environment,
    )  # fmt: skip
    return done.stdout, done.stderr


PROGRAM = f"""{IMPORTS}
{HELPER}

{KERNEL}
{LAUNCH.replace("z.to_numpy().tolist()", "print(z.to_numpy().tolist())")}
"""


def test_a_script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(PROGRAM)
    assert python(str(path), program="") == ("[10.0, 12.0, 14.0, 16.0]\n", "")


def test_a_program_from_the_standard_input():
    """Python itself keeps such a text from 3.13 on; before, the message names ways that work."""
    out, complaint = python("-", program=PROGRAM)
    if out:
        assert out == "[10.0, 12.0, 14.0, 16.0]\n"
    else:
        assert "the source of `kernel` cannot be found" in complaint
        assert "tw.exec(source)" in complaint


def test_threads_parse_at_the_same_time():
    """A garbage collector that runs Python lets other threads in where one is parsing."""

    def in_python(phase, info):
        sum(range(50))

    gc.callbacks.append(in_python)
    lines = "".join(f"    y{i} = [((x + {i}) * (2 - x)) for z in (1, 2, 3)]\n" for i in range(150))
    texts = [f"def local(x):\n    return {i}\n{lines}" for i in range(16)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda text: function_source(local, text).node, texts))
    finally:
        sys.setswitchinterval(before)
        gc.callbacks.remove(in_python)
    assert [node.body[0].value.value for node in found] == list(range(16))


def local(x):
    """What the texts of the test above stand for."""


def test_other_failures_of_python_are_told(monkeypatch):
    def parse(text):
        raise SystemError("something else")

    monkeypatch.setattr(ast, "parse", parse)
    with pytest.raises(SystemError, match="something else"):
        function_source(local, "def local(x): pass")
