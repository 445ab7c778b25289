"""A kernel ready to be launched: from the arguments of a call to bound ones and compiled code.

What follows from the layouts of the arguments is found out once and remembered as a `Form`; what
follows from a form, a device and a request, as a `Code`. A launch of a known form looks only at
what may differ: memory, borrows, numbers, and the names that the kernel captured.
"""

from __future__ import annotations

import inspect
import time
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import compile as compiler
from ..base.cuda_abi import POINTER_ALIGNMENT
from ..base.shapes import Shape
from ..base.threads import begin_lengthy_work, end_lengthy_work
from ..compile.cache import Compiled
from ..compile.options import CAN_STOP, NO_HINTS, CompileOptions, Hints
from ..devices.protocol import Device, RefusedCodeError
from ..frontend.capture.sources import KernelSource
from ..ir.signature import NOTHING_KNOWN, GlobalSpec, MemoryFacts, Signature
from ..op.ambient import default_device
from ..op.trace import Tracing
from ..tensors.region import Region
from ..tensors.resident import Resident
from .arguments import Arg, Bound
from .binding import Binder
from .calls import CalledKernel
from .code import Code, Program
from .form import PLAIN, CodeKey, Form, Request
from .grid import is_folded, is_tall, launch_grid
from .links import Generics, link
from .plain import PlainBinder
from .recent import Recent
from .specialize import Specializer, address_on, cuda_facts, refuse_unknown_target
from .variants import Structure
from .watching import note, note_arguments

DEFAULT_OPTIONS = CompileOptions()
FORMS = 256
"""Forms a kernel remembers."""

PROGRAMS = 256
"""Programs a kernel keeps loaded, those used lately: one per signature, device and options. What is
in flight keeps its own."""


