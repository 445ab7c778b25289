// Memory that other libraries know, found by its addresses, so that aliases share borrow state.
//
// A storage is known by a weak reference, and forgotten when it is destroyed. The interpreter's
// lock guards the table: nothing that looks into it runs Python. Who adds to it holds the lock of
// borrow state, so that nobody finds a storage that has not met its neighbours yet.
#include <vector>

#include "core/address_ranges.hpp"
#include "python/borrowing.hpp"
#include "python/memory.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// What Python tells once.
struct ImportClasses {
  PyObject* introduce = nullptr;  // makes two storages that overlap neighbours
  PyObject* prepare = nullptr;    // called before the first import
};

ImportClasses classes;
bool is_prepared = false;

AddressRanges<StorageObject*>& imports() {
  static auto* known = new AddressRanges<StorageObject*>();  // not destroyed: Python is gone then
  return *known;
}

// A strong reference to a storage that is known; empty: it is being destroyed. By its weak
// reference, so that nothing is found that the collector has begun to take apart.
Owned alive(StorageObject* storage) { return target_of(storage->reference); }

Owned known_import(int64_t device, int64_t start, int64_t end, bool is_readonly) {
  Owned found;
  imports().any_equal(start, end, [&](StorageObject* each) {
    if (each->device_number != device || (each->is_readonly != 0) != is_readonly) return false;
    found = alive(each);
    return static_cast<bool>(found);
  });
  return found;
}

std::vector<Owned> imports_meeting(int64_t start, int64_t end) {
  std::vector<Owned> found;
  imports().any_meeting(start, end, [&](StorageObject* each) {
    if (Owned storage = alive(each)) found.push_back(std::move(storage));
    return false;
  });
  return found;
}

int64_t end_of(const StorageObject& storage) { return storage.address + storage.bytes; }

// Makes a storage a neighbour of all that it overlaps. False: an error is set.
bool introduce(PyObject* storage, const std::vector<Owned>& others) {
  for (const Owned& other : others) {
    if (!call_python(classes.introduce, {storage, other.get()})) return false;
  }
  return true;
}

// Has a storage found by its addresses from now on; gives it, or the one that is known for the same
// bytes. Null: an error is set.
Owned include(PyObject* self) {
  StorageObject& storage = as<StorageObject>(self);
  const Owned reference(prepare_memory() ? PyWeakref_NewRef(self, nullptr) : nullptr);
  if (!reference) return Owned();
  const int64_t start = storage.address, end = end_of(storage);
  for (bool runs_python = false;; runs_python = true) {
    const BorrowLock lock(runs_python);
    Owned known = known_import(storage.device_number, start, end, storage.is_readonly != 0);
    if (known) return known;
    const std::vector<Owned> others = imports_meeting(start, end);
    if (!others.empty() && !runs_python) continue;
    if (!introduce(self, others)) return Owned();
    imports().add(start, end, &storage);
    storage.is_import = 1;
    storage.reference = Py_NewRef(reference.get());
    return Owned::borrowed(self);
  }
}

PyObject* find_import_function(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("find_import", given, count, 5);
  PyObject* device = arguments.object();
  PyObject* owner = arguments.object();
  const int64_t start = arguments.number();
  const int64_t end = arguments.number();
  PyObject* readonly = arguments.object();
  const int is_readonly = arguments.ok() ? PyObject_IsTrue(readonly) : -1;
  if (is_readonly < 0) return nullptr;
  if (start > end) {
    PyErr_SetString(PyExc_ValueError, "memory ends behind its beginning");
    return nullptr;
  }
  return find_import(device, owner, start, end, is_readonly != 0).release();
}

PyObject* include_import(PyObject*, PyObject* storage) {
  if (!PyObject_TypeCheck(storage, storage_type) || as<StorageObject>(storage).state == nullptr) {
    PyErr_SetString(PyExc_TypeError, "a storage that was initialized is expected");
    return nullptr;
  }
  if (as<StorageObject>(storage).bytes > 0 && !include(storage)) return nullptr;
  Py_RETURN_NONE;
}

// `(start, end)`: see `meets_import`.
PyObject* meets_import_function(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("meets_import", given, count, 2);
  const int64_t start = arguments.number();
  const int64_t end = arguments.number();
  return arguments.ok() ? PyBool_FromLong(meets_import(start, end)) : nullptr;
}

PyObject* count_imports(PyObject*, PyObject*) { return PyLong_FromSize_t(imports().size()); }

PyObject* set_import_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  ImportClasses found;
  found.introduce = setup.object("introduce");
  found.prepare = setup.object("prepare");
  if (!setup.ok()) return nullptr;
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    fast_method("find_import", in_turn<find_import_function>,
                "Find the storage for memory that other libraries know, or make it."),
    {"include_import", in_turn<include_import>, METH_O,
     "Have memory of our own that others see found when it comes back."},
    fast_method("meets_import", in_turn<meets_import_function>,
                "Tell whether some of these addresses are known."),
    {"count_imports", in_turn<count_imports>, METH_NOARGS, "Count the storages that are known."},
    {"set_import_classes", in_turn<set_import_classes>, METH_O, "Say what Python has for imports."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Owned find_import(PyObject* device, PyObject* owner, int64_t start, int64_t end,
                  bool is_readonly) {
  // All that is empty may have one address, and shares nothing.
  if (start == end) return new_storage({device, start, 0, owner, is_readonly});
  const int64_t number = device_number(device);
  if (number < 0) return Owned();
  {
    const BorrowLock lock;
    Owned known = known_import(number, start, end, is_readonly);
    if (known) return known;
  }
  const Owned made = new_storage({device, start, end - start, owner, is_readonly});
  return made ? include(made.get()) : Owned();
}

bool prepare_memory() {
  if (is_prepared) return true;
  if (!call_python(classes.prepare, {})) return false;
  is_prepared = true;
  return true;
}

bool meets_import(int64_t start, int64_t end) {
  return imports().any_meeting(start, end, [](StorageObject* each) { return bool(alive(each)); });
}

void forget_import(StorageObject& storage) {
  if (!storage.is_import) return;
  storage.is_import = 0;
  imports().remove(storage.address, end_of(storage), &storage);
  Py_CLEAR(storage.reference);
}

int add_imports(PyObject* module) { return PyModule_AddFunctions(module, kFunctions); }

}  // namespace tw::py
