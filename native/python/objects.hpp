// Slots of Python's objects, at offsets that were given once.
#pragma once

#include "core/records.hpp"
#include "python/py.hpp"

namespace tw::py {

// An object that a record names; it stays the record's.
inline PyObject* object_of(Object object) { return static_cast<PyObject*>(object); }

inline PyObject** slot_at(PyObject* object, int64_t offset) {
  return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
}

// What an object has in a slot; it stays the object's. Null: nothing.
inline PyObject* slot(PyObject* object, int64_t offset) { return *slot_at(object, offset); }

// The same, where None is nothing, too.
inline PyObject* some_in_slot(PyObject* object, int64_t offset) {
  PyObject* found = slot(object, offset);
  return found == Py_None ? nullptr : found;
}

// Gives an object something for a slot, which the slot refers to from now on.
inline void set_slot(PyObject* object, int64_t offset, PyObject* given) {
  PyObject** at = slot_at(object, offset);
  PyObject* before = *at;
  *at = Py_XNewRef(given);
  Py_XDECREF(before);
}

// Whether that is its very class.
inline bool is_exactly(PyObject* object, Object cls) {
  return Py_TYPE(object) == static_cast<PyTypeObject*>(cls);
}

}  // namespace tw::py
