// Memory that is exported or imported by DLPack: who is told when it is not needed any longer.
//
// Our deleter may be called from any thread, with or without the interpreter's lock, and after the
// interpreter is gone. So it does one thing: it sets the word that the managed tensor's context
// points to. Whoever looks at exports next finds it (tensors/releases.py).
//
// Deleters of others may do anything, so no finalizer calls them: what is due is called by who next
// imports or allocates, outside of all locks.
#include "python/dlpack.hpp"

#include <atomic>
#include <vector>

#include "python/module.hpp"
#include "python/types.hpp"

namespace tw::py {

namespace {

// Exports

template <typename Managed>
void delete_tensor(Managed* managed) {
  static_cast<std::atomic<uint64_t>*>(managed->context)->store(1, std::memory_order_release);
}

// Of a capsule: deletes the managed tensor, if nobody has taken it over.
template <typename Managed>
void destroy_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, Managed::kCapsule)) {
    delete_tensor(static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kCapsule)));
  }
}

// Imports

// What is left to do for a managed tensor of another library.
struct Deletion {
  void (*deleter)(void*);  // null: nothing
  void* managed;
};

// Keeps a managed tensor of another library.
struct ImportedObject {
  PyObject_HEAD
  Deletion deletion;
};

PyTypeObject* imported_type = nullptr;

std::vector<Deletion>& due() {
  static auto* deletions = new std::vector<Deletion>();  // not destroyed: Python is gone then
  return *deletions;
}

void free_imported(PyObject* self) {
  const Deletion& deletion = reinterpret_cast<ImportedObject*>(self)->deletion;
  if (deletion.deleter != nullptr) {
    const Turn turn;
    due().push_back(deletion);
  }
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot kImportedSlots[] = {
    {Py_tp_doc, const_cast<char*>("A managed tensor of another library.")},
    {Py_tp_dealloc, as_slot(free_imported)},
    {0, nullptr},
};

PyType_Spec kImportedSpec = {"tilewright._core.Imported", sizeof(ImportedObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             kImportedSlots};

template <typename Managed>
bool take(PyObject* capsule, ImportedObject& imported) {
  if (!PyCapsule_IsValid(capsule, Managed::kCapsule)) return false;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kCapsule));
  if (PyCapsule_SetName(capsule, Managed::kTaken) < 0) return false;
  imported.deletion = {reinterpret_cast<void (*)(void*)>(managed->deleter), managed};
  return true;
}

PyObject* take_capsule_function(PyObject*, PyObject* capsule) {
  return take_capsule(capsule).release();
}

PyObject* sweep_imports_function(PyObject*, PyObject*) {
  sweep_imports();
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"take_capsule", in_turn<take_capsule_function>, METH_O,
     "Take over what is in a capsule of DLPack: gives what keeps it."},
    {"sweep_imports", in_turn<sweep_imports_function>, METH_NOARGS,
     "Call the deleters of what was taken over and is not needed any longer."},
    {nullptr, nullptr, 0, nullptr},
};

template <typename Function>
int add_function(PyObject* module, const char* name, Function* function) {
  const Owned address(PyLong_FromVoidPtr(reinterpret_cast<void*>(function)));
  return address ? PyModule_AddObjectRef(module, name, address.get()) : -1;
}

// Capsules keep a pointer to their name, and may outlive all memory of Python: it stays for good.
int add_name(PyObject* module, const char* name, const char* text) {
  const Owned address(PyLong_FromVoidPtr(const_cast<char*>(text)));
  return address ? PyModule_AddObjectRef(module, name, address.get()) : -1;
}

}  // namespace

Owned take_capsule(PyObject* capsule) {
  Owned made(imported_type->tp_alloc(imported_type, 0));
  if (!made) return made;
  auto& imported = *reinterpret_cast<ImportedObject*>(made.get());
  if (take<VersionedTensor>(capsule, imported) || take<ManagedTensor>(capsule, imported)) {
    return made;
  }
  if (!PyErr_Occurred()) {
    PyErr_SetString(PyExc_BufferError, "a capsule of DLPack that nobody has taken is expected");
  }
  return Owned();
}

Owned keep_managed(VersionedTensor* managed) {
  const Deletion deletion{reinterpret_cast<void (*)(void*)>(managed->deleter), managed};
  Owned made(imported_type->tp_alloc(imported_type, 0));
  if (made) {
    reinterpret_cast<ImportedObject*>(made.get())->deletion = deletion;
  } else if (deletion.deleter != nullptr) {
    due().push_back(deletion);
  }
  return made;
}

void sweep_imports() {
  while (!due().empty()) {
    const std::vector<Deletion> deletions = std::exchange(due(), {});
    const Unlocked unlocked;
    for (const Deletion& each : deletions) each.deleter(each.managed);
  }
}

int add_dlpack(PyObject* module) {
  if (PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  imported_type = add_type(module, kImportedSpec);
  if (imported_type == nullptr) return -1;
  if (add_name(module, "DLPACK_NAME", ManagedTensor::kCapsule) < 0) return -1;
  if (add_name(module, "DLPACK_VERSIONED_NAME", VersionedTensor::kCapsule) < 0) return -1;
  if (add_function(module, "DLPACK_DELETER", delete_tensor<ManagedTensor>) < 0) return -1;
  if (add_function(module, "DLPACK_DESTRUCTOR", destroy_capsule<ManagedTensor>) < 0) return -1;
  if (add_function(module, "DLPACK_VERSIONED_DELETER", delete_tensor<VersionedTensor>) < 0) {
    return -1;
  }
  return add_function(module, "DLPACK_VERSIONED_DESTRUCTOR", destroy_capsule<VersionedTensor>);
}

}  // namespace tw::py
