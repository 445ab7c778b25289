// Arrays of other libraries: described by NumPy's `__array_struct__` or by DLPack, read with
// distrust. What makes no sense is left to Python, which asks again and says so.
#include "python/host_arrays.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/timeline.hpp"
#include "python/borrowing.hpp"
#include "python/cuda.hpp"
#include "python/dlpack.hpp"
#include "python/memory.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// What Python tells once.
struct ArrayClasses {
  PyTypeObject* array = nullptr;  // numpy.ndarray
  PyTypeObject* ours = nullptr;   // tensors.ownership.Ours
  PyObject* device = nullptr;     // devices.host.CPU
  PyTypeObject* gpu = nullptr;    // devices.cuda.device.CudaDevice
  PyObject* dtypes = nullptr;     // a dict: element types by the kind, bits and lanes of DLPack
  PyObject* layout_of = nullptr;  // the layout of an element type, a shape and strides
  PyObject* immutable = nullptr;  // a frozenset: packages whose arrays are never written
  PyObject* look_closer = nullptr;  // the region of an array that is not described here
  PyObject* wishes = nullptr;       // for `__dlpack__`: the names of keywords,
  PyObject* gpu_wishes = nullptr;   // and where a stream is told of,
  PyObject* version = nullptr;      // and the newest version that is understood
  PyObject* import_stream = nullptr;  // the stream of a GPU that other libraries are told of
};

ArrayClasses classes;

PyObject* name_array_struct = nullptr;
PyObject* name_dlpack = nullptr;
PyObject* name_dlpack_device = nullptr;
PyObject* name_ordinal = nullptr;
PyObject* name_requires_grad = nullptr;
PyObject* name_is_neg = nullptr;
PyObject* name_module = nullptr;

constexpr int kMostAxes = 8;  // more are left to Python

// An element type as DLPack names it.
struct ElementType {
  uint8_t kind;
  uint8_t bits;
  uint16_t lanes;

  int64_t bytes() const { return int64_t{bits} * lanes / 8; }
  int64_t key() const { return int64_t{kind} << 24 | int64_t{bits} << 16 | lanes; }
};

// An array as its library describes it.
struct ArrayDescription {
  ElementType type;
  int rank;
  std::array<int64_t, kMostAxes> shape;
  std::array<int64_t, kMostAxes> strides;  // in elements
  int64_t address;
  bool is_readonly;
};

// Whether an array has elements, fewer bytes than there are addresses, and lies where its elements
// may lie.
bool makes_sense(const ArrayDescription& array) {
  int64_t bytes = array.type.bytes();
  if (bytes <= 0 || array.address <= 0 || array.address % bytes != 0) return false;
  for (int i = 0; i < array.rank; ++i) {
    if (array.shape[i] <= 0 || __builtin_mul_overflow(bytes, array.shape[i], &bytes)) return false;
  }
  return true;
}

// Layouts that were found lately, each at the place its description hashes to.
class LayoutCache {
 public:
  // A layout; null: an error is set, or there is no such element type.
  Owned find(const ArrayDescription& array) {
    std::array<int64_t, 1 + 2 * kMostAxes> key;
    const auto end = describe(array, key);
    uint64_t hash = 0;
    for (auto word = key.begin(); word != end; ++word) {
      hash = (hash ^ uint64_t(*word)) * 0x9E3779B97F4A7C15;
    }
    Entry& entry = entries_[hash >> 56];
    if (entry.layout && std::equal(key.begin(), end, entry.key.begin(), entry.key.end())) {
      return Owned::borrowed(entry.layout.get());
    }
    Owned made = make(array);
    if (made) {
      const Owned before = std::exchange(entry.layout, Owned::borrowed(made.get()));
      entry.key.assign(key.begin(), end);
    }
    return made;
  }

 private:
  struct Entry {
    std::vector<int64_t> key;
    Owned layout;
  };

  // Writes what tells layouts apart; gives the end of that.
  template <typename Key>
  static typename Key::iterator describe(const ArrayDescription& array, Key& key) {
    key[0] = array.type.key() << 8 | array.rank;
    const auto strides = std::copy_n(array.shape.begin(), array.rank, key.begin() + 1);
    return std::copy_n(array.strides.begin(), array.rank, strides);
  }

  static Owned as_tuple(const std::array<int64_t, kMostAxes>& numbers, int count) {
    Owned tuple(PyTuple_New(count));
    for (int i = 0; tuple && i < count; ++i) {
      PyObject* number = PyLong_FromLongLong(numbers[i]);
      if (number == nullptr) return Owned();
      PyTuple_SET_ITEM(tuple.get(), i, number);
    }
    return tuple;
  }