class Kernel(CalledKernel):
    """A captured kernel with its specializations."""

    def __init__(
        self,
        source: KernelSource,
        function: Callable[..., Any],
        hints: Hints = NO_HINTS,
        captured: KernelSource | None = None,
    ) -> None:
        self.source = source
        """Its name, and what it is given."""
        self.captured = captured or source
        """What is compiled; a variant's is that of the kernel."""
        self.hints = hints
        self._function = function
        self._structure = Structure(source.parameters)
        self._variants: Recent[tuple[object, ...], Kernel] = Recent(FORMS)
        super().__init__(source, Binder(source), self._structure.optional, unsafe=source.unsafe)
        self._specializer = Specializer(source.name)
        self.plain = PlainBinder(source, self._binder, self._form)
        self._programs: Recent[
            tuple[int, Device, CompileOptions | None], tuple[Signature, Program]
        ] = Recent(PROGRAMS)
        self._forms: Recent[tuple[Any, ...], Form] = Recent(FORMS)
        self._generics = _generic_names(source, function)

    def variant(self, args: Sequence[Any]) -> Kernel:
        """Return the kernel that a call with these arguments launches: mostly this one."""
        structure = self._structure
        if not structure.varies or len(args) < structure.fixed:
            return self  # whose launch says what is missing
        key = structure.of(args)
        found = self._variants.get(key)
        if found is None:
            source = replace(self.source, parameters=structure.parameters(args))
            found = Kernel(source, self._function, self.hints, self.captured)
            self._variants.keep(key, found)
        return found

    def flat(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of a call as those of its variant: members of tuples one by one."""
        structure = self._structure
        few = len(args) < structure.fixed
        return tuple(args) if few else structure.flat(args)

    def check_generics(self, generics: Mapping[str, Any]) -> None:
        """Raise for a name that is no generic of this kernel."""
        for name in generics:
            if name not in self._generics:
                listed = ", ".join(sorted(self._generics)) or "none"
                raise TypeError(f"`{self.name}` has no generic `{name}`; it has {listed}")

    def bind(self, values: Sequence[Any], keywords: Mapping[str, Any], generics: Generics) -> Bound:
        """Return the arguments of a call, checked one by one, but not against each other."""
        bound = self._binder.bind(values, keywords)
        self.give_form(bound, generics)
        bound.device = bound.form.home or default_device()
        return bound

    def give_form(self, bound: Bound, generics: Generics) -> None:
        """Find the form of a launch, and check its numbers against it."""
        form = self._form(bound, generics)
        if bound.numbers:
            bound.numbers = form.accept(bound.numbers)
        bound.form = form

    def _form(self, bound: Bound, generics: Generics = ()) -> Form:
        kind = (bound.kind, generics) if generics else bound.kind
        form = self._forms.get(kind)
        if form is None:
            args = self._binder.describe(bound)
            form = Form(self.name, args, link(self.name, args, generics))
            self._forms.keep(kind, form)
        return form

    def is_ready(self, bound: Bound, request: Request) -> bool:
        """Return whether the code for a launch has been compiled."""
        found = bound.form.codes.get(_key(bound, request))
        return found is not None and found.compiled.stale() is None

    def code(self, bound: Bound, request: Request) -> Code:
        """Return the code for a launch; compiled now if it is not yet, or if a captured name
        changed.
        """
        form, device = bound.form, bound.device
        key = _key(bound, request)
        found = form.codes.get(key)
        if found is None or found.compiled.stale() is not None:
            work = begin_lengthy_work()
            try:
                found = self._make_code(form, device, request, *_addresses(bound))
            finally:
                end_lengthy_work(work)
            form.codes.keep(key, found)
            note_arguments(self, bound, request, found.grid)
        if bound.held is not None and form.home is not None:
            bound.held[-1].remember(request, found, found.run.plan)
        return found

    def _make_code(self, form: Form, device: Device, request: Request, *addresses: int) -> Code:
        """Compile; `addresses` are those of the form's memory, which not all devices use."""
        from .run import LOADERS

        given, processors = request.const_grid or request.grid, device.blocks_at_once
        grid = launch_grid(self.name, form.args, given, processors)
        note(self, form, request, grid, addresses)
        if device.target in LOADERS:
            signature = self.signature(form, request, len(grid))
        else:
            refuse_unknown_target(self.name, device)
            signature = self.cuda_signature(form, request, grid, addresses)
        program = self._program(signature, device, request)
        resident = program.compiled.artifact.resident(processors)
        if resident != processors:
            grid = launch_grid(self.name, form.args, given, resident)
        return Code(self.name, program, form.args, grid)

    def _program(self, signature: Signature, device: Device, request: Request) -> Program:
        # By identity: launches alike share a signature, which is kept with the program; hashing one
        # takes as long as a small launch.
        key = (id(signature), device, request.options)
        _, found = self._programs.get(key, (signature, None))
        if found is None or found.compiled.stale() is not None:
            found = self._loaded(signature, device, request)
        self._programs.keep_latest(key, (signature, found))
        return found

    def _loaded(self, signature: Signature, device: Device, request: Request) -> Program:
        """Return loaded code; recompile cached code that the device refuses."""
        from .run import loader_for, stepped_on

        target, load = self.target_on(device), loader_for(device)
        stops = None if request.options is None else request.options.stops
        if stops is not None:
            target, load = CAN_STOP, stepped_on(self.name, device, stops)
        compiled = self.compiled(signature, target, request)
        hidden = hidden_memory(compiled.artifact.signature, device)
        try:
            return Program(compiled, load(compiled.artifact, hidden))
        except RefusedCodeError as error:
            options = self.options(target, request)
            why = f"{device.name} rejected the code: {error.message}"
            fresh = compiler.remake(self.captured, signature, target, options, why)
            if fresh.artifact.code == compiled.artifact.code:
                raise
        return Program(fresh, load(fresh.artifact, hidden))

    def target_on(self, device: Device) -> str:
        """Return the target to compile for on a device."""
        return device.target

    def signature(self, form: Form, request: Request, rank: int) -> Signature:
        """Return the signature of a launch."""
        return self._specializer.signature(
            form.args, form.links, request.constants, request.const_grid, rank
        )

    def cuda_signature(
        self,
        form: Form,
        request: Request,
        grid: Shape,
        addresses: Sequence[int],
    ) -> Signature:
        """Return the signature of a CUDA launch; `addresses` are those of the form's memory."""
        known: dict[Arg, MemoryFacts] = {
            arg: cuda_facts(arg.layout, address)
            for arg, address in zip(form.memory, addresses, strict=True)
        }
        about = [known.get(arg, NOTHING_KNOWN) for arg in form.args]
        return self._specializer.signature(
            form.args, form.links, request.constants, request.const_grid, len(grid), about,
            folded=is_folded(grid), tall=is_tall(grid),
        )  # fmt: skip

    def compiled(self, signature: Signature, target: str, request: Request) -> Compiled:
        """Return the compiled code for a host device or a CUDA architecture; compiled now if not
        yet.
        """
        options = self.options(target, request)
        trace = Tracing.active
        if trace is None:
            return compiler.find(self.captured, signature, target, options)
        begun, known = time.perf_counter_ns(), len(compiler.history(self.captured))
        found = compiler.find(self.captured, signature, target, options)
        if len(compiler.history(self.captured)) > known:
            name = self.captured.name
            trace.add("compile", name, None, begun, time.perf_counter_ns())
        return found

    def options(self, target: str, request: Request) -> CompileOptions:
        """Return the options of a launch, and where it leaves a choice open, the kernel's hints."""
        return (request.options or DEFAULT_OPTIONS).over(self.hints.on(target))


def _key(bound: Bound, request: Request) -> CodeKey:
    """Return the key of code in a form; it avoids hashing the most common request."""
    device = bound.device
    if device.host_visible:
        return device if request is PLAIN else (device, request)
    for region in bound.memory:
        if region.address % POINTER_ALIGNMENT or region.storage.device is not device:
            aligned = [address % POINTER_ALIGNMENT == 0 for address in _addresses(bound)]
            return device, request, tuple(aligned)
    return device if request is PLAIN else (device, request)


def _addresses(bound: Bound) -> list[int]:
    """Return the addresses of a launch on a device that compiles for them."""
    device = bound.device
    if device.host_visible:
        return [region.address - region.storage.address for region in bound.memory]
    return [address_on(region, device) for region in bound.memory]


def _generic_names(source: KernelSource, function: Callable[..., Any]) -> frozenset[str]:
    """Return the TypeVars that a kernel may mean: of parameters, its own, of its globals."""
    names = {p.__name__ for p in getattr(function, "__type_params__", ())}
    for p in source.parameters:
        if isinstance(p.dtype, str):
            names.add(p.dtype)
        for dim in p.dims or ():
            if isinstance(dim, str):
                names.add(dim)
            elif isinstance(dim, tuple):
                names.add(dim[1])
    code = inspect.unwrap(function).__code__
    kinds = (typing.TypeVar, typing.TypeVarTuple)
    names.update(n for n in code.co_names if isinstance(source.source.globals.get(n), kinds))
    return frozenset(names)


def hidden_memory(signature: Signature, device: Device) -> list[Region]:
    """Return the memory behind the caller's arguments; allocate the device's if necessary."""
    return [_memory_of(spec, device) for spec in signature.globals]


def _memory_of(spec: GlobalSpec, device: Device) -> Region:
    memory = spec.memory
    assert isinstance(memory, Resident), f"the memory of a global is of no device: {memory!r}"
    return memory.region(device)
