// Pools that memory comes from, of the host or of a device, and pieces of it, as types of Python.
#include "cpu/block_cache.hpp"
#include "python/cuda_staging.hpp"
#include "python/memory.hpp"
#include "python/module.hpp"

namespace tw::py {

namespace {

// The base of `devices.cpu.caching.HostPool` and of `devices.cuda.memory.DevicePool`.
struct PoolObject {
  PyObject_HEAD
  cpu::BlockCache* cache;
  int64_t threshold;  // bytes that it keeps unused, at most
  char is_exact;  // blocks have the sizes asked for, which are not rounded up
};

// Bytes of a pool, given back to it with this object.
struct MemoryObject {
  PyObject_HEAD
  PyObject* weak_references;
  int64_t bytes;
  cpu::Block block;
  PyObject* pool;  // null: it has no memory yet
};

PyTypeObject* pool_type = nullptr;
PyTypeObject* memory_type = nullptr;
PyObject* name_allocate = nullptr;
PyObject* names_zeroed = nullptr;  // a tuple: a keyword

MemoryObject& as_memory(PyObject* self) { return as<MemoryObject>(self); }
cpu::BlockCache& cache_of(PyObject* pool) { return *as<PoolObject>(pool).cache; }

PyObject* new_pool(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  as<PoolObject>(self).cache = new cpu::BlockCache();
  as<PoolObject>(self).threshold = INT64_MAX;
  return self;
}

void free_pool(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (type->tp_finalize != nullptr && PyObject_CallFinalizerFromDealloc(self) < 0) return;
  PyObject_GC_UnTrack(self);
  const Turn turn;
  cpu::Block block{};
  while (cache_of(self).drop_oldest(block)) Py_XDECREF(static_cast<PyObject*>(block.keeper));
  delete as<PoolObject>(self).cache;
  type->tp_free(self);
  Py_DECREF(type);
}

// Takes over the reference to what keeps the block.
PyObject* new_memory(PyObject* pool, const cpu::Block& block, int64_t bytes) {
  PyObject* self = memory_type->tp_alloc(memory_type, 0);
  if (self == nullptr) {
    cache_of(pool).give_back(block);
    return nullptr;
  }
  as_memory(self).bytes = bytes;
  as_memory(self).block = block;
  as_memory(self).pool = Py_NewRef(pool);
  return self;
}

// The size of the blocks that a pool gives for a size asked for.
int64_t size_in(PyObject* pool, int64_t bytes) {
  return as<PoolObject>(pool).is_exact != 0 ? bytes : cpu::BlockCache::size_class(bytes);
}

PyObject* take(PyObject* self, PyObject* given) {
  const int64_t bytes = PyLong_AsLongLong(given);
  if (bytes == -1 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return nullptr;
    PyErr_Clear();  // nobody has as much
    Py_RETURN_NONE;
  }
  if (bytes < 0) Py_RETURN_NONE;
  cpu::Block block{};
  if (!cache_of(self).take(size_in(self, bytes), block)) Py_RETURN_NONE;
  return new_memory(self, block, bytes);
}

PyObject* adopt(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("adopt", given, count, 4);
  PyObject* keeper = arguments.object();
  const int64_t address = arguments.number();
  const int64_t bytes = arguments.number();
  const int64_t size = arguments.number();
  if (!arguments.ok()) return nullptr;
  cache_of(self).add(size);
  return new_memory(self, {Py_NewRef(keeper), address, size, 0}, bytes);
}

PyObject* drop_oldest(PyObject* self, PyObject*) {
  cpu::Block block{};
  if (!cache_of(self).drop_oldest(block)) Py_RETURN_NONE;
  const Owned keeper(static_cast<PyObject*>(block.keeper));
  return Py_BuildValue("OLL", keeper.get(), static_cast<long long>(block.address),
                       static_cast<long long>(block.size));
}

PyObject* counts(PyObject* self, PyObject*) {
  const cpu::BlockCache& cache = cache_of(self);
  return Py_BuildValue("LLLL", static_cast<long long>(cache.used()),
                       static_cast<long long>(cache.unused()),
                       static_cast<long long>(cache.used_high()),
                       static_cast<long long>(cache.reserved_high()));
}

PyObject* unused_of(PyObject* self, void*) { return PyLong_FromLongLong(cache_of(self).unused()); }

PyObject* size_class(PyObject*, PyObject* given) {
  const int64_t bytes = PyLong_AsLongLong(given);
  if (bytes == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromLongLong(cpu::BlockCache::size_class(bytes));
}

PyMethodDef kPoolMethods[] = {
    {"_take", in_turn<take>, METH_O,
     "Memory of so many bytes that was used before; None: there is none."},
    fast_method("_adopt", in_turn<adopt>, "Make memory of what the system gave, by what keeps it."),
    {"_drop_oldest", in_turn<drop_oldest>, METH_NOARGS, "Let go of what was not used for longest."},
    {"_counts", in_turn<counts>, METH_NOARGS, "Bytes: used, unused, most used, most there were."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kPoolMembers[] = {
    {"_threshold", T_LONGLONG, offsetof(PoolObject, threshold), 0,
     "How many unused bytes it keeps, at most."},
    {"_exact", T_BOOL, offsetof(PoolObject, is_exact), 0,
     "Whether sizes are not rounded up: memory is used again for the very same size alone."},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef kPoolProperties[] = {
    {"unused", in_turn<unused_of>, nullptr, "How many bytes are kept.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot kPoolSlots[] = {
    {Py_tp_doc, const_cast<char*>("Keeps memory that is unused, by size.")},
    {Py_tp_new, as_slot(in_turn<new_pool>)},
    {Py_tp_members, kPoolMembers},
    {Py_tp_methods, kPoolMethods},
    {Py_tp_getset, kPoolProperties},
    {Py_tp_traverse, as_slot(NoFields::visit)},
    {Py_tp_dealloc, as_slot(free_pool)},
    {0, nullptr},
};

PyType_Spec kPoolSpec = {"tilewright._core.BlockPool", sizeof(PoolObject), 0, kBaseTypeFlags,
                         kPoolSlots};

// Runs no Python: it may come in the middle of anything.
void free_memory(PyObject* self) {
  MemoryObject& memory = as_memory(self);
  if (memory.weak_references != nullptr) PyObject_ClearWeakRefs(self);
  PyTypeObject* type = Py_TYPE(self);
  if (memory.pool != nullptr) {
    const Turn turn;
    cache_of(memory.pool).give_back(memory.block);
    Py_DECREF(memory.pool);
  }
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef kMemoryMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(MemoryObject, weak_references), READONLY, nullptr},
    {"address", T_LONGLONG, offsetof(MemoryObject, block) + offsetof(cpu::Block, address), READONLY,
     "Of its first byte: a multiple of 64 at least."},
    {"nbytes", T_LONGLONG, offsetof(MemoryObject, bytes), READONLY, "How many bytes it has."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kMemorySlots[] = {
    {Py_tp_doc, const_cast<char*>("Bytes of a pool, given back to it with this object.")},
    {Py_tp_members, kMemoryMembers},
    {Py_tp_dealloc, as_slot(free_memory)},
    {0, nullptr},
};

PyType_Spec kMemorySpec = {"tilewright._core.PooledMemory", sizeof(MemoryObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kMemorySlots};

PyMethodDef kFunctions[] = {
    {"size_class", in_turn<size_class>, METH_O, "The size that is allocated for a size asked for."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Owned take_unused(PyObject* pool, int64_t bytes) {
  if (!PyObject_TypeCheck(pool, pool_type)) {
    PyErr_Format(PyExc_TypeError, "a pool is expected, got %.100s", Py_TYPE(pool)->tp_name);
    return Owned();
  }
  cpu::BlockCache& cache = cache_of(pool);
  cpu::Block block{};
  const bool is_found = bytes >= 0 && cache.unused() <= as<PoolObject>(pool).threshold &&
                        cache.take(size_in(pool, bytes), block);
  return is_found ? Owned(new_memory(pool, block, bytes)) : Owned();
}

Owned allocate_from(PyObject* pool, int64_t bytes) {
  Owned found = take_unused(pool, bytes);
  if (found || PyErr_Occurred()) return found;
  const Owned number(PyLong_FromLongLong(bytes));
  PyObject* given[] = {pool, number.get(), Py_False};
  Owned made(number ? out_of_turn(PyObject_VectorcallMethod, name_allocate, given, 2, names_zeroed)
                    : nullptr);
  if (made && Py_TYPE(made.get()) != memory_type) {
    PyErr_SetString(PyExc_TypeError, "memory of a pool is expected");
    return Owned();
  }
  return made;
}

int64_t address_of_memory(PyObject* memory) { return as_memory(memory).block.address; }

int add_host_memory(PyObject* module) {
  name_allocate = PyUnicode_InternFromString("allocate");
  names_zeroed = Py_BuildValue("(s)", "zeroed");
  if (name_allocate == nullptr || names_zeroed == nullptr) return -1;
  if (PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  pool_type = add_type(module, kPoolSpec);
  memory_type = pool_type == nullptr ? nullptr : add_type(module, kMemorySpec);
  return memory_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
