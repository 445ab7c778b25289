// Errors that leave the package for the user's program: Python removes our frames from their
// tracebacks, as `base/tracebacks.py` says.
#pragma once

#include "python/py.hpp"

namespace tw::py {

// Has Python trim the error that is set, if there is one; nothing else happens to it.
void trim_error();

// What a function that users call returns: a result, or null with an error set, which is trimmed.
inline PyObject* leaving(PyObject* result) {
  if (result == nullptr) trim_error();
  return result;
}

}  // namespace tw::py
