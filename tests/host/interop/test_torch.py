from __future__ import annotations

import gc
import importlib.util
import itertools
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch")

import tilewright as tw
from host.interop.kernels import (
    many_numbers,
    refuse_negative,
    scale,
    softmax,
    sum_and_difference,
    whole_rows,
)
from source_tree import ROOT
from tilewright import simt
from tilewright.interop.torch import custom_op, refuse_unloaded

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

_numbers = itertools.count()


def named(name):
    """Each operator of the process has a name of its own."""
    return f"tilewright_tests::{name}_{next(_numbers)}"


@pytest.fixture(scope="module")
def soft():
    return custom_op(named("softmax"), softmax, tiles=whole_rows, outputs="x")


@pytest.fixture(scope="module")
def scale_():
    return custom_op(named("scale"), scale, tiles=(256,))


SHAPES = [(0, 5), (1, 1), (3, 7), (4, 8), (5, 9), (37, 1009)]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_operator_that_makes_its_result(soft, shape):
    x = torch.randn(shape)
    torch.testing.assert_close(soft(x), torch.softmax(x, 1))
    torch.testing.assert_close(soft(x=x.T.contiguous().T), torch.softmax(x, 1))


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 1009])
def test_an_operator_that_writes_its_output(scale_, n):
    z, x = torch.full((n,), torch.nan), torch.randn(n)
    assert scale_(z, x, 2.5) is None
    torch.testing.assert_close(z, x * 2.5)


def test_strided_tensors_are_used_in_place(scale_):
    z, x = torch.zeros(2, 10).T, torch.randn(10, 3)
    scale_(z[:, 1], x[:, 2], 2.0)
    torch.testing.assert_close(z, torch.stack([torch.zeros(10), x[:, 2] * 2], 1))


def test_the_schema_is_the_kernel_s(soft, scale_):
    assert soft.schema == "(Tensor x) -> Tensor"
    assert scale_.schema == "(Tensor(a0!) z, Tensor x, float factor) -> ()"
    two = custom_op(named("two"), sum_and_difference, tiles=(64,), outputs="x")
    assert two.schema == "(Tensor x, Tensor y) -> (Tensor, Tensor)"
    both = custom_op(named("two"), sum_and_difference, tiles={"s": (64,), "d": (64,)})
    assert both.schema == "(Tensor(a0!) s, Tensor(a1!) d, Tensor x, Tensor y) -> ()"
    many = custom_op(named("many"), many_numbers, tiles=64, constants={"TWICE": True})
    assert many.schema == "(Tensor(a0!) z, float a, SymInt n, bool flag, Tensor x) -> ()"


def test_several_results_numbers_and_constants():
    two = custom_op(
        named("two"), sum_and_difference, tiles=(64,),
        outputs={"s": "x", "d": lambda x, y: y.new_empty(y.shape)},
    )  # fmt: skip
    x, y = torch.randn(100), torch.randn(100)
    s, d = two(x, y)
    torch.testing.assert_close((s, d), (x + y, x - y))
    for twice in (False, True):
        many = custom_op(
            named("many"), many_numbers, tiles=64, outputs="x", constants={"TWICE": twice}
        )
        found = many(0.5, 3, True, x)
        torch.testing.assert_close(found, (1 + twice) * (x * 0.5 + 3))
        assert many(0.5, 3, False, x).abs().max() == 0


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32", "int8"])
def test_element_types(dtype):
    many = custom_op(named("many"), many_numbers, tiles=64, outputs="x", constants={"TWICE": False})
    x = torch.arange(100).remainder(8).to(getattr(torch, dtype))
    found = many(2.0, 3, True, x)
    assert found.dtype == x.dtype
    torch.testing.assert_close(found, (x * 2 + 3).to(x.dtype))


