// Links of chains: each goes on with the result of an op. The base of `op.core.Linked`.
#pragma once

#include "python/context.hpp"
#include "python/op.hpp"

namespace tw::py {

// What a link does with the result of the op before it.
enum class Recipe : char {
  kMap,            // gives what a function makes of it
  kInspect,        // gives it as it is; a function may look at it
  kThen,           // goes on with the op that a function makes of it
  kThenUnchecked,  // the same, and the function may run ops
  kMethod,         // gives what a method of it gives
  kMethodOp,       // goes on with the op that a method of it gives
};

struct LinkObject {
  OpObject op;
  Recipe recipe;
  char waits;      // whether the op before it has not given its result yet
  char effect;     // whether dropping it unused is a mistake
  char host_data;  // whether the host must wait for its result
  char spent;      // whether it has run
  PyObject* source;    // the op before it; null: nothing is known of that any more
  PyObject* name;      // what messages call it
  PyObject* home;      // the device it must run on, or None
  PyObject* verb;      // what the method that built it is called
  PyObject* function;  // what it calls, or the name of a method; None: it has run
  PyObject* extra;     // a tuple: further arguments of that
  PyObject* pledges;   // borrows of these
  PyObject* result_count;  // an int, or null: as the function says
};

using LinkFields = Fields<LinkObject, OpFields, offsetof(LinkObject, source)>;

inline LinkObject& as_link(PyObject* self) { return *reinterpret_cast<LinkObject*>(self); }

extern PyTypeObject* link_type;

// Whether that is a link which still waits for the op before it.
inline bool is_waiting_link(PyObject* op) {
  return as_op(op).is_link && as_link(op).waits;
}

// Whether a link goes on with an op, whose result is its own.
inline bool leads(const LinkObject& link) {
  return link.recipe == Recipe::kThen || link.recipe == Recipe::kThenUnchecked ||
         link.recipe == Recipe::kMethodOp;
}

// The op before it has given `value`: gives the result of a link, or the op that it goes on with.
// Null: an error is set.
Owned go_on(PyObject* link, Owned value, PyObject* context);

}  // namespace tw::py
