// What Python tells the core once: objects by name, which stay for good, and slots of classes.
#pragma once

#include <initializer_list>

#include "python/slots.hpp"

namespace tw::py {

// Reads a dict of objects by name. After the first that is missing an error is set, and `ok` is
// false.
class Setup {
 public:
  explicit Setup(PyObject* given) : given_(given) {
    if (PyDict_Check(given)) return;
    PyErr_Format(PyExc_TypeError, "a dict is expected, got %.100s", Py_TYPE(given)->tp_name);
    ok_ = false;
  }

  bool ok() const { return ok_; }

  // A new reference, which is kept for good.
  PyObject* object(const char* name) { return Py_XNewRef(find(name)); }

  int64_t number(const char* name) {
    PyObject* found = find(name);
    const int64_t number = found == nullptr ? 0 : PyLong_AsLongLong(found);
    if (number == -1 && PyErr_Occurred()) ok_ = false;
    return number;
  }

  PyTypeObject* type(const char* name) {
    PyObject* found = find(name);
    if (found != nullptr && !PyType_Check(found)) {
      PyErr_Format(PyExc_TypeError, "%s is no class", name);
      ok_ = false;
      return nullptr;
    }
    return reinterpret_cast<PyTypeObject*>(Py_XNewRef(found));
  }

  // The class of this name, and where its objects keep slots.
  PyTypeObject* type(const char* name, std::initializer_list<SlotName> slots) {
    PyTypeObject* found = type(name);
    if (found != nullptr &&
        !find_slots(reinterpret_cast<PyObject*>(found), slots.begin(), slots.size())) {
      ok_ = false;
    }
    return found;
  }

 private:
  PyObject* find(const char* name) {
    if (!ok_) return nullptr;
    PyObject* found = PyDict_GetItemString(given_, name);
    if (found == nullptr) {
      PyErr_Format(PyExc_TypeError, "%s is missing", name);
      ok_ = false;
    }
    return found;
  }

  PyObject* given_;
  bool ok_ = true;
};

// Calls a function of Python's that the core was told of. Null: an error is set.
inline Owned call_python(PyObject* function, std::initializer_list<PyObject*> given) {
  if (function == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "tilewright was not imported as a whole");
    return Owned();
  }
  return Owned(out_of_turn(PyObject_Vectorcall, function, given.begin(), given.size(), nullptr));
}

}  // namespace tw::py
