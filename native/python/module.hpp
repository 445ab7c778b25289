// What each file of native/python adds to the module. 0, or -1 with an error set.
#pragma once

#include "python/turn.hpp"

namespace tw::py {

int add_borrow_state(PyObject* module);
int add_borrowing(PyObject* module);
int add_calling(PyObject* module);
int add_context(PyObject* module);
int add_cpu(PyObject* module);
int add_creating(PyObject* module);
int add_called_launching(PyObject* module);
int add_cpu_launching(PyObject* module);
int add_cuda_driver(PyObject* module);
int add_cuda_launching(PyObject* module);
int add_cuda_reports(PyObject* module);
int add_cuda_stream(PyObject* module);
int add_deferred(PyObject* module);
int add_dlpack(PyObject* module);
int add_endings(PyObject* module);
int add_entry(PyObject* module);
int add_kernel(PyObject* module);
int add_lock(PyObject* module);
int add_listed(PyObject* module);
int add_started(PyObject* module);
int add_external(PyObject* module);
int add_graph(PyObject* module);
int add_handle(PyObject* module);
int add_host_arrays(PyObject* module);
int add_host_memory(PyObject* module);
int add_imports(PyObject* module);
int add_launch(PyObject* module);
int add_launch_trace(PyObject* module);
int add_launching(PyObject* module);
int add_leaving(PyObject* module);
int add_link(PyObject* module);
int add_location(PyObject* module);
int add_op(PyObject* module);
int add_outputs(PyObject* module);
int add_process(PyObject* module);
int add_run_inline(PyObject* module);
int add_running(PyObject* module);
int add_slots(PyObject* module);
int add_storage(PyObject* module);
int add_uses(PyObject* module);
int add_xla(PyObject* module);

}  // namespace tw::py
