// Where objects of Python classes keep what is in `__slots__`, as their member descriptors say.
#pragma once

#include "python/objects.hpp"
#include "python/py.hpp"

namespace tw::py {

// The offset of a slot in objects of a class and of those that come from it; -1: an error is set,
// as there is no such slot.
int64_t slot_offset(PyObject* cls, const char* name);

// A slot by its name, and where its offset goes.
struct SlotName {
  const char* name;
  int64_t* offset;
};

// Finds several; false: an error is set, and nothing was written.
bool find_slots(PyObject* cls, const SlotName* names, size_t count);

template <size_t N>
bool find_slots(PyObject* cls, const SlotName (&names)[N]) {
  return find_slots(cls, names, N);
}

// The number in a slot. Where there is none, -1 with an error set.
inline int64_t number_in(PyObject* object, int64_t offset) {
  const SlotValue found = slot_value(object, offset);
  if (found) return PyLong_AsLongLong(found.get());
  PyErr_SetString(PyExc_AttributeError, "a slot that native code reads was never set");
  return -1;
}

template <typename T>
T* address_in(PyObject* object, int64_t offset) {
  return reinterpret_cast<T*>(number_in(object, offset));
}

}  // namespace tw::py