def test_opcheck(soft, scale_):
    """Schema, autograd registration, tensors without memory, dynamic shapes."""
    torch.library.opcheck(soft.definition, (torch.randn(5, 9),))
    torch.library.opcheck(scale_.definition, (torch.zeros(300), torch.randn(300), 2.0))
    two = custom_op(named("two"), sum_and_difference, tiles=(64,), outputs="x")
    torch.library.opcheck(two.definition, (torch.randn(70), torch.randn(70)))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_programs_call_it(soft, scale_, backend, dynamic):
    torch.compiler.reset()

    def program(x):
        y = soft(x * 2) + 1
        z = torch.empty_like(y)
        scale_(z.view(-1), y.view(-1), 3.0)
        return z

    compiled = torch.compile(program, fullgraph=True, backend=backend, dynamic=dynamic)
    for rows in (3, 5, 8):
        x = torch.randn(rows, 33)
        torch.testing.assert_close(compiled(x), 3 * (torch.softmax(x * 2, 1) + 1))


@pytest.mark.full
def test_compiled_code_calls_it(soft):
    if not importlib.util.find_spec("torch._inductor"):
        pytest.skip("no inductor")
    torch.compiler.reset()
    compiled = torch.compile(lambda x: soft(x) * 2, fullgraph=True)
    x = torch.randn(6, 20)
    try:
        found = compiled(x)
    except torch._dynamo.exc.BackendCompilerFailed as error:
        pytest.skip(f"PyTorch cannot compile here: {str(error).splitlines()[0]}")
    torch.testing.assert_close(found, 2 * torch.softmax(x, 1))


def test_gradients():
    op = custom_op(named("scale"), scale, tiles=(64,), outputs="x")

    def backward(ctx, dz):
        return op(dz, ctx.factor), None

    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    op.register_autograd(backward, setup_context=setup_context)
    x = torch.randn(100, requires_grad=True)
    (op(x, 3.0) * torch.arange(100.0)).sum().backward()
    torch.testing.assert_close(x.grad, 3 * torch.arange(100.0))
    torch.library.opcheck(op.definition, (x, 2.0))


def test_without_gradients_it_says_so(soft):
    x = torch.randn(3, 4, requires_grad=True)
    with pytest.raises(tw.Error, match="`softmax` has no gradient"):
        soft(x).sum().backward()


def test_tensors_that_want_gradients_are_read_in_place(soft):
    x = torch.randn(3, 4, requires_grad=True)
    torch.testing.assert_close(soft(x), torch.softmax(x, 1), check_stride=True)
    with torch.no_grad():
        torch.testing.assert_close(soft(x), torch.softmax(x, 1))


def test_tensors_without_memory(soft):
    found = soft(torch.empty(7, 9, device="meta"))
    assert found.shape == (7, 9) and found.device.type == "meta"


def test_what_a_kernel_refuses():
    op = custom_op(named("refuse"), refuse_negative, tiles=(64,), outputs="x")
    x = torch.rand(64)
    torch.testing.assert_close(op(x), x)
    with pytest.raises(tw.LaunchError, match="negative"):
        op(-x)
    torch.testing.assert_close(op(x), x)


def test_wrong_tensors(scale_):
    x = torch.randn(10)
    with pytest.raises(tw.BorrowError, match="write and read one tensor"):
        scale_(x, x, 2.0)
    with pytest.raises(tw.Error):
        scale_(torch.zeros(10, dtype=torch.float64), x, 2.0)
    scale_(torch.zeros(10), x, 2.0)
    for n in (9, 11):
        with pytest.raises(tw.LaunchError, match="must have the extents of"):
            scale_(torch.zeros(10), torch.randn(n), 2.0)


def test_tensors_that_kernels_cannot_read_are_named(scale_):
    z = torch.zeros(4)
    for x in (torch.ones(4, dtype=torch.complex64), torch.ones(4).to_sparse()):
        with pytest.raises(TypeError, match="`x` of `scale` cannot be used"):
            scale_(z, x, 2.0)


