// Arrays of other libraries: described by NumPy's `__array_struct__` or by DLPack, read with
// distrust. What makes no sense is left to Python, which asks again and says so.
#include "python/host_arrays.hpp"

#include <algorithm>

#include "python/array_memory.hpp"
#include "python/exported.hpp"
#include "python/gpu_arrays.hpp"
#include "python/memory.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

PyObject* name_array_struct = nullptr;

// NumPy

// What `__array_struct__` of an array gives, as NumPy documents it.
struct ArrayStruct {
  static constexpr int kAligned = 0x100;
  static constexpr int kNativeOrder = 0x200;
  static constexpr int kWriteable = 0x400;
  int two;  // a check
  int rank;
  char kind;
  int itemsize;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;  // in bytes
  void* data;
  PyObject* description;
};

// The element types that NumPy and DLPack have in common; false: it is none of these.
bool find_type(char kind, int itemsize, ElementType& type) {
  constexpr char kKinds[] = {'i', 'u', 'f', 'b'};
  constexpr uint8_t kCodes[] = {0, 1, 2, 6};
  const auto* found = std::find(std::begin(kKinds), std::end(kKinds), kind);
  if (found == std::end(kKinds) || itemsize > 8) return false;
  type = {kCodes[found - kKinds], static_cast<uint8_t>(8 * itemsize), 1};
  return true;
}

bool describe(const ArrayStruct& given, ArrayDescription& array) {
  constexpr int kNeeded = ArrayStruct::kAligned | ArrayStruct::kNativeOrder;
  if (given.two != 2 || (given.flags & kNeeded) != kNeeded) return false;
  if (given.rank < 0 || given.rank > kMostAxes) return false;
  if (!find_type(given.kind, given.itemsize, array.type)) return false;
  array.rank = given.rank;
  array.address = reinterpret_cast<int64_t>(given.data);
  array.is_readonly = (given.flags & ArrayStruct::kWriteable) == 0;
  for (int i = 0; i < given.rank; ++i) {
    if (given.strides[i] % given.itemsize != 0) return false;
    array.shape[i] = given.shape[i];
    array.strides[i] = given.strides[i] / given.itemsize;
  }
  return true;
}

Owned region_of_numpy(PyObject* value) {
  const Owned capsule(PyObject_GetAttr(value, name_array_struct));
  if (!capsule) return Owned();
  if (!PyCapsule_IsValid(capsule.get(), nullptr)) return Owned::borrowed(Py_None);
  const auto* given =
      static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule.get(), nullptr));
  ArrayDescription array;
  return describe(*given, array) ? region_of(array, array_classes.device, value)
                                : Owned::borrowed(Py_None);
}

// DLPack

bool is_on_host(const DLTensor& tensor) {
  return tensor.device_type == kHost || tensor.device_type == kPinnedHost;
}

Owned look_closer(PyObject* value) {
  Owned region = call_python(array_classes.look_closer, {value});
  if (region && region.get() != Py_None && !PyObject_TypeCheck(region.get(), region_type)) {
    PyErr_SetString(PyExc_TypeError, "a Region or None is expected");
    return Owned();
  }
  return region;
}

// By functions of C where the library has them.
Exported exported_by(PyObject* value) {
  const ExchangeApi* api = exchange_api_of(value);
  return api != nullptr ? export_by(*api, value) : export_by_method(value, nullptr);
}

Owned region_of_exported(PyObject* value) {
  sweep_imports();
  const int negated = is_negated(value);
  if (negated < 0) return Owned();
  Exported exported = negated > 0 ? Exported() : exported_by(value);
  if (!exported.keeper) return PyErr_Occurred() ? Owned() : look_closer(value);
  if (exported.tensor == nullptr || !is_on_host(*exported.tensor)) return Owned::borrowed(Py_None);
  ArrayDescription array;
  if (!describe(*exported.tensor, array)) return look_closer(value);
  const int is_readonly = is_read_only(value, exported.versioned);
  if (is_readonly < 0) return Owned();
  array.is_readonly = is_readonly != 0;
  if (!makes_sense(array)) return look_closer(value);
  const Owned owner = exported.owner();
  return owner ? region_of(array, array_classes.device, owner.get()) : Owned();
}

// The memory of an array, as a region, which keeps it. None: it is no array of the host, or must be
// looked at closer. Null: an error is set.
Owned region_of_host_array(PyObject* value) {
  if (Py_TYPE(value) == array_classes.array) {
    Owned region = region_of_numpy(value);
    return region.get() == Py_None ? look_closer(value) : std::move(region);
  }
  // Of arrays that extend NumPy's, some have a mask.
  return PyObject_TypeCheck(value, array_classes.array) ? look_closer(value)
                                                        : region_of_exported(value);
}

