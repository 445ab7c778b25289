// Work that its timeline lists by number until somebody has heard what became of it.
#pragma once

#include "core/timeline.hpp"
#include "python/py.hpp"

namespace tw::py {

// Whether that is a `Timeline` that can list work; else an error is set.
bool lists_work(PyObject* timeline_object);

// Has a timeline list work that begins with this number, for who begins it. Runs no Python. False:
// an error is set.
bool list_work(PyObject* timeline_object, int64_t number, PyObject* work);

// Has it list that no longer: nobody needs to know of it. As `Timeline.end`; may be called again.
// False: an error is set.
bool unlist_work(PyObject* timeline_object, Timeline& timeline, int64_t number);

}  // namespace tw::py