@pytest.fixture
def quick_only(monkeypatch):
    """From now on calls are alike to earlier ones, or fail."""

    def refuse(*args):
        raise AssertionError("somebody looked closer")

    return lambda: monkeypatch.setattr("tilewright.interop.torch.TorchOp._run_closely", refuse)


def warmed(op, *args):
    """The third call of a kind is quick: the first compiles, the second is remembered."""
    for _ in range(2):
        op(*args)


def test_calls_alike_are_quick(soft, scale_, quick_only):
    shapes = [(3, 7), (4, 8), (37, 1009)]
    z = torch.empty(300)
    for shape in shapes:
        warmed(soft, torch.randn(shape))
        warmed(soft, torch.randn(shape[::-1]).T)
    warmed(scale_, z, torch.randn(300), 2.0)
    warmed(scale_, torch.zeros(300, 2)[:, 1], torch.randn(300), 2.0)
    quick_only()
    for shape in shapes:
        for x in (torch.randn(shape), torch.randn(shape[::-1]).T):
            torch.testing.assert_close(soft(x), torch.softmax(x, 1))
            torch.testing.assert_close(soft(x.requires_grad_()), torch.softmax(x, 1))
    for factor in (2.5, -1, 0.0):
        x, out = torch.randn(300), torch.full((300, 2), torch.nan)
        scale_(z, x, factor)
        scale_(out[:, 1], x, factor)
        torch.testing.assert_close(z, x * factor)
        torch.testing.assert_close(out[:, 1], x * factor)
        assert out[:, 0].isnan().all()


def test_what_is_not_alike_is_looked_at(scale_, quick_only):
    x, z = torch.randn(300), torch.zeros(300)
    warmed(scale_, z, x, 2.0)
    used = tw.asarray(z)
    quick_only()
    for given in [(z, x), (torch.zeros(301), x), (torch.zeros(300), x.double())]:
        with pytest.raises(AssertionError, match="looked closer"):
            scale_(*given, 2.0)
    del used
    scale_(z, x, 2.0)
    torch.testing.assert_close(z, x * 2)
    with pytest.raises(AssertionError, match="looked closer"):
        scale_(x[:200], x[100:], 2.0)


def test_lazy_signs(scale_):
    """PyTorch resolves them before it calls us."""
    x, z = torch.complex(torch.randn(300), torch.randn(300)), torch.zeros(300)
    for _ in range(3):
        scale_(z, x.conj().imag, 2.0)
        torch.testing.assert_close(z, -2 * x.imag)


def test_quick_calls_refuse_what_others_do():
    op = custom_op(named("refuse"), refuse_negative, tiles=(64,), outputs="x")
    many = custom_op(named("many"), many_numbers, tiles=64, outputs="x", constants={"TWICE": True})
    x = torch.rand(64)
    warmed(op, x)
    warmed(many, 0.5, 3, True, x)
    for _ in range(2):
        with pytest.raises(tw.LaunchError, match="negative"):
            op(-x)
        with pytest.raises(tw.ShapeError, match="`n` of `many_numbers` is out of range"):
            many(0.5, 1 << 40, True, x)
    torch.testing.assert_close(op(x), x)
    torch.testing.assert_close(many(0.5, 4, True, x), 2 * (x * 0.5 + 4))


def test_quick_calls_from_several_threads(soft):
    inputs = [torch.randn(37, 100) for _ in range(8)]
    warmed(soft, inputs[0])
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            for x, y in zip(inputs, pool.map(soft, inputs), strict=True):
                torch.testing.assert_close(y, torch.softmax(x, 1))


def test_quick_calls_come_after_what_uses_the_memory_here(scale_):
    x, z = torch.randn(1 << 20), torch.zeros(1 << 20)
    warmed(scale_, z, x, 2.0)
    for factor in (2.0, 3.0, 4.0):
        started = scale(tw.asarray(x).partition_mut((1024,)), torch.full((1 << 20,), factor), 1.0)
        kept = started.start()
        scale_(z, x, 2.0)
        assert kept is not None and (z == 2 * factor).all()


