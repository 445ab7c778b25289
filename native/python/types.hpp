// Native types that Python's classes extend: their fields, and how these are visited and freed.
//
// Python can make an object without initializing it (`object.__new__`), so any field may be null.
#pragma once

#include "python/turn.hpp"
//
#include <structmember.h>  // needs Python.h

namespace tw::py {

// The error that is set, put aside for a scope in which other Python runs; set again at its end,
// whatever happened meanwhile.
class SavedError {
 public:
#if PY_VERSION_HEX >= 0x030C0000
  SavedError() : error_(PyErr_GetRaisedException()) {}
  ~SavedError() {
    if (error_ != nullptr) PyErr_SetRaisedException(error_);
  }
#else
  SavedError() { PyErr_Fetch(&kind_, &error_, &trace_); }
  ~SavedError() {
    if (kind_ != nullptr) PyErr_Restore(kind_, error_, trace_);
  }
#endif
  SavedError(const SavedError&) = delete;
  SavedError& operator=(const SavedError&) = delete;

 private:
#if PY_VERSION_HEX < 0x030C0000
  PyObject* kind_ = nullptr;
  PyObject* trace_ = nullptr;
#endif
  PyObject* error_ = nullptr;
};

// The fields of a native object that refer to others: those from `First` to the end of `Object`,
// each a `PyObject*`. `Base` is what the object begins with.
template <typename Object, typename Base, size_t kFirst>
struct Fields {
  static constexpr size_t kCount = (sizeof(Object) - kFirst) / sizeof(PyObject*);

  static PyObject** of(PyObject* self) {
    return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(self) + kFirst);
  }

  static int visit(PyObject* self, visitproc visit, void* arg) {
    for (size_t i = 0; i < kCount; ++i) Py_VISIT(of(self)[i]);
    return Base::visit(self, visit, arg);
  }

  static int clear(PyObject* self) {
    for (size_t i = 0; i < kCount; ++i) Py_CLEAR(of(self)[i]);
    return Base::clear(self);
  }

  static void free(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    if (type->tp_finalize != nullptr && PyObject_CallFinalizerFromDealloc(self) < 0) return;
    PyObject_GC_UnTrack(self);
    {
      const Turn turn;
      clear(self);
    }
    type->tp_free(self);
    Py_DECREF(type);
  }

  // Whether all of them are there.
  static bool are_set(PyObject* self) {
    for (size_t i = 0; i < kCount; ++i) {
      if (of(self)[i] == nullptr) return false;
    }
    return true;
  }
};

// What every object begins with.
struct NoFields {
  static int visit(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return 0;
  }
  static int clear(PyObject*) { return 0; }
};

inline constexpr unsigned kBaseTypeFlags =
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;

template <typename Function>
void* as_slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

// A method as `PyMethodDef` has it, of any of the signatures that its flags stand for.
template <typename Function>
PyCFunction as_method(Function* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

// Makes a type and adds it to the module; null: an error is set. The reference is the module's.
// Where turns are taken, its members are read and assigned in turn.
PyTypeObject* add_type(PyObject* module, PyType_Spec& spec, PyTypeObject* base = nullptr);

// A field of a native object takes a reference, and gives up the one before.
inline void set_field(PyObject*& field, PyObject* value) { Py_XSETREF(field, Py_XNewRef(value)); }

// What a weak reference refers to; empty: it is gone, or that is no weak reference.
inline Owned target_of(PyObject* reference) {
  if (reference == nullptr || !PyWeakref_Check(reference)) return Owned();
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* found = nullptr;
  if (PyWeakref_GetRef(reference, &found) < 0) PyErr_Clear();
  return Owned(found);
#else
  PyObject* found = PyWeakref_GetObject(reference);
  return found == Py_None ? Owned() : Owned::borrowed(found);
#endif
}

inline bool is_alive(PyObject* reference) { return bool(target_of(reference)); }

}  // namespace tw::py
