// Launches on CUDA that report: failed checks, prints. Each has a place of its own for that in
// pinned memory, from a pool of its plan, until somebody has heard what is there.
#pragma once

#include "core/records.hpp"
#include "python/endings.hpp"

namespace tw::py {

// A launch of a plan that is about to begin, as an object: `_core.Reported`. Called once its stream
// has passed it. `held` is what `bind` gave. Null: an error is set.
Owned new_reported(PyObject* plan, PyObject* held, PyObject* timeline_object);

// Where its kernel reports.
int64_t report_address(PyObject* reported);

// Notes that it begins with this number in its timeline, where that lists it until it was heard.
// Runs no Python. False: an error is set.
bool list_reported(PyObject* reported, int64_t number);

// It was not begun, or the driver did not take it. False: an error is set.
bool drop_reported(PyObject* reported);

// It is over: hears what it reported for who waited for it, by `hear(plan, report)` of its op if it
// was anything. kDone, or kError.
Ending hear_reported(PyObject* reported, PyObject* op);

}  // namespace tw::py
