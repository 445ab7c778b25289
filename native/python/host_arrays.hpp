// Arrays of other libraries, as launches read them.
#pragma once

#include "python/objects.hpp"

namespace tw::py {

// The memory of arrays of other libraries among what a kernel reads: a tuple with a region, which
// keeps it, in the place of each such argument, and None in all others. None in place of the tuple:
// there is no such array, or one must be looked at closer. A kernel on a GPU reads copies of
// those of the host.
// Null: an error is set.
Owned regions_of_arrays(const BindPlan& plan, PyObject* arguments);

}  // namespace tw::py