// The memory of an array as launches on a device read it: where it is, or on the host for a copy.
Owned region_for(PyObject* device, PyObject* value) {
  if (device == array_classes.device || Py_TYPE(value) == array_classes.array) {
    return region_of_host_array(value);
  }
  return Py_TYPE(device) == array_classes.gpu ? region_on_gpu(value, device)
                                              : Owned::borrowed(Py_None);
}

// Whether an object may be an array of another library: it is none of our own.
bool is_foreign(PyObject* value) {
  return array_classes.ours != nullptr && !PyObject_TypeCheck(value, array_classes.ours);
}

// The device of all that a call borrows for writing; that of the host if it borrows nothing so.
// Null: something needs a closer look.
PyObject* device_written(const BindPlan& plan, PyObject* arguments) {
  if (plan.outputs() == 0) return array_classes.device;
  PyObject* device = nullptr;
  for (int64_t i = 0; i < plan.outputs(); ++i) {
    PyObject* given = PyTuple_GET_ITEM(arguments, plan.places[i]);
    if (if_a(access_type, given) == nullptr || !AccessFields::are_set(given)) return nullptr;
    PyObject* tensor = as<AccessObject>(given).tensor;
    if (!HandleFields::are_set(tensor)) return nullptr;
    const RegionObject& region = as<RegionObject>(as<HandleObject>(tensor).region);
    PyObject* its = as<StorageObject>(region.storage).device;
    if (device != nullptr && its != device) return nullptr;
    device = its;
  }
  return device;
}


Owned tuple_of_none(Py_ssize_t count) {
  Owned tuple(PyTuple_New(count));
  for (Py_ssize_t i = 0; tuple && i < count; ++i) {
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(Py_None));
  }
  return tuple;
}

PyObject* set_array_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  ArrayClasses found;
  found.array = setup.type("ndarray");
  found.ours = setup.type("Ours");
  found.device = setup.object("CPU");
  found.gpu = setup.type("CudaDevice");
  found.dtypes = setup.object("dtypes");
  found.layout_of = setup.object("layout_of");
  found.immutable = setup.object("immutable");
  found.look_closer = setup.object("look_closer");
  found.version = setup.object("version");
  found.import_stream = setup.object("import_stream");
  found.wishes = Py_BuildValue("(s)", "max_version");
  found.gpu_wishes = Py_BuildValue("(ss)", "max_version", "stream");
  if (!setup.ok() || found.wishes == nullptr || found.gpu_wishes == nullptr) return nullptr;
  if (!PyDict_Check(found.dtypes) || !PyAnySet_Check(found.immutable)) {
    PyErr_SetString(PyExc_TypeError, "dtypes is a dict, immutable a set");
    return nullptr;
  }
  array_classes = found;
  Py_RETURN_NONE;
}

// `(plan, arguments)`: see `regions_of_arrays`.
PyObject* regions_of_arrays_function(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("regions_of_arrays", given, count, 2);
  const auto* plan = arguments.address<const BindPlan>();
  PyObject* values = arguments.tuple();
  return arguments.ok() ? regions_of_arrays(*plan, values).release() : nullptr;
}

PyMethodDef kFunctions[] = {
    fast_method("regions_of_arrays", in_turn<regions_of_arrays_function>,
                "Find the memory of arrays of other libraries among what a kernel was given."),
    {"set_array_classes", in_turn<set_array_classes>, METH_O, "Say what Python has for arrays."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Owned regions_of_arrays(const BindPlan& plan, PyObject* arguments) {
  if (PyTuple_GET_SIZE(arguments) != plan.arity) return Owned::borrowed(Py_None);
  PyObject* device = device_written(plan, arguments);
  if (device == nullptr) return Owned::borrowed(Py_None);
  Owned regions;
  for (int64_t i = plan.written; i < plan.count; ++i) {
    PyObject* value = PyTuple_GET_ITEM(arguments, plan.places[i]);
    if (is_exactly(value, plan.tensor_class) || !is_foreign(value)) continue;
    Owned region = region_for(device, value);
    if (!region || region.get() == Py_None) return region;
    if (!regions) regions = tuple_of_none(plan.arity);
    if (!regions) return Owned();
    Py_SETREF(PyTuple_GET_ITEM(regions.get(), plan.places[i]), region.release());
  }
  return regions ? std::move(regions) : Owned::borrowed(Py_None);
}

int add_host_arrays(PyObject* module) {
  name_array_struct = PyUnicode_InternFromString("__array_struct__");
  if (name_array_struct == nullptr || !prepare_exports() || !prepare_gpu_arrays()) return -1;
  return PyModule_AddFunctions(module, kFunctions);
}

}  // namespace tw::py
