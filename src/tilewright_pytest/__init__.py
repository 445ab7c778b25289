"""The pytest plugin of Tilewright: fixtures for tests of kernels.

pytest loads it wherever Tilewright is installed, so it imports nothing of Tilewright: a fixture
does, when a test asks for it.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tilewright.base.dtypes import AnyDType
    from tilewright.devices.null import NullDevice
    from tilewright.devices.protocol import Device
    from tilewright.tensors.tensor import Tensor

DEVICES = ("cpu", "reference", "cuda")
"""The devices of `tilewright_device` unless something else is said; `cuda` where there is a GPU."""

MARKER = "tilewright_devices"
OF_NEVER_RUN = "was never run"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting that name devices."""
    text = "devices of the fixture tilewright_device, such as cpu,reference"
    parser.getgroup("tilewright").addoption("--tilewright-devices", default="", help=text)
    parser.addini(MARKER, text, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    text = f"{MARKER}(name, ...): devices that the test runs on, by tilewright_device"
    config.addinivalue_line("markers", text)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that uses `tilewright_device` once for each device."""
    if "tilewright_device" not in metafunc.fixturenames:
        return
    said: str = metafunc.config.getoption("--tilewright-devices") or metafunc.config.getini(MARKER)
    names = [name.strip() for name in said.split(",") if name.strip()] or DEVICES
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is not None:
        named = said and [name for name in marker.args if name in names]
        names = marker.args if not said else named
    metafunc.parametrize("tilewright_device", names, indirect=True)


@pytest.fixture
def tilewright_device(request: pytest.FixtureRequest) -> Generator[Device, None, None]:
    """Make each device the default one in turn: the CPU, the reference, and a GPU if there is one.

    `--tilewright-devices cpu,reference` or the setting `tilewright_devices` name others, and
    `@pytest.mark.tilewright_devices("cpu")` those of one test.
    """
    import tilewright as tw

    try:
        block = tw.device(request.param)
        device = block.__enter__()
    except tw.DeviceError as error:
        if request.param == "cuda":
            pytest.skip(f"no GPU: {error.message}")
        raise
    try:
        yield device
        device.synchronize()
    finally:
        block.__exit__(None, None, None)


@pytest.fixture
def null_device() -> Generator[NullDevice, None, None]:
    """Make the null device the default one: it records enqueued work and runs nothing.

    `null_device.entries` is the recorded work; between `hold()` and `release()` nothing passes, so
    tests can inspect work in flight; after `defer()` work passes where the program waits for it.
    Two conflicting uses of memory without an order between them fail the test.
    """
    import tilewright as tw
    from tilewright.devices.host import NULL
    from tilewright.devices.null import HappensBefore

    NULL.entries.clear()
    NULL.order = HappensBefore()
    with tw.device(NULL):
        yield NULL
    races = list(map(str, NULL.races))
    NULL.release()
    NULL.synchronize()
    NULL.entries.clear()
    assert not races, races


@pytest.fixture
def poisoned() -> Callable[..., Tensor[Any]]:
    """Create tensors full of NaN, or of bytes 0xAB: `poisoned((4, 4))`, `poisoned(8, tw.i32)`.

    What a kernel leaves unwritten in such an output is far from every expected value.
    """
    import tilewright as tw
    from tilewright.testing import poison

    def make(shape: Any, dtype: AnyDType = tw.f32) -> Tensor[Any]:
        return poison(tw.zeros(shape, dtype).sync())

    return make


@pytest.fixture
def assert_close() -> Callable[..., None]:
    """Give `tilewright.testing.assert_close`, whose bounds follow from the element type."""
    from tilewright import testing

    return testing.assert_close


@pytest.fixture
def no_leaks() -> Generator[None, None, None]:
    """Fail a test behind which memory of a device stays in use, or an op was never run.

    Put it first among the fixtures, so that the others have let go of theirs. What the whole module
    keeps is no leak if it was there before.
    """
    import tilewright as tw

    def in_use() -> dict[str, int]:
        gc.collect()
        pools = {d.name: getattr(d, "pool", None) for d in tw.devices() if d.name != "null"}
        return {name: pool.stats().used for name, pool in pools.items() if pool is not None}

    before = in_use()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
        after = in_use()
    for each in heard:
        if OF_NEVER_RUN not in str(each.message):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    lost = [str(each.message) for each in heard if OF_NEVER_RUN in str(each.message)]
    assert not lost, "\n".join(lost)
    more = {name: used - before.get(name, 0) for name, used in after.items()}
    left = {name: used for name, used in more.items() if used > 0}
    said = ", ".join(f"{used} bytes of {name}" for name, used in left.items())
    assert not left, f"memory stays in use: {said}"
