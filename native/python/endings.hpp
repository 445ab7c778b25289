// Ops, as Python's classes extend them, and their endings: how an op is run, and who waits for it.
//
// What an ending does by itself is what the method of Python does, where nothing is unusual. Where
// something is, it has done nothing, and that method is called: `_sync_on_slowly` and its like.
#pragma once

#include "python/cuda.hpp"
#include "python/types.hpp"

namespace tw::py {

// An op: the base of `op.lazy.Lazy`.
struct OpObject {
  PyObject_HEAD
  PyObject* built;  // where the program stood that built it
  PyObject* uses;   // a list: who used it, or tried to, and where
};

using OpFields = Fields<OpObject, NoFields, offsetof(OpObject, built)>;

inline OpObject& as_op(PyObject* self) { return *reinterpret_cast<OpObject*>(self); }

extern PyTypeObject* op_type;

// Who ends an op, and how.
struct EndingUse {
  PyObject* uses;  // of the op; None: its use was noted before, as it is a part of more
  PyObject* user;  // what the ending is called, in words
  bool waits;      // for the work, now or at the end of what it is a part of
  int64_t budget;  // for how many nanoseconds to wait for a GPU here
  PyObject* context = nullptr;  // what it is a part of, if it is
};

// Ends an op on a stream. Where that is done, gives the result.
using EndOn = Ending (*)(PyObject* op, PyObject* stream, const EndingUse& use, Owned& result);

// The device that an op must run on; null: Python may know it. It stays the op's.
using HomeOf = PyObject* (*)(PyObject* op);

// An ending as a method. `given` is what the method was given, by position, then by the names.
struct EndingMethod {
  EndOn end;
  HomeOf home;
};
enum class Verb { kSync, kSyncOn, kStart, kStartOn };
PyObject* call_ending(Verb verb, const EndingMethod& method, PyObject* op, PyObject* const* given,
                      Py_ssize_t count, PyObject* names);

template <Verb verb, EndOn end, HomeOf home>
PyObject* ending(PyObject* op, PyObject* const* given, Py_ssize_t count, PyObject* names) {
  return call_ending(verb, EndingMethod{end, home}, op, given, count, names);
}

// The methods of the endings, for the table of a type.
template <EndOn end, HomeOf home>
struct EndingMethods {
  static constexpr int kFlags = METH_FASTCALL | METH_KEYWORDS;
  static PyMethodDef sync() {
    return {"sync", as_method(ending<Verb::kSync, end, home>), kFlags, "As `Endings.sync`."};
  }
  static PyMethodDef sync_on() {
    return {"sync_on", as_method(ending<Verb::kSyncOn, end, home>), kFlags,
            "As `Endings.sync_on`."};
  }
  static PyMethodDef start() {
    return {"start", as_method(ending<Verb::kStart, end, home>), kFlags, "As `Endings.start`."};
  }
  static PyMethodDef start_on() {
    return {"start_on", as_method(ending<Verb::kStartOn, end, home>), kFlags,
            "As `Endings.start_on`."};
  }
};

// Calls a method by its name, with all that another one was given.
PyObject* call_slowly(PyObject* name, PyObject* self, PyObject* const* given, Py_ssize_t count,
                      PyObject* names);

}  // namespace tw::py
