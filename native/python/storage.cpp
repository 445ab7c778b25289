// Layouts, pieces of memory, extents and regions of it, as types of Python.
#include <vector>

#include "python/memory.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

PyTypeObject* extent_type = nullptr;
PyTypeObject* layout_type = nullptr;
PyTypeObject* tiling_type = nullptr;
PyTypeObject* storage_type = nullptr;
PyTypeObject* region_type = nullptr;

namespace {

// What Python tells once.
struct StorageClasses {
  PyTypeObject* state = nullptr;    // tensors.borrow.BorrowState
  PyTypeObject* storage = nullptr;  // tensors.storage.Storage
  PyTypeObject* region = nullptr;   // tensors.region.Region
  PyObject* new_order = nullptr;    // makes the `Order` of a state
};

StorageClasses classes;

int64_t next_number = 1;

StorageObject& as_storage(PyObject* self) { return as<StorageObject>(self); }
RegionObject& as_region(PyObject* self) { return as<RegionObject>(self); }

StateObject* state_in(const StorageObject& storage) {
  return if_a(state_type, storage.state) == nullptr ? nullptr : &as<StateObject>(storage.state);
}

// Layouts and tilings

PyObject* new_layout(PyTypeObject* type, PyObject*, PyObject*) {
  Owned self(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  as<LayoutObject>(self.get()).number = next_number++;
  as<LayoutObject>(self.get()).tilings = PyDict_New();
  return as<LayoutObject>(self.get()).tilings == nullptr ? nullptr : self.release();
}

PyMemberDef kLayoutMembers[] = {
    {"number", T_LONGLONG, offsetof(LayoutObject, number), READONLY, "Tells it from all others."},
    {"low", T_LONGLONG, offsetof(LayoutObject, low), 0,
     "Bytes from the first element to the lowest address."},
    {"high", T_LONGLONG, offsetof(LayoutObject, high), 0,
     "Bytes from the first element to the address behind the last."},
    {"covers", T_LONGLONG, offsetof(LayoutObject, covers), 0,
     "How many different bytes the elements take; -1 where indices may share memory."},
    {"tilings", T_OBJECT_EX, offsetof(LayoutObject, tilings), READONLY,
     "How it was cut lately, by the shape of tiles."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kLayoutSlots[] = {
    {Py_tp_doc, const_cast<char*>("Element type, shape and strides.")},
    {Py_tp_new, as_slot(in_turn<new_layout>)},
    {Py_tp_members, kLayoutMembers},
    {Py_tp_traverse, as_slot(LayoutFields::visit)},
    {Py_tp_clear, as_slot(in_turn<LayoutFields::clear>)},
    {Py_tp_dealloc, as_slot(LayoutFields::free)},
    {0, nullptr},
};

PyType_Spec kLayoutSpec = {"tilewright._core.Layout", sizeof(LayoutObject), 0, kBaseTypeFlags,
                           kLayoutSlots};

PyObject* new_tiling(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) as<TilingObject>(self).number = next_number++;
  return self;
}

void free_tiling(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef kTilingMembers[] = {
    {"number", T_LONGLONG, offsetof(TilingObject, number), READONLY, "Tells it from all others."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kTilingSlots[] = {
    {Py_tp_doc, const_cast<char*>("A layout cut into tiles.")},
    {Py_tp_new, as_slot(in_turn<new_tiling>)},
    {Py_tp_members, kTilingMembers},
    {Py_tp_traverse, as_slot(NoFields::visit)},
    {Py_tp_dealloc, as_slot(free_tiling)},
    {0, nullptr},
};

PyType_Spec kTilingSpec = {"tilewright._core.Tiling", sizeof(TilingObject), 0, kBaseTypeFlags,
                           kTilingSlots};

// Storage

// A device, by its weak reference, and the number it has in the kinds of records.
struct KnownDevice {
  PyObject* device;
  Owned reference;
  int64_t number;
};

// Devices are few; none is forgotten, so that no number is used twice.
std::vector<KnownDevice>& known_devices() {
  static auto* devices = new std::vector<KnownDevice>();  // not destroyed: Python is gone then
  return *devices;
}

// False: an error is set.
bool set_memory(StorageObject& storage, const MemoryPiece& memory) {
  if (classes.state == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "set_storage_classes() was not called");
    return false;
  }
  const int64_t number = device_number(memory.device);
  if (number < 0) return false;
  const Owned state(out_of_turn(PyObject_CallNoArgs, reinterpret_cast<PyObject*>(classes.state)));
  if (!state) return false;
  storage.device_number = number;
  storage.address = memory.address;
  storage.bytes = memory.bytes;
  storage.is_readonly = memory.is_readonly;
  set_field(storage.device, memory.device);
  set_field(storage.owner, memory.owner);
  set_field(storage.state, state.get());
  int64_t& slow_path = as<StateObject>(state.get()).memory.record.slow_path;
  if (memory.owner == Py_None) slow_path |= slow_path::kNoMemory;
  if (!memory.is_initialized && memory.bytes != 0) slow_path |= slow_path::kUnwritten;
  return true;
}

int init_storage(PyObject* self, PyObject* given, PyObject* keywords) {
  static const char* names[] = {"device",   "address",     "nbytes", "owner",
                                "readonly", "initialized", nullptr};
  PyObject* device;
  PyObject* owner;
  long long address, bytes;
  int is_readonly = 0, is_initialized = 1;
  if (!PyArg_ParseTupleAndKeywords(given, keywords, "OLLO|$pp", const_cast<char**>(names), &device,
                                   &address, &bytes, &owner, &is_readonly, &is_initialized)) {
    return -1;
  }
  if (as_storage(self).is_import) {
    PyErr_SetString(PyExc_RuntimeError, "memory that is found by its addresses stays as it is");
    return -1;
  }
  const MemoryPiece memory{device, address, bytes, owner, is_readonly != 0, is_initialized != 0};
  return set_memory(as_storage(self), memory) ? 0 : -1;
}

int clear_storage(PyObject* self) {
  forget_import(as_storage(self));
  return StorageFields::clear(self);
}

void free_storage(PyObject* self) {
  {
    const Turn turn;
    forget_import(as_storage(self));
  }
  if (as_storage(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  StorageFields::free(self);
}

PyObject* is_initialized(PyObject* self, void*) {
  const StateObject* state = state_in(as_storage(self));
  return PyBool_FromLong(state != nullptr &&
                         (state->memory.record.slow_path & slow_path::kUnwritten) == 0);
}

int set_initialized(PyObject* self, PyObject* value, void*) {
  StateObject* state = state_in(as_storage(self));
  const int truth = value == nullptr ? -1 : PyObject_IsTrue(value);
  if (truth < 0 || state == nullptr) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a bool is expected");
    return -1;
  }
  int64_t& slow_path = state->memory.record.slow_path;
  slow_path = truth ? slow_path & ~slow_path::kUnwritten : slow_path | slow_path::kUnwritten;
  return 0;
}

PyObject* is_meta(PyObject* self, void*) {
  return PyBool_FromLong(as_storage(self).owner == Py_None);
}

// Made when first asked for: most memory is used by launches alone, which need none.
PyObject* order_of(PyObject* self, void*) {
  StorageObject& storage = as_storage(self);
  if (storage.order == nullptr) {
    if (storage.state == nullptr || classes.new_order == nullptr) {
      PyErr_SetString(PyExc_AttributeError, "a storage that was never initialized");
      return nullptr;
    }
    const Owned made(out_of_turn(PyObject_CallOneArg, classes.new_order, storage.state));
    if (!made) return nullptr;
    if (storage.order == nullptr) storage.order = Py_NewRef(made.get());
  }
  return Py_NewRef(storage.order);
}

PyObject* graphs_of(PyObject* self, void*) {
  PyObject* graphs = as_storage(self).graphs;
  return graphs == nullptr ? PyTuple_New(0) : Py_NewRef(graphs);
}

int set_graphs(PyObject* self, PyObject* value, void*) {
  if (value == nullptr || !PyTuple_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "a tuple is expected");
    return -1;
  }
  set_field(as_storage(self).graphs, PyTuple_GET_SIZE(value) == 0 ? nullptr : value);
  return 0;
}

PyGetSetDef kStorageProperties[] = {
    {"initialized", in_turn<is_initialized>, in_turn<set_initialized>,
     "Whether all of it has been written.", nullptr},
    {"is_meta", in_turn<is_meta>, nullptr,
     "Whether there is no memory behind it, only a description.", nullptr},
    {"order", in_turn<order_of>, nullptr, "The work under way that uses it.", nullptr},
    {"graphs", in_turn<graphs_of>, in_turn<set_graphs>, "Graphs that write it; some may be dead.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef kStorageMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(StorageObject, weak_references), READONLY, nullptr},
    {"device", T_OBJECT_EX, offsetof(StorageObject, device), READONLY, "Where it is."},
    {"owner", T_OBJECT_EX, offsetof(StorageObject, owner), READONLY, "What keeps it alive."},
    {"state", T_OBJECT_EX, offsetof(StorageObject, state), READONLY, "Who may use it."},
    {"_written", T_OBJECT, offsetof(StorageObject, written), 0,
     "Which bytes have been written, as long as that is not all of them."},
    {"address", T_LONGLONG, offsetof(StorageObject, address), READONLY, "Of its first byte."},
    {"nbytes", T_LONGLONG, offsetof(StorageObject, bytes), READONLY, "How many bytes it has."},
    {"readonly", T_BOOL, offsetof(StorageObject, is_readonly), READONLY,
     "Whether nobody may write it."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kStorageSlots[] = {
    {Py_tp_doc, const_cast<char*>("A piece of memory.")},
    {Py_tp_init, as_slot(in_turn<init_storage>)},
    {Py_tp_getset, kStorageProperties},
    {Py_tp_members, kStorageMembers},
    {Py_tp_traverse, as_slot(StorageFields::visit)},
    {Py_tp_clear, as_slot(in_turn<clear_storage>)},
    {Py_tp_dealloc, as_slot(free_storage)},
    {0, nullptr},
};

PyType_Spec kStorageSpec = {"tilewright._core.Storage", sizeof(StorageObject), 0, kBaseTypeFlags,
                            kStorageSlots};

// Extents

int init_extent(PyObject* self, PyObject* given, PyObject* keywords) {
  static const char* names[] = {"start", "end", nullptr};
  long long start, end;
  if (!PyArg_ParseTupleAndKeywords(given, keywords, "LL", const_cast<char**>(names), &start,
                                   &end)) {
    return -1;
  }
  as<ExtentObject>(self).extent = {start, end, true, self};
  return 0;
}

PyObject* new_extent(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) as<ExtentObject>(self).extent = {0, 0, true, self};
  return self;
}

void free_extent(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef kExtentMembers[] = {
    {"start", T_LONGLONG, offsetof(ExtentObject, extent) + offsetof(Extent, start), 0,
     "The lowest byte address."},
    {"end", T_LONGLONG, offsetof(ExtentObject, extent) + offsetof(Extent, end), 0,
     "The byte address behind the last; the start, where there are no bytes."},
    {"is_dense", T_BOOL, offsetof(ExtentObject, extent) + offsetof(Extent, is_dense), 0,
     "Whether it is all the bytes from start to end."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kExtentSlots[] = {
    {Py_tp_doc, const_cast<char*>("The bytes from `start` to before `end`, or some of them.")},
    {Py_tp_new, as_slot(in_turn<new_extent>)},
    {Py_tp_init, as_slot(in_turn<init_extent>)},
    {Py_tp_members, kExtentMembers},
    {Py_tp_traverse, as_slot(NoFields::visit)},
    {Py_tp_dealloc, as_slot(free_extent)},
    {0, nullptr},
};

PyType_Spec kExtentSpec = {"tilewright._core.Extent", sizeof(ExtentObject), 0, kBaseTypeFlags,
                           kExtentSlots};

// Regions

constexpr int kDeviceBits = 20;       // of a kind
constexpr int64_t kAlignment = 16;    // of addresses, as base.cuda_abi.POINTER_ALIGNMENT has it

// Equal for tensors of one layout on one device, aligned alike, and for no others.
int64_t kind_of(const LayoutObject& layout, const StorageObject& storage, int64_t address) {
  const int64_t aligned = address % kAlignment == 0 ? 1 : 0;
  return (layout.number << kDeviceBits | storage.device_number) << 1 | aligned;
}

// Lays a layout over memory. False: an error is set.
bool set_region(RegionObject& region, PyObject* storage, PyObject* layout, int64_t address) {
  StateObject* state = state_in(as_storage(storage));
  if (state == nullptr) {
    PyErr_SetString(PyExc_TypeError, "a storage that was initialized is expected");
    return false;
  }
  const LayoutObject& its = as<LayoutObject>(layout);
  int64_t start, end;
  if (__builtin_add_overflow(address, its.low, &start) ||
      __builtin_add_overflow(address, its.high, &end)) {
    PyErr_SetString(PyExc_OverflowError, "a region that reaches beyond all addresses");
    return false;
  }
  region.base.extent = {start, end, its.covers == its.high - its.low, &region};
  region.record = {kind_of(its, as_storage(storage), address), address, &state->memory.record,
                   state, start, end};
  region.is_whole = its.covers == as_storage(storage).bytes;
  set_field(region.layout, layout);
  set_field(region.storage, storage);
  return true;
}

int init_region(PyObject* self, PyObject* given, PyObject* keywords) {
  static const char* names[] = {"storage", "layout", "address", nullptr};
  PyObject* storage;
  PyObject* layout;
  long long address;
  if (!PyArg_ParseTupleAndKeywords(given, keywords, "O!O!L", const_cast<char**>(names),
                                   storage_type, &storage, layout_type, &layout, &address)) {
    return -1;
  }
  return set_region(as_region(self), storage, layout, address) ? 0 : -1;
}

PyObject* record_address(PyObject* self, void*) {
  return PyLong_FromVoidPtr(&as_region(self).record);
}

PyObject* part_of(PyObject* self, void*) {
  return Py_NewRef(as_region(self).is_whole ? Py_None : self);
}

PyGetSetDef kRegionProperties[] = {
    {"record", in_turn<record_address>, nullptr, "The address of what launches read of it.",
     nullptr},
    {"part", in_turn<part_of>, nullptr,
     "What borrows of it are of: None where that is all of its storage.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef kRegionMembers[] = {
    {"layout", T_OBJECT_EX, offsetof(RegionObject, layout), READONLY, "What is laid over memory."},
    {"storage", T_OBJECT_EX, offsetof(RegionObject, storage), READONLY, "The memory."},
    {"address", T_LONGLONG, offsetof(RegionObject, record) + offsetof(TensorRecord, address),
     READONLY, "Of its first element."},
    {"kind", T_LONGLONG, offsetof(RegionObject, record) + offsetof(TensorRecord, kind), READONLY,
     "Equal for tensors of one layout on one device, aligned alike, and for no others."},
    {"is_whole", T_BOOL, offsetof(RegionObject, is_whole), READONLY,
     "Whether it is all of its storage for certain, so that any use of that meets it."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kRegionSlots[] = {
    {Py_tp_doc, const_cast<char*>("A layout laid over memory.")},
    {Py_tp_init, as_slot(in_turn<init_region>)},
    {Py_tp_getset, kRegionProperties},
    {Py_tp_members, kRegionMembers},
    {Py_tp_traverse, as_slot(RegionFields::visit)},
    {Py_tp_clear, as_slot(in_turn<RegionFields::clear>)},
    {Py_tp_dealloc, as_slot(RegionFields::free)},
    {0, nullptr},
};

PyType_Spec kRegionSpec = {"tilewright._core.Region", sizeof(RegionObject), 0, kBaseTypeFlags,
                           kRegionSlots};

PyObject* set_storage_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  StorageClasses found;
  found.state = setup.type("BorrowState");
  found.storage = setup.type("Storage");
  found.new_order = setup.object("Order");
  if (!setup.ok()) return nullptr;
  if (!PyType_IsSubtype(found.storage, storage_type)) {
    PyErr_SetString(PyExc_TypeError, "a class that extends Storage is expected");
    return nullptr;
  }
  found.region = classes.region;
  classes = found;
  Py_RETURN_NONE;
}

PyObject* set_region_class(PyObject*, PyObject* cls) {
  if (!PyType_Check(cls) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), region_type)) {
    PyErr_SetString(PyExc_TypeError, "a class that extends Region is expected");
    return nullptr;
  }
  classes.region = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls));
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_storage_classes", in_turn<set_storage_classes>, METH_O,
     "Say of what classes memory is made."},
    {"set_region_class", in_turn<set_region_class>, METH_O, "Say of what class regions are."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int64_t device_number(PyObject* device) {
  auto& known = known_devices();
  for (const KnownDevice& each : known) {
    if (each.device == device && target_of(each.reference.get()).get() == device) {
      return each.number;
    }
  }
  Owned reference(PyWeakref_NewRef(device, nullptr));
  if (!reference) return -1;
  const auto number = static_cast<int64_t>(known.size());
  known.push_back({device, std::move(reference), number});
  return number;
}

Owned new_storage(const MemoryPiece& memory) {
  if (classes.storage == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "set_storage_classes() was not called");
    return Owned();
  }
  Owned made(classes.storage->tp_alloc(classes.storage, 0));
  return made && set_memory(as_storage(made.get()), memory) ? std::move(made) : Owned();
}

Owned new_region(PyObject* storage, PyObject* layout, int64_t address) {
  if (classes.region == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "set_region_class() was not called");
    return Owned();
  }
  Owned made(classes.region->tp_alloc(classes.region, 0));
  return made && set_region(as_region(made.get()), storage, layout, address) ? std::move(made)
                                                                            : Owned();
}

int add_storage(PyObject* module) {
  if (PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  extent_type = add_type(module, kExtentSpec);
  layout_type = extent_type == nullptr ? nullptr : add_type(module, kLayoutSpec);
  tiling_type = layout_type == nullptr ? nullptr : add_type(module, kTilingSpec);
  storage_type = tiling_type == nullptr ? nullptr : add_type(module, kStorageSpec);
  region_type = storage_type == nullptr ? nullptr : add_type(module, kRegionSpec, extent_type);
  return region_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