def test_nothing_is_kept(soft):
    x = torch.randn(64, 64)
    y = soft(x)
    refs = [weakref.ref(x), weakref.ref(y)]
    del x, y
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_compile_loads_it_without_running():
    op = custom_op(named("refuse"), refuse_negative, tiles=(64,), outputs="x")
    x = -torch.rand(64)
    op.compile(x)
    launch = op.launch(x)
    refuse_unloaded(launch)
    launch.close()


def test_what_is_not_loaded_cannot_be_captured(golden):
    op = custom_op(named("loading"), sum_and_difference, tiles=(32,), outputs="x")
    x = torch.rand(77, dtype=torch.float32)
    launch = op.launch(x, x)
    with pytest.raises(tw.Error) as caught:
        refuse_unloaded(launch)
    golden(str(caught.value))


@simt.kernel
def by_threads(z: simt.DisjointSlice[tw.f32], x: simt.Slice[tw.f32]) -> None:
    i = simt.index_1d()
    if i < len(z) and i < len(x):
        z[i] = x[i]


def test_what_cannot_be_an_operator():
    with pytest.raises(TypeError, match="has a namespace, as in 'mylib::scale'; got 'scale'"):
        custom_op("scale", scale, tiles=(64,))
    for name in ("a b::c", "a::b::c", "::c", "a::", "a::1"):
        with pytest.raises(TypeError, match="has a namespace, as in 'mylib::scale'; got"):
            custom_op(name, scale, tiles=(64,))
    with pytest.raises(TypeError, match=r"is needed, got function `<lambda>`"):
        custom_op(named("lambda"), lambda x: x, tiles=(64,))
    with pytest.raises(TypeError, match="`by_threads` takes its outputs undivided"):
        custom_op(named("threads"), by_threads, tiles=(64,))
    with pytest.raises(TypeError, match="`scale` is a tile kernel: pass the tile shape"):
        custom_op(named("scale"), scale)
    made = custom_op(named("made"), scale, tiles=(64,), outputs=lambda x, factor: 5)
    with pytest.raises(TypeError, match=r"`outputs` of `scale` must return a shape, .*; got 5"):
        made(torch.ones(3), 2.0)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (5, 7), (2, 3, 4), (257,)])
def test_kernels_of_threads_are_operators(shape, quick_only):
    copied, written = custom_op(named("threads"), by_threads, outputs="x"), torch.zeros(shape)
    copy_ = custom_op(named("threads"), by_threads)
    assert copied.schema == "(Tensor x) -> Tensor"
    assert copy_.schema == "(Tensor(a0!) z, Tensor x) -> ()"
    warmed(copied, written)
    warmed(copy_, written, torch.zeros(shape))
    if written.numel():
        quick_only()
    x = torch.randn(shape)
    torch.testing.assert_close(copied(x), x)
    copy_(written, x)
    torch.testing.assert_close(written, x)


def test_operators_of_threads_are_checked():
    copied = custom_op(named("threads"), by_threads, outputs="x")
    torch.library.opcheck(copied.definition, (torch.randn(5, 3),))
    compiled = torch.compile(lambda x: copied(2 * x) + 1, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(torch.ones(3)), torch.full((3,), 3.0))
    with pytest.raises(tw.ShapeError, match="`x` of `by_threads` must be contiguous"):
        copied(torch.randn(4, 4).T)


# --- the shorter way from the dispatcher ---------------------------------------------------------


