// Launches of kernels: the op that calling a kernel gives.
#pragma once

#include "python/endings.hpp"

namespace tw::py {

// The base of `launch.operation.Launch`.
struct LaunchObject {
  OpObject op;
  PyObject* args;      // a tuple: what the kernel was given
  PyObject* held;      // as `bind` gives it; None: the arguments need a closer look
  PyObject* examined;  // the arguments as Python binds them; None: it did not
  PyObject* kernel;
  PyObject* numbers;  // those among the arguments, as Python numbers
  PyObject* request;  // what it asks for besides
};

using LaunchFields = Fields<LaunchObject, OpFields, offsetof(LaunchObject, args)>;

inline LaunchObject& as_launch(PyObject* self) { return *reinterpret_cast<LaunchObject*>(self); }

extern PyTypeObject* launch_type;

// What `bind` gave: the regions of tensors, their tickets, then these.
inline PyObject* use_in(PyObject* held) {
  return PyTuple_GET_ITEM(held, PyTuple_GET_SIZE(held) - 3);
}
inline PyObject* row_in(PyObject* held) {
  return PyTuple_GET_ITEM(held, PyTuple_GET_SIZE(held) - 2);
}
inline PyObject* known_in(PyObject* held) {
  return PyTuple_GET_ITEM(held, PyTuple_GET_SIZE(held) - 1);
}

// What is known of launches whose tensors are of the same kinds: `launch.form.Known`.
bool is_known(PyObject* object);

// How numbers are accepted there, as `NumberRange` says, one for each; null: that is not known.
PyObject* ranges_in(PyObject* known);

}  // namespace tw::py
