// Slots of Python's objects, at offsets that were given once.
#pragma once

#include "core/records.hpp"
#include "python/turn.hpp"

namespace tw::py {

// An object that a record names; it stays the record's.
inline PyObject* object_of(Object object) { return static_cast<PyObject*>(object); }

inline PyObject** slot_at(PyObject* object, int64_t offset) {
  return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
}

// What an object has in a slot; it stays the object's. Null: nothing. For slots that are assigned
// once, or whose value is only compared.
inline PyObject* slot(PyObject* object, int64_t offset) { return *slot_at(object, offset); }

// What is in a slot that any thread may assign: it stays until this goes.
#ifdef Py_GIL_DISABLED
using SlotValue = Owned;

inline SlotValue slot_value(PyObject* object, int64_t offset) {
  const ObjectLock lock(object);
  return Owned::borrowed(slot(object, offset));
}
#else
class SlotValue {
 public:
  explicit SlotValue(PyObject* object) : object_(object) {}
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

inline SlotValue slot_value(PyObject* object, int64_t offset) {
  return SlotValue(slot(object, offset));
}
#endif

// The same, where None is nothing, too.
inline PyObject* some_in_slot(PyObject* object, int64_t offset) {
  PyObject* found = slot(object, offset);
  return found == Py_None ? nullptr : found;
}

// Gives an object something for a slot, which the slot refers to from now on.
inline void set_slot(PyObject* object, int64_t offset, PyObject* given) {
  PyObject** at = slot_at(object, offset);
  Owned before;
  const ObjectLock lock(object);
  before = Owned(std::exchange(*at, Py_XNewRef(given)));
}

// What a dict has for a key. Empty: nothing, or an error is set.
inline Owned item_of(PyObject* dict, PyObject* key) {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* found = nullptr;
  PyDict_GetItemRef(dict, key, &found);
  return Owned(found);
#else
  return Owned::borrowed(PyDict_GetItemWithError(dict, key));
#endif
}

// The last item of a list, which the list gives up; other threads may do the same. Empty without an
// error: the list has none.
Owned take_last(PyObject* list);

// Whether that is its very class.
inline bool is_exactly(PyObject* object, Object cls) {
  return Py_TYPE(object) == static_cast<PyTypeObject*>(cls);
}

}  // namespace tw::py
