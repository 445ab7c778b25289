"""Wrong uses of kernels of others: their code, their arguments, their memory, their streams.

`scale(out, x, n, factor)` is a declared kernel of `function`, loaded on `gpu`; `other` is another
GPU. `x` and `z` are tensors of 300 elements on `gpu`; `product` is a SIMT kernel with a contract.
"""

PROGRAMS = {
    "malformed-ptx": """
driver.fail("load_module", INVALID_PTX)
tw.load_module_from_ptx(".version 7.0\\n.target sm_80\\n.visible .entry f() { oops; }")
""",
    "text-that-is-no-ptx": """
tw.load_module_from_ptx("extern C void scale(float *x) {}")
""",
    "no-code-at-all": """
tw.load_module_from_ptx("")
""",
    "missing-file": """
tw.load_module_from_file("scale.ptx", gpu)
""",
    "wrong-entry-name": """
tw.load_module_from_ptx(PTX, gpu).load_function("scael")
""",
    "unknown-device": """
tw.load_module_from_ptx(PTX, 7)
""",
    "too-few-arguments": """
scale(z.borrow_mut(), x, 300)
""",
    "too-many-arguments": """
scale(z.borrow_mut(), x, 300, 2.0, 3.0)
""",
    "unknown-keyword": """
scale(z.borrow_mut(), x, 300, 2.0, BLOCK=64)
""",
    "element-type": """
scale(z.borrow_mut(), tw.zeros((300,), tw.f64, device=gpu).sync(), 300, 2.0)
""",
    "number-of-another-type": """
scale(z.borrow_mut(), x, 2.5, 2.0)
""",
    "number-out-of-range": """
scale(z.borrow_mut(), x, -1, 2.0)
""",
    "tensor-for-a-number": """
scale(z.borrow_mut(), x, x, 2.0)
""",
    "number-for-a-tensor": """
scale(z.borrow_mut(), 3.0, 300, 2.0)
""",
    "plain-tensor-for-output": """
scale(z, x, 300, 2.0)
""",
    "array-for-output": """
scale(np.zeros(300, "f4"), x, 300, 2.0)
""",
    "partition-for-output": """
scale(z.partition_mut((64,)), x, 300, 2.0)
""",
    "read-only-array-for-output": """
scale(tw.asarray(Interface(z, data=(z.region.address, True))).borrow_mut(), x, 300, 2.0)
""",
    "output-also-read": """
scale(z.borrow_mut(), z, 300, 2.0)
""",
    "overlapping-alias-of-another-library": """
written = tw.asarray(Interface(z, data=(z.region.address, False)))
part = Interface(z, shape=(100,), strides=None, data=(z.region.address + 800, True))
scale(written.borrow_mut(), part, 100, 2.0)
""",
    "ended-borrow": """
borrow = z.borrow_mut()
z.to_numpy()
scale(borrow, x, 300, 2.0)
""",
    "moved-tensor": """
y = tw.move(x)
scale(z.borrow_mut(), x, 300, 2.0)
""",
    "gaps": """
scale(z.borrow_mut(), x[::2], 150, 2.0)
""",
    "gaps-of-another-library": """
scale(z.borrow_mut(), Interface(x, shape=(150,), strides=(8,)), 150, 2.0)
""",
    "gaps-in-output": """
scale(z.borrow_mut()[::2], x, 150, 2.0)
""",
    "tensor-of-another-gpu": """
scale(z.borrow_mut(), tw.zeros((300,), device=other).sync(), 300, 2.0)
""",
    "array-of-the-host": """
scale(z.borrow_mut(), np.zeros(300, "f4"), 300, 2.0).sync()
""",
    "tensors-of-another-gpu": """
there = [tw.zeros((300,), device=other).sync() for _ in range(2)]
scale(there[0].borrow_mut(), there[1], 300, 2.0).sync()
""",
    "stream-of-another-gpu": """
scale(z.borrow_mut(), x, 300, 2.0).sync_on(other.new_stream())
""",
    "handle-of-a-stream-of-another-gpu": """
with tw.unsafe():
    tw.Stream.borrow_raw(other.new_stream().handle, gpu)
""",
    "handle-outside-unsafe": """
tw.Stream.borrow_raw(1234, gpu)
""",
    "wrapped-outside-unsafe": """
@cuda.kernel(function)
def scale(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32) -> None: ...
""",
    "declaration-with-other-sizes": """
with tw.unsafe():
    @cuda.kernel(function)
    def wrong(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: i64, factor: f32) -> None: ...
wrong(z.borrow_mut(), x, 300, 2.0).sync()
""",
    "declaration-with-fewer-parameters": """
with tw.unsafe():
    @cuda.kernel(function)
    def wrong(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None: ...
wrong(z.borrow_mut(), x).sync()
""",
    "no-grid": """
with tw.unsafe():
    @cuda.kernel(look)
    def reader(x: simt.Slice[f32]) -> None: ...
reader(x).sync()
""",
    "too-many-threads": """
scale(z.borrow_mut(), x, 300, 2.0).launch_config(block=4096).sync()
""",
    "too-much-shared-memory": """
scale(z.borrow_mut(), x, 300, 2.0).launch_config(shared_mem_bytes=200_000).sync()
""",
    "pointer-outside-unsafe": """
tw.AsyncKernelLaunch(function).push_device_ptr(z.device_pointer())
""",
    "pushed-number-without-a-type": """
tw.AsyncKernelLaunch(function).push_arg(300)
""",
    "pushed-number-of-another-size": """
tw.AsyncKernelLaunch(function).push_arg(tw.f32(2.0))
""",
    "pushed-too-many": """
with tw.unsafe():
    launch = tw.AsyncKernelLaunch(function).push_device_ptr(z.device_pointer())
    launch.push_device_ptr(x.device_pointer()).push_arg(tw.u32(300)).push_arg(tw.f32(2.0))
launch.push_arg(tw.u32(1))
""",
    "pushed-too-few": """
with tw.unsafe():
    launch = tw.AsyncKernelLaunch(function).push_device_ptr(z.device_pointer())
launch.set_launch_config(tw.LaunchConfig((1,), (32,))).sync()
""",
    "pushed-without-a-launch-config": """
tw.AsyncKernelLaunch(look).sync()
""",
    "pushed-memory-of-another-gpu": """
there = tw.zeros((300,), device=other).sync()
with tw.unsafe():
    launch = tw.AsyncKernelLaunch(function).push_device_ptr(z.device_pointer())
    launch.push_device_ptr(there.device_pointer()).push_arg(tw.u32(300)).push_arg(tw.f32(2.0))
launch.set_launch_config(tw.LaunchConfig((1,), (32,))).sync()
""",
    "pushed-on-a-stream-of-another-gpu": """
with tw.unsafe():
    launch = tw.AsyncKernelLaunch(function).push_device_ptr(0).push_device_ptr(0)
launch.push_arg(tw.u32(300)).push_arg(tw.f32(2.0))
launch.set_launch_config(tw.LaunchConfig((1,), (32,))).sync_on(other.new_stream())
""",
    "call-of-the-driver-outside-unsafe": """
cuda.malloc_async(1024, gpu.new_stream())
""",
    "call-of-the-driver-on-a-stream-of-the-cpu": """
with tw.unsafe():
    cuda.malloc_async(1024, get_device("cpu").new_stream())
""",
    "copy-into-a-read-only-array": """
array = np.zeros(4, "f4")
array.flags.writeable = False
with tw.unsafe():
    cuda.memcpy_dtoh_async(array, z.region.address, gpu.new_stream())
""",
    "simt-contract-on-a-gpu": """
product(z.borrow_mut(), x, 20, 20).sync()
""",
    "text-for-an-address": """
with tw.unsafe():
    tw.AsyncKernelLaunch(function).push_device_ptr("0x1234")
""",
    "tensor-for-an-address": """
with tw.unsafe():
    tw.AsyncKernelLaunch(function).push_device_ptr(z)
""",
    "name-for-a-function": """
tw.AsyncKernelLaunch("scale")
""",
    "name-for-a-function-that-is-wrapped": """
with tw.unsafe():
    cuda.kernel("scale")
""",
    "strided-names-no-tensor": """
with tw.unsafe():
    @cuda.kernel(function, strided=("y",))
    def wrong(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, f: f32) -> None: ...
""",
    "tuple-for-a-launch-config": """
tw.AsyncKernelLaunch(look).set_launch_config((1, 1, 1))
""",
    "launch-config-of-a-float": """
tw.LaunchConfig((1.5, 1, 1))
""",
    "launch-config-of-negative-bytes": """
tw.LaunchConfig((1, 1, 1), (32, 1, 1), -16)
""",
    "block-too-deep": """
tw.AsyncKernelLaunch(look).set_launch_config(tw.LaunchConfig((1, 1, 1), (1, 1, 100))).sync()
""",
    "nothing-for-ptx": """
tw.load_module_from_ptx(None)
""",
    "float-for-a-device": """
tw.load_module_from_ptx(PTX, 1.5)
""",
    "text-for-a-handle": """
with tw.unsafe():
    tw.Stream.borrow_raw("0x1234", gpu)
""",
    "null-for-a-module": """
with tw.unsafe():
    tw.Module.borrow_raw(0, gpu)
""",
    "null-for-a-context": """
with tw.unsafe():
    tw.Device.borrow_raw(0, 0)
""",
    "function-of-a-module-that-is-ours": """
with tw.unsafe():
    tw.Function.borrow_raw(1234, tw.load_module_from_ptx(PTX, gpu))
""",
    "stream-that-says-nothing": """
class Quiet:
    def __cuda_stream__(self): return None
    def __repr__(self): return "Quiet()"
scale(z.borrow_mut(), x, 300, 2.0).sync_on(Quiet())
""",
    "array-with-a-mask": """
scale(z.borrow_mut(), Interface(x, mask=x), 300, 2.0)
""",
    "array-at-an-odd-address": """
scale(z.borrow_mut(), Interface(x, shape=(299,), data=(x.region.address + 2, False)), 299, 2.0)
""",
    "array-without-memory": """
scale(z.borrow_mut(), Interface(x, data=(0, False)), 300, 2.0)
""",
    "array-that-says-nothing-of-memory": """
scale(z.borrow_mut(), Interface(x, data=None), 300, 2.0)
""",
    "array-on-an-unclear-stream": """
scale(z.borrow_mut(), Interface(x, stream=0), 300, 2.0)
""",
    "array-with-strides-for-another-rank": """
scale(z.borrow_mut(), Interface(x, strides=(4, 4)), 300, 2.0)
""",
    "array-of-negative-extent": """
scale(z.borrow_mut(), Interface(x, shape=(-1,)), 300, 2.0)
""",
    "array-of-complex-numbers": """
scale(z.borrow_mut(), Interface(x, typestr="<c8", shape=(150,), strides=None), 150, 2.0)
""",
    "array-on-a-gpu-that-is-not-there": """
class Far:
    def __dlpack_device__(self): return 2, 7
    def __dlpack__(self, **wishes): raise AssertionError("not asked for")
scale(z.borrow_mut(), Far(), 300, 2.0)
""",
}