def test_writes_are_counted(scale_):
    """Else autograd would use a tensor that was saved and then overwritten."""
    z, x = torch.zeros(300), torch.randn(300)
    for _ in range(3):
        before = z._version, x._version
        scale_(z, x, 2.0)
        assert (z._version, x._version) == (before[0] + 1, before[1])
    a = torch.randn(300, requires_grad=True)
    product = a * z
    scale_(z, x, 3.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    with torch.inference_mode():
        inner = torch.zeros(300)
        scale_(inner, x, 2.0)
    scale_(inner, inner + 1, 2.0)
    torch.testing.assert_close(inner, 2 * (2 * x + 1))


class Seeing(torch.utils._python_dispatch.TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func._schema.name)
        return func(*args, **(kwargs or {}))


def test_modes_see_the_operator(soft, scale_):
    x, z = torch.randn(3, 7), torch.zeros(300)
    warmed(soft, x)
    with Seeing() as mode:
        soft(x)
        scale_(z, torch.ones(300), 2.0)
    assert sum("softmax" in name or "scale" in name for name in mode.seen) == 2


class Wrapped(torch.Tensor):
    seen = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen += 1
        return super().__torch_function__(func, types, args, kwargs or {})


def test_subclasses_of_tensors_are_asked(soft):
    x = torch.randn(3, 7)
    warmed(soft, x)
    found = soft(x.as_subclass(Wrapped))
    assert Wrapped.seen and isinstance(found, Wrapped)
    torch.testing.assert_close(found.as_subclass(torch.Tensor), torch.softmax(x, 1))


def test_transforms_of_functions(scale_):
    op = custom_op(named("scale"), scale, tiles=(64,), outputs="x")
    op.register_autograd(lambda ctx, dz: (op(dz, 3.0), None))
    x = torch.randn(4, 9)
    torch.testing.assert_close(torch.vmap(lambda row: op(row, 3.0))(x), 3 * x)
    double = torch.randn(9, dtype=torch.float32, requires_grad=True)
    (first,) = torch.autograd.grad(op(double, 3.0).sum(), double, create_graph=True)
    torch.testing.assert_close(first, torch.full((9,), 3.0))
    torch.testing.assert_close(
        torch.autograd.functional.jacobian(lambda v: op(v, 3.0), x[0]), 3 * torch.eye(9)
    )


def test_compiled_programs_that_are_cut_call_it(soft):
    """What follows a cut runs while PyTorch looks into every function that is called."""
    torch.compiler.reset()

    def program(x):
        y = soft(x)
        torch._dynamo.graph_break()
        return soft(2 * y)

    compiled, x = torch.compile(program, backend="eager"), torch.randn(3, 7)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), torch.softmax(2 * torch.softmax(x, 1), 1))


def test_errors_name_the_line_of_the_program(scale_):
    x = torch.randn(10)
    with pytest.raises(tw.BorrowError) as caught:
        scale_(x, x, 2.0)  # this line
    assert "test_torch.py" in str(caught.value) and "# this line" in str(caught.value)


def test_tensors_of_torch_for_outputs():
    x, z = torch.rand(10), torch.zeros(10)
    with pytest.raises(tw.BorrowError, match=r"another library \(torch.Tensor\)") as caught:
        scale(z, x, 2.0)
    assert "pass tw.asarray(z).partition_mut(tile_shape)" in str(caught.value)
    with pytest.raises(tw.BorrowError) as caught:
        by_threads(z, x)
    assert "pass tw.asarray(z).borrow_mut()" in str(caught.value)
    by_threads(tw.asarray(z).borrow_mut(), x).sync()
    torch.testing.assert_close(z, x)


@pytest.mark.parametrize("outputs", ["y_", {"s": "x"}, {"s": "x", "d": "factor"}])
def test_wrong_outputs(outputs):
    with pytest.raises(
        TypeError, match="`outputs` of `sum_and_difference` says for each of `s`, `d`"
    ):
        custom_op(named("two"), sum_and_difference, tiles=(64,), outputs=outputs)


@pytest.mark.parametrize("name", ["torch_softmax", "torch_rms_norm"])
def test_examples(name, capsys):
    path = ROOT / "examples" / "interop" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"examples_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()
    assert capsys.readouterr().out.startswith(f"{name}: ")
