// Calls the functions that ops are given with the results of others.
#pragma once

#include "python/context.hpp"

namespace tw::py {

// Calls a function with an op's result, then the extra arguments, a tuple, bound when building.
// Only a result that is exactly a tuple is taken apart. How many arguments the function takes is
// checked before. Null: an error is set.
Owned call_with(PyObject* verb, PyObject* function, PyObject* value, PyObject* extra,
                ContextObject& context);

// The same, and the function may run ops.
Owned call_unlocked(PyObject* verb, PyObject* function, PyObject* value, PyObject* extra,
                    PyObject* context);

// Calls the method of a result by its name, with the arguments of a tuple.
Owned call_method(PyObject* verb, PyObject* name, PyObject* value, PyObject* given);

// Marks an op that a function made of what it was given as used by `verb`, if it may run here.
// False: an error is set.
bool admit(PyObject* made, PyObject* verb, ContextObject& context, PyObject* given);

// The same for an op that is known to use nothing but what it was given.
bool claim_made(PyObject* made, PyObject* verb, ContextObject& context);

}  // namespace tw::py
