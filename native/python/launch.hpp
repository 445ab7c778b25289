// Launches of kernels: the op that calling a kernel gives.
#pragma once

#include "python/borrowing.hpp"
#include "python/endings.hpp"

namespace tw::py {

// The base of `launch.operation.Launch`.
struct LaunchObject {
  OpObject op;
  char effect;         // whether dropping it unused is a mistake
  char staged;         // whether argument ops run first
  char host_data;      // whether one of these gives host data
  PyObject* args;      // a tuple: what the kernel was given
  PyObject* held;      // as `bind` gives it; None: the arguments need a closer look
  PyObject* examined;  // the arguments as Python binds them; None: it did not
  PyObject* kernel;
  PyObject* numbers;  // those among the arguments, as Python numbers
  PyObject* request;  // what it asks for besides
  PyObject* keywords;  // what it was given by name
  PyObject* pledges;   // where some arguments are ops: the borrows of the others
  PyObject* made_of;   // a tuple: these ops
};

// Makes a launch of a class for a program that stands at a location. Null: an error is set.
Owned new_launch(PyTypeObject* type, PyObject* kernel, PyObject* args, PyObject* request,
                 PyObject* location);

using LaunchFields = Fields<LaunchObject, OpFields, offsetof(LaunchObject, args)>;

inline LaunchObject& as_launch(PyObject* self) { return *reinterpret_cast<LaunchObject*>(self); }

extern PyTypeObject* launch_type;

// Items of what `bind` gave.
inline PyObject* use_in(PyObject* held) { return item_in(held, kUse); }
inline PyObject* row_in(PyObject* held) { return item_in(held, kRow); }
inline PyObject* known_in(PyObject* held) { return item_in(held, kKnown); }
inline bool has_former_in(PyObject* held) { return item_in(held, kFormer) == Py_True; }

// How most calls of a kernel with so many values are bound; it stays the kernel's. Null: there is
// no such way.
const BindPlan* bind_plan_of(PyObject* kernel, Py_ssize_t given);

// Binds the values of a call as `bind` does, and its numbers, for a program that stands at `known`;
// None: it is to be found out. None: the call needs a closer look. Null: an error is set.
Owned bind_known(PyObject* kernel, PyObject* values, PyObject* known, Owned& numbers);

// What is known of launches whose tensors are of the same kinds: `launch.form.Known`.
bool is_known(PyObject* object);

// How numbers are accepted there, as `NumberRange` says, one for each; null: that is not known.
PyObject* ranges_in(PyObject* known);

}  // namespace tw::py
