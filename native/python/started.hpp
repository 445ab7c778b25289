// Launches that were put on a stream of the CPU: what they use, and who hears of them.
#pragma once

#include "python/run_inline.hpp"

namespace tw::py {

// One that is about to be: an object that is called once the stream has passed it, and again where
// an interrupt has left it. `plan` is a `CpuPlan`, `held` what `bind` gave; `outcome` is told what
// becomes of it, None: it reports nothing. Null: an error is set.
Owned new_started(const CpuQueue& queue, const RunMemory& memory, PyObject* plan, PyObject* held,
                  PyObject* outcome);

// Its number in its timeline; 0: it was not begun.
int64_t& number_of_started(PyObject* started);

}  // namespace tw::py