  static Owned make(const ArrayDescription& array) {
    const Owned code(PyLong_FromLongLong(array.type.key()));
    PyObject* dtype = code ? PyDict_GetItemWithError(classes.dtypes, code.get()) : nullptr;
    if (dtype == nullptr) return Owned();
    const Owned shape = as_tuple(array.shape, array.rank);
    const Owned strides = as_tuple(array.strides, array.rank);
    if (!shape || !strides) return Owned();
    Owned made = call_python(classes.layout_of, {dtype, shape.get(), strides.get()});
    if (made && !PyObject_TypeCheck(made.get(), layout_type)) {
      PyErr_SetString(PyExc_TypeError, "a Layout is expected");
      return Owned();
    }
    return made;
  }

  std::array<Entry, 256> entries_;
};

LayoutCache& layouts() {
  static auto* cache = new LayoutCache();  // not destroyed: Python is gone then
  return *cache;
}

// The region of an array on a device that `owner` keeps. None: look closer. Null: an error is set.
Owned region_of(const ArrayDescription& array, PyObject* device, PyObject* owner) {
  const Owned layout = makes_sense(array) ? layouts().find(array) : Owned();
  if (!layout) return PyErr_Occurred() ? Owned() : Owned::borrowed(Py_None);
  const LayoutObject& its = as<LayoutObject>(layout.get());
  int64_t start, end;
  if (__builtin_add_overflow(array.address, its.low, &start) || start < 0 ||
      __builtin_add_overflow(array.address, its.high, &end)) {
    return Owned::borrowed(Py_None);
  }
  const Owned storage = find_import(device, owner, start, end, array.is_readonly);
  return storage ? new_region(storage.get(), layout.get(), array.address) : Owned();
}

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
  return describe(*given, array) ? region_of(array, classes.device, value)
                                : Owned::borrowed(Py_None);
}

// DLPack

// Row-major strides of the shape; false: they are more than there are addresses.
bool set_row_major(ArrayDescription& array) {
  int64_t step = 1;
  for (int i = array.rank; i-- > 0;) {
    array.strides[i] = step;
    if (__builtin_mul_overflow(step, array.shape[i], &step)) return false;
  }
  return true;
}

constexpr int32_t kHost = 1;        // DLPack's types of devices: the CPU,
constexpr int32_t kPinnedHost = 3;  // and memory of the host that a GPU reads

bool is_on_host(const DLTensor& tensor) {
  return tensor.device_type == kHost || tensor.device_type == kPinnedHost;
}

bool describe(const DLTensor& given, ArrayDescription& array) {
  if (given.data == nullptr || given.rank < 0 || given.rank > kMostAxes) return false;
  if (given.rank > 0 && given.shape == nullptr) return false;
  const auto data = reinterpret_cast<uint64_t>(given.data);
  uint64_t address;
  if (__builtin_add_overflow(data, given.byte_offset, &address) || address > INT64_MAX) {
    return false;
  }
  array.type = {given.code, given.bits, given.lanes};
  array.rank = given.rank;
  array.address = static_cast<int64_t>(address);
  std::copy_n(given.shape, given.rank, array.shape.begin());
  if (given.strides == nullptr) return set_row_major(array);
  std::copy_n(given.strides, given.rank, array.strides.begin());
  return true;
}

// Whether a library asks that its memory be not written, or never writes its arrays itself. Below
// 0: an error is set.
int is_read_only(PyObject* value, const VersionedTensor* managed) {
  // As NumPy has it: what could not say so may be.
  if (managed == nullptr || (managed->flags & VersionedTensor::kReadOnly) != 0) return 1;
  const Owned module(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(value)), name_module));
  if (!module) {
    PyErr_Clear();
    return 0;
  }
  if (!PyUnicode_Check(module.get())) return 0;
  const Py_ssize_t length = PyUnicode_GET_LENGTH(module.get());
  const Py_ssize_t dot = PyUnicode_FindChar(module.get(), '.', 0, length, 1);
  const Owned package(PyUnicode_Substring(module.get(), 0, dot < 0 ? length : dot));
  return package ? PySet_Contains(classes.immutable, package.get()) : -1;
}

// What a capsule holds, in either form; null: it is no capsule that nobody has taken.
struct Capsule {
  const DLTensor* tensor = nullptr;
  const VersionedTensor* versioned = nullptr;

