// State of the process that every launch looks at: who traces, which threads start ops in Python,
// and who waits for work to be submitted.
#pragma once

#include "python/turn.hpp"

namespace tw::py {

// Whether nobody traces what is run. False also before `_core.set_process` was called.
bool is_untraced();

// Whether this thread is not starting an op in Python, where it may start no other, and nobody
// traces that.
bool is_usual();

// Whether this thread is starting an op in Python.
bool is_starting();

// Notes that this thread is starting an op, for a scope: it may start no other there.
class Starting {
 public:
  explicit Starting(PyObject* name);
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;
  ~Starting();

  // Whether that was noted; false: an error is set.
  bool ok() const { return ok_; }

 private:
  Owned names_;  // a dict, by thread
  Owned me_;
  Owned outer_;  // what it was starting before; none: nothing
  bool ok_ = false;
};

// Tells who waits for work to be submitted, if there is anybody, which runs Python; false: an error
// is set.
bool announce_submission();

// Lets other threads run Python for a scope, if there are any: the driver lets callers wait whose
// stream is full.
class UnlockedForOthers {
 public:
  UnlockedForOthers();
  UnlockedForOthers(const UnlockedForOthers&) = delete;
  UnlockedForOthers& operator=(const UnlockedForOthers&) = delete;
  ~UnlockedForOthers();

 private:
  PyThreadState* thread_;  // null: there are none
};

}  // namespace tw::py
