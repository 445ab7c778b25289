// Addresses by which the LLVM text of launches (launch/quick_firing.py, graph/quick_text.py) calls
// what this folder has for CUDA. Goes with that text.
#include "python/cuda.hpp"
#include "python/module.hpp"
#include "python/process.hpp"

namespace tw::py {

namespace {

int as_number(Ending ending) { return static_cast<int>(ending) - static_cast<int>(Ending::kSlowPath); }
static_assert(static_cast<int>(Ending::kError) == 0 && static_cast<int>(Ending::kDone) == 2);

extern "C" int tw_is_untraced() { return is_untraced(); }
extern "C" int tw_is_usual() { return is_usual(); }

extern "C" int tw_launch_there(const cuda::Driver* driver, const LaunchPlan* plan, PyObject* uses,
                               PyObject* user, PyObject* known, int64_t* row, PyObject* label,
                               PyObject* keep, PyObject* stream, PyObject* unfinished,
                               int64_t budget) {
  const Owned its_label = Owned::borrowed(label), its_keep = Owned::borrowed(keep);
  const StreamPoint before = point_of(stream);
  if (!before.ok()) return as_number(Ending::kError);
  const cuda::Submission done = submit_launch(*driver, *plan, uses, user, known, row, nullptr,
                                              *before.timeline, before.handle, budget);
  return as_number(commit(done, stream, before, label, keep, budget > 0, unfinished));
}

extern "C" int tw_replay_there(const cuda::Driver* driver, cuda::Context context,
                               const cuda::LaunchRecord* only, cuda::GraphExec graph,
                               const ReplayMemory* memory, PyObject* uses, PyObject* user,
                               PyObject* known, PyObject* built, PyObject* label, PyObject* keep,
                               PyObject* stream, PyObject* unfinished, int64_t budget) {
  const StreamPoint before = point_of(stream);
  if (!before.ok()) return as_number(Ending::kError);
  const RecordedWork work = {context, only, graph, memory, built};
  const cuda::Submission done = submit_graph(*driver, work, uses, user, known, *before.timeline,
                                             before.handle, budget);
  return as_number(commit(done, stream, before, label, keep, budget > 0, unfinished));
}

template <typename Function>
unsigned long long address_of(Function* function) {
  return reinterpret_cast<uintptr_t>(function);
}

PyObject* cuda_text_entries(PyObject*, PyObject*) {
  return Py_BuildValue("{sKsKsKsK}", "is_untraced", address_of(tw_is_untraced), "is_usual",
                       address_of(tw_is_usual), "launch_there", address_of(tw_launch_there),
                       "replay_there", address_of(tw_replay_there));
}

PyMethodDef kMethods[] = {
    {"cuda_text_entries", cuda_text_entries, METH_NOARGS, "Addresses for the text of launches."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_cuda_text(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace tw::py
