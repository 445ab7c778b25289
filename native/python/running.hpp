// Drives an op to its result: a stack of ops, which ask for others to run and events to pass.
#pragma once

#include "python/context.hpp"
#include "python/op.hpp"

namespace tw::py {

// Runs an op to its result, waiting for events on the calling thread; work may be in flight. Null:
// an error is set.
Owned run_here(PyObject* op, PyObject* context);

}  // namespace tw::py
