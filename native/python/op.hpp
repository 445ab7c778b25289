// Ops, as Python's classes extend them: where one was built, and who uses it, which happens once.
#pragma once

#include "python/types.hpp"

namespace tw::py {

// An op: the base of `op.lazy.Lazy`.
struct OpObject {
  PyObject_HEAD
  bool is_link;     // whether it is a whole `LinkObject`
  PyObject* built;  // where the program stood that built it
  PyObject* used;   // a tuple: who used it, and where; empty: nobody has
};

using OpFields = Fields<OpObject, NoFields, offsetof(OpObject, built)>;

inline OpObject& as_op(PyObject* self) { return *reinterpret_cast<OpObject*>(self); }

// The use of an op that nobody has used yet. A new reference.
PyObject* unused();

extern PyTypeObject* op_type;

inline bool is_op(PyObject* object) { return PyObject_TypeCheck(object, op_type); }

// Whether there is an op in a tuple.
bool has_op(PyObject* values);

// Marks an op as used by `user`, for a program that stands at `location`, as the `claim_at` of its
// class does. False: an error is set, as it was used before.
bool claim_at(PyObject* op, PyObject* user, PyObject* location);

// Has an op that has run let go of what it holds, as the `spend` of its class does.
bool spend(PyObject* op);

// Whether an attribute of an op is true: 1 or 0; below 0: an error is set.
int flag_of(PyObject* op, PyObject* name);

}  // namespace tw::py
