// What an op is given when it runs: the base of `op.context.ExecutionContext`.
#pragma once

#include "python/types.hpp"

namespace tw::py {

struct ContextObject {
  PyObject_HEAD
  char waits;      // whether the host waits at the end
  char detached;   // whether nobody waits
  char in_flight;  // whether the result is given before the work is done
  char on_loop;    // whether the calling thread runs an event loop
  PyObject* stream;
  PyObject* outcomes;   // a list: what became of the work started so far
  PyObject* recording;  // None: nothing is captured
  PyObject* lent;       // None, or a list: what ops were passed that belongs to somebody else
  PyObject* settling;   // None: nothing is to be settled at the end
  PyObject* setup;
  PyObject* made;
  PyObject* running;   // a list: the ops that are under way, each run for the one before it
  PyObject* ended_at;  // where the program stands; None: that is to be found out
};

using ContextFields = Fields<ContextObject, NoFields, offsetof(ContextObject, stream)>;

inline ContextObject& as_context(PyObject* self) {
  return *reinterpret_cast<ContextObject*>(self);
}

// Whether that is a context with nothing missing.
bool is_context(PyObject* object);

// The same; an error is set where it is not.
bool check_context(PyObject* object, const char* function);

// A context of Python's class. Null: an error is set.
Owned new_context(PyObject* stream, bool waits);

// Where the program stands that runs the ops that are under way. Null: an error is set.
Owned whence(ContextObject& context);

// Says what the class is that extends this one. False: an error is set.
bool set_context_class(PyTypeObject* type);

}  // namespace tw::py
