// Ops that make tensors whose contents are arbitrary, or zero.
#include "python/context.hpp"
#include "python/cuda.hpp"
#include "python/cuda_staging.hpp"
#include "python/dlpack.hpp"
#include "python/location.hpp"
#include "python/memory.hpp"
#include "python/module.hpp"
#include "python/op.hpp"
#include "python/run_inline.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// Makes a tensor: the base of `tensors.create.Allocate`.
struct AllocateObject {
  OpObject op;
  char is_bound;    // a device was named, on which it must be made
  char is_zeroed;   // its contents are zero
  char is_lengthy;  // writing these may take long
  PyObject* name;
  PyObject* home;  // the device that was named, or else the default one; None: not known yet
  PyObject* layout;
};

using AllocateFields = Fields<AllocateObject, OpFields, offsetof(AllocateObject, name)>;

// What Python has for such ops.
struct CreatingClasses {
  PyTypeObject* allocate = nullptr;    // tensors.create.Allocate
  PyTypeObject* cpu_device = nullptr;  // devices.host.CpuDevice
  int64_t pool = 0;                    // of one: where its memory comes from
  PyObject* exports = nullptr;         // a set: memory of ours that others see
  PyObject* sweep = nullptr;           // frees what others are done with
};

CreatingClasses classes;
PyTypeObject* allocate_type = nullptr;
PyObject* name_closely = nullptr;

AllocateObject& as_allocate(PyObject* self) { return as<AllocateObject>(self); }

// Where a stream runs work, and memory of that comes from.
struct Place {
  PyObject* device = nullptr;
  PyObject* pool = nullptr;  // null: it needs a closer look
};

Place place_of(PyObject* stream) {
  if (is_cuda_stream(stream)) return {device_of_cuda_stream(stream), pool_of_cuda_stream(stream)};
  const CpuQueue queue = cpu_queue_of(stream);
  if (!queue || Py_TYPE(queue.device) != classes.cpu_device) return {};
  return {queue.device, slot(queue.device, classes.pool)};
}

// Frees what others are done with, and calls the deleters of what we are done with. False: an error
// is set.
bool sweep() {
  if (PySet_GET_SIZE(classes.exports) != 0) return bool(call_python(classes.sweep, {}));
  sweep_imports();
  return true;
}

// A tensor in memory that was used before. None: there is none, or it needs a closer look. Null: an
// error is set.
Owned make_tensor(const AllocateObject& its, const ContextObject& context) {
  const auto slow_path = [] { return Owned::borrowed(Py_None); };
  const Place place = place_of(context.stream);
  const bool is_known = place.pool != nullptr && !its.is_zeroed &&
                        (!its.is_bound || place.device == its.home);
  if (!is_known || !PyObject_TypeCheck(its.layout, layout_type)) return slow_path();
  const Owned device = Owned::borrowed(place.device), pool = Owned::borrowed(place.pool);
  const Owned layout = Owned::borrowed(its.layout);
  if (!prepare_memory() || !sweep()) return Owned();
  const int64_t bytes = as<LayoutObject>(layout.get()).covers;
  const Owned memory = take_unused(pool.get(), bytes);
  if (!memory) return PyErr_Occurred() ? Owned() : slow_path();
  const int64_t address = address_of_memory(memory.get());
  const Owned storage = new_storage({.device = device.get(),
                                     .address = address,
                                     .bytes = bytes,
                                     .owner = memory.get(),
                                     .is_readonly = false,
                                     .is_initialized = false});
  const Owned region = storage ? new_region(storage.get(), layout.get(), address) : Owned();
  return region ? new_tensor(region.get()) : Owned();
}

PyObject* execute(PyObject* self, PyObject* context) {
  if (is_context(context) && AllocateFields::are_set(self) &&
      as_context(context).recording == Py_None) {
    Owned made = make_tensor(as_allocate(self), as_context(context));
    if (!made || made.get() != Py_None) return made.release();
  }
  return out_of_turn(PyObject_CallMethodOneArg, self, name_closely, context);
}

// `(name, layout, home, is_bound, is_zeroed, is_lengthy, known)`
PyObject* new_allocate(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("new_allocate", given, count, 7);
  PyObject* name = arguments.string();
  PyObject* layout = arguments.object();
  PyObject* home = arguments.object();
  const bool is_bound = arguments.object() == Py_True;
  const bool is_zeroed = arguments.object() == Py_True;
  const bool is_lengthy = arguments.object() == Py_True;
  PyObject* known = arguments.object();
  if (!arguments.ok()) return nullptr;
  if (classes.allocate == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "set_creating_classes() was not called");
    return nullptr;
  }
  Caller stands = caller(known);
  PyObject* made = stands ? classes.allocate->tp_alloc(classes.allocate, 0) : nullptr;
  if (made == nullptr) return nullptr;
  AllocateObject& its = as_allocate(made);
  its.op.built = stands.location.release();
  its.op.used = unused();
  its.is_bound = is_bound;
  its.is_zeroed = is_zeroed;
  its.is_lengthy = is_lengthy;
  its.name = Py_NewRef(name);
  its.home = Py_NewRef(home);
  its.layout = Py_NewRef(layout);
  return made;
}

PyMethodDef kMethods[] = {
    {"execute", in_turn<execute>, METH_O, "Allocate."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"name", T_OBJECT_EX, offsetof(AllocateObject, name), READONLY, "What messages call it."},
    {"home", T_OBJECT_EX, offsetof(AllocateObject, home), READONLY,
     "The device that was named, or else the default one; None: not known yet."},
    {"lengthy", T_BOOL, offsetof(AllocateObject, is_lengthy), READONLY,
     "Whether writing the contents may take the host milliseconds."},
    {"_layout", T_OBJECT_EX, offsetof(AllocateObject, layout), READONLY, "That of the tensor."},
    {"_is_bound", T_BOOL, offsetof(AllocateObject, is_bound), READONLY,
     "Whether a device was named, on which it must be made."},
    {"_zeroed", T_BOOL, offsetof(AllocateObject, is_zeroed), READONLY,
     "Whether the contents are zero."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kTypeSlots[] = {
    {Py_tp_doc, const_cast<char*>("Makes a tensor whose contents are arbitrary, or zero.")},
    {Py_tp_members, kMembers},
    {Py_tp_methods, kMethods},
    {Py_tp_traverse, as_slot(AllocateFields::visit)},
    {Py_tp_clear, as_slot(in_turn<AllocateFields::clear>)},
    {Py_tp_dealloc, as_slot(AllocateFields::free)},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.Allocate", sizeof(AllocateObject), 0, kBaseTypeFlags,
                     kTypeSlots};

PyObject* set_creating_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  CreatingClasses found;
  found.allocate = setup.type("Allocate");
  found.cpu_device = setup.type("CpuDevice", {{"pool", &found.pool}});
  found.exports = setup.object("exports");
  found.sweep = setup.object("sweep");
  if (!setup.ok()) return nullptr;
  if (!PyType_IsSubtype(found.allocate, allocate_type) || !PySet_Check(found.exports)) {
    PyErr_SetString(PyExc_TypeError, "a class that extends Allocate, and a set, are expected");
    return nullptr;
  }
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    fast_method("new_allocate", in_turn<new_allocate>, "Make an op that makes a tensor."),
    {"set_creating_classes", in_turn<set_creating_classes>, METH_O,
     "Say what Python has for ops that make tensors."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_creating(PyObject* module) {
  name_closely = PyUnicode_InternFromString("execute_closely");
  if (name_closely == nullptr || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  allocate_type = add_type(module, kSpec, op_type);
  return allocate_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
