"""The driver through NVIDIA's package cuda-bindings; through the native core what must be quick."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from ..._core import CUDA_FUNCTIONS, CudaDriver
from .calls import KernelNode, PoolNumbers
from .ptx_log import complaints
from .results import INVALID_PTX, INVALID_VALUE, SUCCESS, CallError, refusal, with_words
from .trial import trial_on

SINCE = 13000
"""The version of the driver's functions that are called."""
PORTABLE, MAPPED = 1, 2
NON_BLOCKING = 1
NO_TIMING = 2
RELAXED = 2
"""Capturing does not keep anybody from allocating or loading code."""
NAME_BYTES = 256


class Bindings:
    """`calls.Calls` of this process; `module` is `cuda.bindings.driver`."""

    def __init__(self, module: Any, library: str) -> None:
        self._module = module
        self._trial = cache(partial(trial_on, library))
        driver = CudaDriver({name: self._address(name) for name in CUDA_FUNCTIONS})
        self.native_driver = driver.address
        self.open_queue, self.close_queue = driver.open_queue, driver.close_queue
        self.launch = driver.launch
        self.idle, self.drain = driver.query_stream, driver.drain
        self.record, self.query = driver.record_event, driver.query_event
        self.await_event, self.await_any = driver.await_event, driver.await_any

    def _ask(self, call: str, *args: Any) -> Any:
        """Call the driver and return its outputs beside the status: none, a value, or several."""
        status, *results = getattr(self._module, call)(*args)
        if int(status) != SUCCESS:
            raise self.describe(call, int(status))
        return results[0] if len(results) == 1 else tuple(results)

    def _address(self, name: str) -> int:
        return int(self._ask("cuGetProcAddress", name.encode(), SINCE, 0)[0])

    def describe(self, call: str, status: int) -> CallError:
        """Return the error for a status, with the driver's description."""
        return refusal(call, status, *describe(self._module, status))

    # devices

    def device_count(self) -> int:
        """Return the number of devices."""
        return int(self._ask("cuDeviceGetCount"))

    def device_name(self, ordinal: int) -> str:
        """Return NVIDIA's name of a device."""
        name: bytes = self._ask("cuDeviceGetName", NAME_BYTES, ordinal)
        return name.split(b"\0")[0].decode(errors="replace")

    def capability(self, ordinal: int) -> tuple[int, int]:
        """Return the compute capability of a device."""
        kinds = self._module.CUdevice_attribute
        major = kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        minor = kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
        found = [int(self._ask("cuDeviceGetAttribute", kind, ordinal)) for kind in (major, minor)]
        return found[0], found[1]

    def total_memory(self, ordinal: int) -> int:
        """Return bytes of memory of a device."""
        return int(self._ask("cuDeviceTotalMem", ordinal))

    def processors(self, ordinal: int) -> int:
        """Return the number of multiprocessors of a device."""
        kind = self._module.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
        return int(self._ask("cuDeviceGetAttribute", kind, ordinal))

    def most_shared(self, ordinal: int) -> int:
        """Return the most bytes of shared memory that a block may use."""
        kinds = self._module.CUdevice_attribute
        kind = kinds.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        return int(self._ask("cuDeviceGetAttribute", kind, ordinal))

    def retain_context(self, ordinal: int) -> int:
        """Return the primary context of a device."""
        return int(self._ask("cuDevicePrimaryCtxRetain", ordinal))

    def current_context(self) -> int:
        """Return the context that is current on this thread."""
        return int(self._ask("cuCtxGetCurrent"))

    def push_context(self, context: int) -> None:
        """Push a context on this thread."""
        self._ask("cuCtxPushCurrent", context)

    def pop_context(self) -> None:
        """Pop the current context."""
        self._ask("cuCtxPopCurrent")

    # memory

    def device_of(self, address: int) -> int:
        """Return the number of the device whose memory contains an address."""
        kind = self._module.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self._ask("cuPointerGetAttribute", kind, address))

    def free_memory(self) -> tuple[int, int]:
        """Return the free bytes and the total bytes of the current device."""
        free, total = self._ask("cuMemGetInfo")
        return int(free), int(total)

    def create_pool(self, ordinal: int) -> int:
        """Return a new memory pool on a device."""
        module = self._module
        wish = module.CUmemPoolProps()
        wish.allocType = module.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        wish.location.type = module.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        wish.location.id = ordinal
        return int(self._ask("cuMemPoolCreate", wish))

    def pool_numbers(self, pool: int) -> PoolNumbers:
        """Return how many bytes of a pool are in use and reserved."""
        kinds = self._module.CUmemPool_attribute
        asked = (
            kinds.CU_MEMPOOL_ATTR_USED_MEM_CURRENT, kinds.CU_MEMPOOL_ATTR_USED_MEM_HIGH,
            kinds.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, kinds.CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
        )  # fmt: skip
        return PoolNumbers(*[int(self._ask("cuMemPoolGetAttribute", pool, a)) for a in asked])

    def set_pool_threshold(self, pool: int, nbytes: int) -> None:
        """Set how many unused bytes a pool keeps."""
        kind = self._module.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        self._ask("cuMemPoolSetAttribute", pool, kind, self._module.cuuint64_t(nbytes))

    def trim_pool(self, pool: int) -> None:
        """Return a pool's unused memory to the device."""
        self._ask("cuMemPoolTrimTo", pool, 0)

    def can_access_peer(self, ordinal: int, peer: int) -> bool:
        """Return whether a device can access the memory of another one directly."""
        return bool(self._ask("cuDeviceCanAccessPeer", ordinal, peer))

    def share_pool(self, pool: int, ordinal: int) -> None:
        """Let another device access the memory of a pool."""
        module = self._module
        access = module.CUmemAccessDesc()
        access.location.type = module.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        access.location.id = ordinal
        access.flags = module.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        self._ask("cuMemPoolSetAccess", pool, [access], 1)

    def allocate(self, nbytes: int, pool: int, stream: int) -> int:
        """Allocate memory from a pool."""
        return int(self._ask("cuMemAllocFromPoolAsync", nbytes, pool, stream))

    def free(self, address: int, stream: int) -> None:
        """Free memory of a pool."""
        self._ask("cuMemFreeAsync", address, stream)

    def allocate_pinned(self, nbytes: int) -> int:
        """Allocate host memory that devices can access."""
        return int(self._ask("cuMemHostAlloc", nbytes, PORTABLE | MAPPED))

    def free_pinned(self, address: int) -> None:
        """Free pinned memory."""
        self._ask("cuMemFreeHost", address)

    # work on streams

    def create_stream(self) -> int:
        """Create a stream that does not wait for the default stream."""
        return int(self._ask("cuStreamCreate", NON_BLOCKING))

    def synchronize(self, stream: int) -> None:
        """Block until all work of a stream is done."""
        self._ask("cuStreamSynchronize", stream)

    def home_of(self, stream: int) -> tuple[int, int]:
        """Return the device of a stream, and its context."""
        ordinal = int(self._ask("cuStreamGetDevice", stream))
        return ordinal, int(self._ask("cuStreamGetCtx", stream))

    def is_captured(self, stream: int) -> bool:
        """Return whether a stream is being captured."""
        return int(self._ask("cuStreamIsCapturing", stream)) != 0

    def create_event(self) -> int:
        """Create an event without timing."""
        return int(self._ask("cuEventCreate", NO_TIMING))

    def create_timer(self) -> int:
        """Return an event that notes the time."""
        return int(self._ask("cuEventCreate", 0))

    def elapsed(self, start: int, end: int) -> float:
        """Return the milliseconds between two timers."""
        return float(self._ask("cuEventElapsedTime", start, end))

    def destroy_event(self, event: int, _: int = 0) -> None:
        """End an event."""
        self._ask("cuEventDestroy", event)

    def wait_event(self, stream: int, event: int) -> None:
        """Make a stream wait for an event."""
        self._ask("cuStreamWaitEvent", stream, event, 0)

    def copy_in(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy pinned memory to a device."""
        self._ask("cuMemcpyHtoDAsync", target, source, nbytes, stream)

    def copy_out(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy memory of a device to pinned memory."""
        self._ask("cuMemcpyDtoHAsync", target, source, nbytes, stream)

    def copy_within(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy memory of a device."""
        self._ask("cuMemcpyDtoDAsync", target, source, nbytes, stream)

    def copy_between(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Copy memory of one device to another; the driver knows them by their addresses."""
        self._ask("cuMemcpyAsync", target, source, nbytes, stream)

    def fill(self, target: int, element: int, itemsize: int, count: int, stream: int) -> None:
        """Write one element over and over."""
        self._ask(f"cuMemsetD{8 * itemsize}Async", target, element, count, stream)

    # code

    def try_out(self, ordinal: int, code: bytes) -> None:
        """Load code in another process."""
        call, status = self._trial(ordinal).attempt(code)
        if status != SUCCESS:
            raise self.describe(call, status)

    def load_module(self, code: bytes) -> int:
        """Load code; of PTX that is not valid, say why."""
        try:
            return int(self._ask("cuModuleLoadData", code))
        except CallError as error:
            if error.status != INVALID_PTX:
                raise
            words = complaints(self._address("cuModuleLoadDataEx"), code)
            raise with_words(error, words) from None

    def unload_module(self, module: int, _: int = 0) -> None:
        """Forget a module."""
        self._ask("cuModuleUnload", module)

    def find_function(self, module: int, name: str) -> int:
        """Return a kernel of a module."""
        return int(self._ask("cuModuleGetFunction", module, name.encode()))

    def function_name(self, function: int) -> str:
        """Return the name of a kernel."""
        name: bytes = self._ask("cuFuncGetName", function)
        return name.decode(errors="replace")

    def kernel_names(self, module: int) -> list[str]:
        """Return the kernels of a module."""
        count = int(self._ask("cuModuleGetFunctionCount", module))
        found: Sequence[Any] = self._ask("cuModuleEnumerateFunctions", count, module)
        return [self.function_name(function) for function in found]

    def parameter_sizes(self, function: int) -> tuple[int, ...] | None:
        """Return the bytes of each parameter of a kernel."""
        sizes: list[int] = []
        while True:
            status, _, nbytes = self._module.cuFuncGetParamInfo(function, len(sizes))
            if int(status) == SUCCESS:
                sizes.append(int(nbytes))
            else:  # there is none of this number, or the driver does not know
                return tuple(sizes) if int(status) == INVALID_VALUE else None

    def allow_shared(self, function: int, nbytes: int) -> None:
        """Allow launches of a kernel with `nbytes` of shared memory."""
        kind = self._module.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._ask("cuFuncSetAttribute", function, kind, nbytes)

    def shared_bytes(self, function: int) -> int:
        """Return bytes that each block of a kernel shares."""
        kind = self._module.CUfunction_attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
        return int(self._ask("cuFuncGetAttribute", kind, function))

    def most_threads(self, function: int) -> int:
        """Return the most threads that a block of a kernel may have."""
        kind = self._module.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
        return int(self._ask("cuFuncGetAttribute", kind, function))

    # graphs

    def begin_capture(self, stream: int) -> None:
        """Begin to capture a stream."""
        self._ask("cuStreamBeginCapture", stream, self._module.CUstreamCaptureMode(RELAXED))

    def end_capture(self, stream: int) -> int:
        """Stop recording."""
        return int(self._ask("cuStreamEndCapture", stream))

    def last_node(self, stream: int) -> int:
        """Return the node that was recorded last."""
        nodes: Sequence[Any] = self._ask("cuStreamGetCaptureInfo", stream)[3]
        return int(nodes[0])

    def instantiate(self, graph: int) -> int:
        """Instantiate a graph."""
        return int(self._ask("cuGraphInstantiate", graph, 0))

    def launch_graph(self, executable: int, stream: int) -> None:
        """Enqueue a graph on a stream."""
        self._ask("cuGraphLaunch", executable, stream)

    def set_node(self, executable: int, node: int, kernel: KernelNode) -> None:
        """Set the parameters of a kernel node."""
        module = self._module
        wish = module.CUDA_KERNEL_NODE_PARAMS()
        wish.func = module.CUfunction(kernel.function)
        wish.gridDimX, wish.gridDimY, wish.gridDimZ = kernel.grid
        wish.blockDimX, wish.blockDimY, wish.blockDimZ = kernel.block
        wish.sharedMemBytes = kernel.shared
        wish.kernelParams = kernel.parameters
        self._ask("cuGraphExecKernelNodeSetParams", executable, node, wish)

    def destroy_graph(self, graph: int, executable: int) -> None:
        """Forget a graph."""
        if executable:
            self._ask("cuGraphExecDestroy", executable)
        self._ask("cuGraphDestroy", graph)


def describe(module: Any, status: int) -> tuple[str, str]:
    """Return the driver's name for a status, and its description."""
    try:
        result = module.CUresult(status)
    except ValueError:  # of a driver that is newer than the package
        return "an unknown result", "the driver is newer than cuda-bindings"
    names = [module.cuGetErrorName(result)[1], module.cuGetErrorString(result)[1]]
    known = [name.decode() if name else "no text" for name in names]
    return known[0], known[1]
