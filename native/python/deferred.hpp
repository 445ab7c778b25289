// Launches some of whose arguments are ops, which run first.
#pragma once

#include "python/launch.hpp"

namespace tw::py {

// Has a launch wait for its argument ops: borrows the other arguments, and marks the ops as used
// by it. False: an error is set, as it is refused.
bool defer(PyObject* launch);

// What runs the argument ops of a launch, then the kernel: `Launch.steps`. Null: an error is set.
PyObject* steps_of_launch(PyObject* launch, PyObject* context);

}  // namespace tw::py
