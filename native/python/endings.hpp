// The endings of ops: how an op is run, and who waits for it.
//
// Every op is ended in one way. Kernels and graphs have a shorter one besides, for where nothing is
// unusual; where something is, that has done nothing.
#pragma once

#include "python/cuda.hpp"
#include "python/op.hpp"

namespace tw::py {

// Who ends an op, and how.
struct EndingUse {
  PyObject** used;  // where the op notes it; null: that was done before, as it is a part of more
  PyObject* user;  // what the ending is called, in words
  bool waits;      // for the work, now or at the end of what it is a part of
  int64_t budget;  // for how many nanoseconds to wait for a GPU here
  PyObject* context = nullptr;  // what it is a part of, if it is
};

// Ends an op on a stream. Where that is done, gives the result.
using EndOn = Ending (*)(PyObject* op, PyObject* stream, const EndingUse& use, Owned& result);

// The device that an op must run on, or None; null: an error is set.
using HomeOf = Owned (*)(PyObject* op);

// That of any op.
Owned home_of_op(PyObject* op);

// An ending as a method. `given` is what the method was given, by position, then by the names.
struct EndingMethod {
  EndOn end;  // the shorter way; null: there is none
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
    return {"sync", as_method(in_turn<ending<Verb::kSync, end, home>>), kFlags,
            "As `Endings.sync`."};
  }
  static PyMethodDef sync_on() {
    return {"sync_on", as_method(in_turn<ending<Verb::kSyncOn, end, home>>), kFlags,
            "As `Endings.sync_on`."};
  }
  static PyMethodDef start() {
    return {"start", as_method(in_turn<ending<Verb::kStart, end, home>>), kFlags,
            "As `Endings.start`."};
  }
  static PyMethodDef start_on() {
    return {"start_on", as_method(in_turn<ending<Verb::kStartOn, end, home>>), kFlags,
            "As `Endings.start_on`."};
  }
};

// Calls a method by its name, with all that another one was given.
PyObject* call_slowly(PyObject* name, PyObject* self, PyObject* const* given, Py_ssize_t count,
                      PyObject* names);

}  // namespace tw::py
