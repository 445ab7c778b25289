#include "python/location.hpp"

#include "python/module.hpp"

namespace tw::py {

namespace {

// Tells by file name whether code is Tilewright's own: `base.location.OURS`, a dict.
PyObject* ours = nullptr;

// Whether a code object is Tilewright's own; -1: an error is set.
int is_ours(PyCodeObject* code) {
  if (ours == nullptr) return 0;
  PyObject* known = PyDict_GetItemWithError(ours, code->co_filename);
  if (known != nullptr) return known == Py_True;
  if (PyErr_Occurred()) return -1;
  const Owned found(PyObject_GetItem(ours, code->co_filename));  // asks `__missing__`
  if (!found) return -1;
  return found.get() == Py_True;
}

PyObject* as_tuple(PyObject* code, int instruction) {
  const Owned number(PyLong_FromLong(instruction));
  return number ? PyTuple_Pack(2, code, number.get()) : nullptr;
}

PyObject* set_ours(PyObject*, PyObject* table) {
  if (!PyDict_Check(table)) {
    PyErr_SetString(PyExc_TypeError, "set_ours() takes a dict");
    return nullptr;
  }
  Py_XSETREF(ours, Py_NewRef(table));
  Py_RETURN_NONE;
}

PyObject* location(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("location", given, count, 1);
  const int64_t known = arguments.number();
  return arguments.ok() ? caller_location(known) : nullptr;
}

PyMethodDef kMethods[] = {
    {"set_ours", set_ours, METH_O, "Say by which dict files are told to be Tilewright's own."},
    {"location", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(location)), METH_FASTCALL,
     "Find the innermost frame that is not Tilewright's own, `known` frames up or further."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* caller_location(int64_t known) {
  Owned frame(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
  while (frame) {
    auto* its = reinterpret_cast<PyFrameObject*>(frame.get());
    if (known-- <= 0) {
      const Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(its)));
      const int mine = is_ours(reinterpret_cast<PyCodeObject*>(code.get()));
      if (mine < 0) return nullptr;
      if (mine == 0) return as_tuple(code.get(), PyFrame_GetLasti(its));
    }
    frame = Owned(reinterpret_cast<PyObject*>(PyFrame_GetBack(its)));
  }
  Py_RETURN_NONE;
}

int add_location(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace tw::py