  explicit Capsule(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, VersionedTensor::kCapsule)) {
      versioned = static_cast<const VersionedTensor*>(
          PyCapsule_GetPointer(capsule, VersionedTensor::kCapsule));
      tensor = versioned->major == 1 ? &versioned->tensor : nullptr;
    } else if (PyCapsule_IsValid(capsule, ManagedTensor::kCapsule)) {
      tensor = &static_cast<const ManagedTensor*>(
                    PyCapsule_GetPointer(capsule, ManagedTensor::kCapsule))->tensor;
    }
  }
};

// Whether an array stands for its elements times -1: torch says so, but exports it all the same.
// Below 0: an error is set.
int is_negated(PyObject* value) {
  if (!PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(value)), name_is_neg)) return 0;
  const Owned told(PyObject_CallMethodNoArgs(value, name_is_neg));
  return told ? PyObject_IsTrue(told.get()) : -1;
}

// What is exported. Null without an error: it cannot be, which Python asks again.
Owned exported_by(PyObject* value) {
  PyObject* given[] = {value, classes.version};
  Owned capsule(PyObject_VectorcallMethod(name_dlpack, given, 1, classes.wishes));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();  // it knows the first version of the protocol alone
    capsule = Owned(PyObject_VectorcallMethod(name_dlpack, given, 1, nullptr));
  }
  if (!capsule && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  return capsule;
}

Owned look_closer(PyObject* value) {
  Owned region = call_python(classes.look_closer, {value});
  if (region && region.get() != Py_None && !PyObject_TypeCheck(region.get(), region_type)) {
    PyErr_SetString(PyExc_TypeError, "a Region or None is expected");
    return Owned();
  }
  return region;
}

Owned region_of_exported(PyObject* value) {
  sweep_imports();
  const int negated = is_negated(value);
  if (negated < 0) return Owned();
  const Owned capsule = negated > 0 ? Owned() : exported_by(value);
  if (!capsule) return PyErr_Occurred() ? Owned() : look_closer(value);
  const Capsule exported(capsule.get());
  if (exported.tensor == nullptr || !is_on_host(*exported.tensor)) return Owned::borrowed(Py_None);
  ArrayDescription array;
  if (!describe(*exported.tensor, array)) return look_closer(value);
  const int is_readonly = is_read_only(value, exported.versioned);
  if (is_readonly < 0) return Owned();
  array.is_readonly = is_readonly != 0;
  if (!makes_sense(array)) return look_closer(value);
  const Owned owner = take_capsule(capsule.get());
  return owner ? region_of(array, classes.device, owner.get()) : Owned();
}

// The memory of an array, as a region, which keeps it. None: it is no array of the host, or must be
// looked at closer. Null: an error is set.
Owned region_of_host_array(PyObject* value) {
  if (Py_TYPE(value) == classes.array) {
    Owned region = region_of_numpy(value);
    return region.get() == Py_None ? look_closer(value) : std::move(region);
  }
  // Of arrays that extend NumPy's, some have a mask.
  return PyObject_TypeCheck(value, classes.array) ? look_closer(value) : region_of_exported(value);
}

// GPUs

constexpr int32_t kGpu = 2;         // DLPack's types of devices: a GPU of CUDA,
constexpr int32_t kManagedGpu = 13;  // and memory that host and GPU share

bool is_on_gpu(int32_t type) { return type == kGpu || type == kManagedGpu; }

// Where an array says that it is; false: it does not, or an error is set.
bool find_device(PyObject* value, int32_t& type, int32_t& number) {
  if (!PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(value)), name_dlpack_device)) {
    return false;
  }
  const Owned told(PyObject_CallMethodNoArgs(value, name_dlpack_device));
  return told && PyTuple_Check(told.get()) && PyArg_ParseTuple(told.get(), "ii", &type, &number);
}

// The number of a GPU in DLPack; below 0: an error is set.
int64_t ordinal_of(PyObject* device) {
  const Owned number(PyObject_GetAttr(device, name_ordinal));
  return number ? PyLong_AsLongLong(number.get()) : -1;
}

// Whether an array wants gradients, and so exports its memory detached alone.
bool needs_gradient(PyObject* value) {
  const Owned wants(PyObject_GetAttr(value, name_requires_grad));
  if (!wants) PyErr_Clear();
  return wants.get() == Py_True;
}

// None: whoever looks closer meets the error that is set, too. Null: it is an interrupt.
Owned look_closer_unless_interrupted() {
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  return PyErr_Occurred() ? Owned() : Owned::borrowed(Py_None);
}

