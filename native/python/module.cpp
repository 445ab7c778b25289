// The module `tilewright._core`.
#include "python/module.hpp"

namespace {

int execute(PyObject* module) {
  using namespace tw::py;
  // One to a line, as they come from different files; types come before those that extend them.
  constexpr int (*kParts[])(PyObject*) = {
      add_op,           //
      add_link,         //
      add_launch,       //
      add_borrowing,    //
      add_lock,         //
      add_borrow_state,  //
      add_storage,      //
      add_handle,       //
      add_host_arrays,  //
      add_host_memory,  //
      add_imports,      //
      add_uses,         //
      add_called_launching,  //
      add_calling,      //
      add_context,      //
      add_creating,     //
      add_cpu,          //
      add_cpu_launching,  //
      add_cuda_driver,  //
      add_cuda_launching,  //
      add_cuda_reports,  //
      add_cuda_stream,  //
      add_deferred,     //
      add_dlpack,       //
      add_endings,      //
      add_entry,        //
      add_kernel,       //
      add_launch_trace,  //
      add_listed,       //
      add_started,      //
      add_external,     //
      add_graph,        //
      add_launching,    //
      add_leaving,      //
      add_outputs,      //
      add_location,     //
      add_process,      //
      add_run_inline,   //
      add_running,      //
      add_slots,        //
      add_xla,          //
  };
  for (const auto add : kParts) {
    if (add(module) < 0) return -1;
  }
  return 0;
}

PyModuleDef_Slot kSlots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(execute)},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},  // see turn.hpp
#endif
    {0, nullptr},
};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT,
    "tilewright._core",
    "Owns memory, borrows, the order of work and lifetimes; see ARCHITECTURE.md.",
    0,
    nullptr,
    kSlots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__core() { return PyModuleDef_Init(&kModule); }
