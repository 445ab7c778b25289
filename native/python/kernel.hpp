// Kernels as calls need them: how arguments are given, and what a call asks for.
#pragma once

#include "python/py.hpp"
#include "python/types.hpp"

namespace tw::py {

// A captured kernel: the base of `launch.kernel.Kernel`.
struct KernelObject {
  PyObject_HEAD
  int64_t variant_key;  // of the variant that was launched last
  PyObject* guard;      // a ContextVar that must be true where launches are built; None: none
  PyObject* plain;      // what binds most calls; None: all need a closer look
  PyObject* bare;       // what calls without keywords ask for; None: that is not known
  PyObject* latest;     // the keywords of the last call, then what it asked for; or None
  // Tuples: for each parameter by position its name, whether it may be given by that, and whether
  // it is None where it is left out; for each number by keyword its name, and its default if there
  // is one; and which parameters may be None, so that calls differ. None: all calls are alike.
  PyObject* places;
  PyObject* numbers;
  PyObject* optional;
  PyObject* variant;  // what was launched last; None: nothing was
};

using KernelFields = Fields<KernelObject, NoFields, offsetof(KernelObject, guard)>;

inline KernelObject& as_kernel(PyObject* self) { return *reinterpret_cast<KernelObject*>(self); }

// Whether that is a kernel with nothing missing.
bool is_whole_kernel(PyObject* kernel);

// Whether launches of a kernel may be built in this context. False: look closer, or an error is
// set.
bool is_allowed(const KernelObject& kernel);

// A call of a kernel, sorted by how it takes its arguments.
struct KernelCall {
  Owned kernel;     // the variant that is launched
  Owned arguments;  // by position, which the op gives back
  Owned values;     // these, and behind them the numbers that are given by keyword
  Owned keywords;   // what else was given by keyword; null: nothing
  Owned constants;  // the same without numbers
};

// Sorts what a kernel is given. False: the call needs a closer look, or an error is set.
bool arrange(PyObject* kernel, PyObject* arguments, PyObject* keywords, KernelCall& call);

// What a call asks for besides its arguments; `constants` may be null. None: that is not known.
// Null: an error is set.
Owned request_of(PyObject* kernel, PyObject* constants);

}  // namespace tw::py