// Notes that what another library does with memory comes before what is on a stream from now on:
// as if the stream wrote it now. False: there is no place for that, or an error is set.
bool note_on_stream(const RegionObject& region, Timeline& timeline) {
  const BorrowLock lock;
  StorageRecord& storage = *region.record.storage;
  if ((storage.slow_path & slow_path::kPendingWork) != 0 || storage.marked == kMarks) return false;
  const int64_t number = timeline.issued + 1;
  note(storage, {region.record.start, region.record.end, 1}, timeline, number, Waits());
  issue(timeline, number, false);
  submitted(timeline);
  ++timeline.submitted;
  return true;
}

// The region of an array on a GPU, which has its library order what it does with the array before
// what is on our stream for that. None: look closer. Null: an error is set.
Owned region_on_gpu(PyObject* value, PyObject* device) {
  int32_t type = 0, number = 0;
  const bool is_there = find_device(value, type, number) && is_on_gpu(type);
  const int64_t ordinal = is_there ? ordinal_of(device) : -1;
  if (!is_there || number != ordinal || needs_gradient(value)) {
    return look_closer_unless_interrupted();
  }
  sweep_imports();
  const Owned stream = call_python(classes.import_stream, {device});
  if (!stream) return Owned();
  if (!is_cuda_stream(stream.get())) return Owned::borrowed(Py_None);
  const StreamPoint point = point_of(stream.get());
  if (!point.ok()) return Owned();
  const int negated = is_negated(value);
  const Owned handle(PyLong_FromVoidPtr(point.handle));
  if (negated != 0 || !handle) return negated > 0 ? Owned::borrowed(Py_None) : Owned();
  PyObject* given[] = {value, classes.version, handle.get()};
  const Owned capsule(PyObject_VectorcallMethod(name_dlpack, given, 1, classes.gpu_wishes));
  if (!capsule) return look_closer_unless_interrupted();
  const Capsule exported(capsule.get());
  ArrayDescription array;
  if (exported.tensor == nullptr || !is_on_gpu(exported.tensor->device_type) ||
      exported.tensor->device_id != number || !describe(*exported.tensor, array)) {
    return Owned::borrowed(Py_None);
  }
  const int is_readonly = is_read_only(value, exported.versioned);
  if (is_readonly < 0) return Owned();
  array.is_readonly = is_readonly != 0;
  if (!makes_sense(array)) return Owned::borrowed(Py_None);
  const Owned owner = take_capsule(capsule.get());
  Owned region = owner ? region_of(array, device, owner.get()) : Owned();
  if (!region || region.get() == Py_None) return region;
  if (note_on_stream(as<RegionObject>(region.get()), *point.timeline)) return region;
  return PyErr_Occurred() ? Owned() : Owned::borrowed(Py_None);
}

// The memory of an array as launches on a device read it: where it is, or on the host for a copy.
Owned region_for(PyObject* device, PyObject* value) {
  if (device == classes.device || Py_TYPE(value) == classes.array) {
    return region_of_host_array(value);
  }
  return Py_TYPE(device) == classes.gpu ? region_on_gpu(value, device) : Owned::borrowed(Py_None);
}

// Whether an object may be an array of another library: it is none of our own.
bool is_foreign(PyObject* value) {
  return classes.ours != nullptr && !PyObject_TypeCheck(value, classes.ours);
}

// The device of all that a call writes. Null: it writes nothing, or something needs a closer look.
PyObject* device_written(const BindPlan& plan, PyObject* arguments) {
  PyObject* device = nullptr;
  for (int64_t i = 0; i < plan.written; ++i) {
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
  classes = found;
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
    fast_method("regions_of_arrays", regions_of_arrays_function,
                "Find the memory of arrays of other libraries among what a kernel was given."),
    {"set_array_classes", set_array_classes, METH_O, "Say what Python has for arrays."},
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
  name_dlpack = PyUnicode_InternFromString("__dlpack__");
  name_dlpack_device = PyUnicode_InternFromString("__dlpack_device__");
  name_ordinal = PyUnicode_InternFromString("ordinal");
  name_requires_grad = PyUnicode_InternFromString("requires_grad");
  name_is_neg = PyUnicode_InternFromString("is_neg");
  name_module = PyUnicode_InternFromString("__module__");
  if (PyErr_Occurred()) return -1;
  return PyModule_AddFunctions(module, kFunctions);
}

}  // namespace tw::py
