// Launches of kernels on the CPU: on the calling thread, or put on a stream.
#pragma once

#include "python/prepared.hpp"
#include "python/run_inline.hpp"

namespace tw::py {

// Ends a launch on a stream of the CPU. kSlowPath: nothing was done; once what `prepared.waits`
// names has passed, it may be tried again.
Ending end_on_cpu(PyObject* op, const CpuQueue& queue, Prepared& prepared, const EndingUse& use);

// Reads what Python has for such launches out of a dict. False: an error is set.
bool set_cpu_launch_classes(PyObject* given);

// The class of their plans, `launch.cpu_plan.CpuPlan`.
PyTypeObject* cpu_plan_class();

// What launches of a `CpuPlan` have in common; null: it is none, or has none yet.
const LaunchPlan* cpu_plan_of(PyObject* plan);

// A record of launches of such a plan that is as good as new. Null: an error is set.
Owned take_record(PyObject* plan);

// A record is as good as new again, or still. False: an error is set, and it is dropped.
bool put_back(PyObject* plan, PyObject* record);

}  // namespace tw::py
