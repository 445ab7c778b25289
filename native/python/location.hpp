// Where the user's program stands: a code object and an instruction, never a frame.
#pragma once

#include "python/py.hpp"

namespace tw::py {

// The innermost frame whose code is not Tilewright's own, as `(code, lasti)`; None: there is none.
// The innermost `known` Python frames are known to be Tilewright's, and are not looked at. A new
// reference; null: an error is set.
PyObject* caller_location(int64_t known);

}  // namespace tw::py
