// A function that XLA calls: it returns a status, whatever happens in Python.
//
// A function of Python may be left by an interrupt at any point, before its first line and after
// its last one, too. ctypes has no result then, and XLA would take for one whatever stands in its
// place: that all went well, or an address. So ctypes calls an object of this type, in which no
// interrupt is noticed but by the function that it calls; that interrupt is raised again once XLA
// was told of a failure.
#include <cstddef>

#include "python/module.hpp"

namespace tw::py {

namespace {

constexpr const char* kInterrupted = "KeyboardInterrupt: a kernel was left before its end";
constexpr int kUnknownError = 2;

// Of XLA's ffi/api/c_api.h, as far as it is used; all of it has been there since its first version.
struct Head {
  std::size_t size;
  void* extension;
};

struct NewError {
  Head head;
  const char* message;
  int code;
};

struct Version {
  Head head;
  int major;
  int minor;
};

struct Api {
  Head head;
  Version version;
  void* internal;
  void* (*create_error)(NewError*);
};

struct Frame {
  Head head;
  const Api* api;
};

void* interrupted_error(const Frame& frame) {
  NewError error{{sizeof(NewError), nullptr}, kInterrupted, kUnknownError};
  return frame.api->create_error(&error);
}

struct HandlerObject {
  PyObject_HEAD
  PyObject* function;
};

// Calls the function with the address of the frame; it gives that of an error of XLA's, or 0.
PyObject* handler_call(PyObject* self, PyObject* given, PyObject* named) {
  unsigned long long address;
  if (named != nullptr && PyDict_GET_SIZE(named) != 0) {
    PyErr_SetString(PyExc_TypeError, "XlaHandler() takes no keywords");
    return nullptr;
  }
  if (!PyArg_ParseTuple(given, "K:XlaHandler", &address)) return nullptr;
  PyObject* function = reinterpret_cast<HandlerObject*>(self)->function;
  Owned status(PyObject_CallFunction(function, "K", address));
  if (status && PyLong_Check(status.get())) return status.release();
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
    PyErr_WriteUnraisable(function);
  }
  PyErr_Clear();
  void* error = interrupted_error(*reinterpret_cast<const Frame*>(address));
  PyErr_SetInterrupt();
  return PyLong_FromVoidPtr(error);
}

PyObject* new_handler(PyTypeObject* type, PyObject* given, PyObject* named) {
  static const char* kNames[] = {"function", nullptr};
  PyObject* function;
  if (!PyArg_ParseTupleAndKeywords(given, named, "O:XlaHandler", const_cast<char**>(kNames),
                                   &function)) {
    return nullptr;
  }
  if (!PyCallable_Check(function)) {
    return PyErr_Format(PyExc_TypeError, "XlaHandler() takes a callable, got %.100s",
                        Py_TYPE(function)->tp_name);
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) reinterpret_cast<HandlerObject*>(self)->function = Py_NewRef(function);
  return self;
}

int handler_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<HandlerObject*>(self)->function);
  return 0;
}

int handler_clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<HandlerObject*>(self)->function);
  return 0;
}

void free_handler(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  handler_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot kSlots[] = {
    {Py_tp_doc, const_cast<char*>("A function of Python that XLA calls by way of ctypes.")},
    {Py_tp_new, reinterpret_cast<void*>(new_handler)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_handler)},
    {Py_tp_traverse, reinterpret_cast<void*>(handler_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(handler_clear)},
    {Py_tp_call, reinterpret_cast<void*>(handler_call)},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.XlaHandler", sizeof(HandlerObject), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, kSlots};

}  // namespace

int add_xla(PyObject* module) {
  const Owned type(PyType_FromModuleAndSpec(module, &kSpec, nullptr));
  if (!type || PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) < 0) return -1;
  return PyModule_AddStringConstant(module, "XLA_INTERRUPTED", kInterrupted);
}

}  // namespace tw::py
