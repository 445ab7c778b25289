#include "python/run_inline.hpp"

#include <algorithm>
#include <optional>

#include "core/timeline.hpp"
#include "cpu/pool.hpp"
#include "python/borrowing.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// Nanoseconds of work after which helpers are called: waking one costs about as much.
constexpr int64_t kAlone = 15'000;
// Nanoseconds of work after which the interpreter may look for signals.
constexpr int64_t kSlice = 50'000'000;
// Nanoseconds of work below which a job is brief, as in devices/cpu/run.py.
constexpr int64_t kBrief = 50'000;

struct CpuClasses {
  PyTypeObject* stream = nullptr;  // devices.cpu.stream.CpuStream
  int64_t address = 0;
  int64_t device = 0;
  int64_t timeline_object = 0;
  int64_t nodes = 0;  // None: it is not capturing
  int64_t callbacks = 0;
  int64_t waiting = 0;
  PyTypeObject* callbacks_class = nullptr;  // devices.completion_callbacks.CompletionCallbacks
  int64_t append = 0;
  int64_t items = 0;
  PyTypeObject* timeline_class = nullptr;
  int64_t timeline_address = 0;
  PyTypeObject* record = nullptr;  // devices.cpu.record.Record
  int64_t record_address = 0;
  int64_t scratch = 0;            // an address and what keeps it there; None: the thread has it
  PyObject* drain = nullptr;       // waits until the streams of timelines have passed all they have
  PyObject* overridden = nullptr;  // a ContextVar: the settings of a `with` block; None: no block
};

CpuClasses classes;

PyObject* names_full = nullptr;
PyObject* names_idle = nullptr;
PyObject* names_threads = nullptr;
PyObject* names_have_helpers = nullptr;
PyObject* names_reserve = nullptr;
PyObject* names_trim = nullptr;

// Whether the settings in force are those of the process; empty: an error is set.
std::optional<bool> has_usual_settings() {
  PyObject* settings = nullptr;
  if (PyContextVar_Get(classes.overridden, nullptr, &settings) < 0) return std::nullopt;
  const Owned owned(settings);
  return settings == nullptr || settings == Py_None;
}

cpu::RunStatus resume(const CpuQueue& queue, const RunMemory& memory, int64_t budget) {
  const Unlocked unlocked;
  return queue.stream->resume(memory.job(), memory.scratch(), budget);
}

// The same for the beginning of a job. To give up the interpreter's lock takes longer than a brief
// job, which had better keep it where no other thread can be waiting.
cpu::RunStatus begin_to_run(const CpuQueue& queue, const RunMemory& memory, int64_t budget) {
  if (!memory.was_brief() || !is_alone()) return resume(queue, memory, budget);
  return queue.stream->resume(memory.job(), memory.scratch(), std::min(budget, kBrief));
}

// Runs what is left of work that nobody wants any more: its memory must not go before helpers have
// left. The error that is set waits.
void give_up(const CpuQueue& queue, const RunMemory& memory) {
  if (!queue.stream->is_first(memory.job())) return;  // it is over
  const SavedError saved;
  cpu::cancel(memory.job());
  while (resume(queue, memory, kSlice) == cpu::RunStatus::kUnfinished) {
  }
  PyErr_Clear();  // of another signal: the first one is raised
}

// Goes on until it is over. False: an error is set, and it may not be over.
bool see_through(const CpuQueue& queue, const RunMemory& memory, int64_t budget) {
  cpu::RunStatus status = begin_to_run(queue, memory, budget);
  // Of the handler of a signal, which a block that lasts has run.
  if (PyErr_Occurred()) return false;
  if (status == cpu::RunStatus::kUnfinished) {
    const Owned helped(
        out_of_turn(PyObject_CallMethodOneArg, queue.object, names_have_helpers, memory.record()));
    if (!helped) return false;
  }
  while (status == cpu::RunStatus::kUnfinished) {
    if (out_of_turn(PyErr_CheckSignals) < 0) return false;
    status = resume(queue, memory, kSlice);
    if (PyErr_Occurred()) return false;
  }
  return true;
}

PyObject* set_cpu_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  CpuClasses found;
  found.stream = setup.type("CpuStream", {{"address", &found.address},
                                          {"device", &found.device},
                                          {"timeline", &found.timeline_object},
                                          {"_nodes", &found.nodes},
                                          {"_callbacks", &found.callbacks},
                                          {"_waiting", &found.waiting}});
  found.callbacks_class = setup.type(
      "CompletionCallbacks", {{"append", &found.append}, {"_items", &found.items}});
  found.timeline_class = setup.type("Timeline", {{"address", &found.timeline_address}});
  found.record =
      setup.type("Record", {{"address", &found.record_address}, {"scratch", &found.scratch}});
  found.drain = setup.object("drain");
  found.overridden = setup.object("OVERRIDDEN");
  if (!setup.ok()) return nullptr;
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_cpu_classes", in_turn<set_cpu_classes>, METH_O,
     "Say how streams of the CPU and records of their work are laid out."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

CpuQueue cpu_queue_of(PyObject* stream) {
  CpuQueue found;
  if (classes.stream == nullptr || Py_TYPE(stream) != classes.stream) return found;
  found.object = stream;
  found.device = slot(stream, classes.device);
  found.timeline_object = slot(stream, classes.timeline_object);
  found.waiting = slot(stream, classes.waiting);
  PyObject* callbacks = slot(stream, classes.callbacks);
  PyObject* address = slot(stream, classes.address);
  // One that captures puts nothing on the queue; and Python can make one without any slot set.
  if (slot(stream, classes.nodes) != Py_None || found.device == nullptr || address == nullptr ||
      found.timeline_object == nullptr ||
      Py_TYPE(found.timeline_object) != classes.timeline_class ||
      slot(found.timeline_object, classes.timeline_address) == nullptr || callbacks == nullptr ||
      Py_TYPE(callbacks) != classes.callbacks_class || found.waiting == nullptr ||
      !PySet_Check(found.waiting)) {
    return found;
  }
  found.append = slot(callbacks, classes.append);
  found.items = slot(callbacks, classes.items);
  if (found.append == nullptr || found.items == nullptr) return found;
  found.timeline = address_in<Timeline>(found.timeline_object, classes.timeline_address);
  found.stream = static_cast<cpu::Stream*>(PyLong_AsVoidPtr(address));
  return found;
}

int is_idle(PyObject* stream) {
  const CpuQueue queue = cpu_queue_of(stream);
  if (queue && queue.stream->completed() >= queue.stream->submitted()) return 1;
  const Owned idle(out_of_turn(PyObject_CallMethodNoArgs, stream, names_idle));
  return idle ? PyObject_IsTrue(idle.get()) : -1;
}

int is_full(PyObject* stream) {
  const CpuQueue queue = cpu_queue_of(stream);
  if (queue) return queue.stream->submitted() - queue.stream->completed() >= kMostWaiting;
  const Owned full(out_of_turn(PyObject_CallMethodNoArgs, stream, names_full));
  return full ? PyObject_IsTrue(full.get()) : -1;
}

bool RunMemory::find_job() {
  PyObject* record = record_.get();
  if (!PyObject_TypeCheck(record, classes.record)) return false;
  job_ = address_in<cpu::Job>(record, classes.record_address);
  return job_ != nullptr && !PyErr_Occurred();
}

bool RunMemory::prepare(const CpuQueue& queue) {
  if (!find_job()) return false;
  PyObject* record = record_.get();
  const int64_t lasted = job_->lasted.load(std::memory_order_relaxed);
  was_brief_ = 0 < lasted && lasted < kBrief;
  PyObject* scratch = slot(record, classes.scratch);
  if (scratch == Py_None) {
    kept_ = Owned(out_of_turn(PyObject_CallMethodOneArg, queue.object, names_reserve, record));
    scratch = kept_.get();
  }
  if (scratch == nullptr || !PyTuple_Check(scratch) || PyTuple_GET_SIZE(scratch) < 1) return false;
  scratch_ = PyLong_AsVoidPtr(PyTuple_GET_ITEM(scratch, 0));
  return !PyErr_Occurred();
}

bool RunMemory::release(const CpuQueue& queue) const {
  if (!kept_) return true;
  const Owned trimmed(out_of_turn(PyObject_CallMethodNoArgs, queue.object, names_trim));
  return static_cast<bool>(trimmed);
}

int64_t threads_for(const CpuQueue& queue) {
  const std::optional<bool> is_usual = has_usual_settings();
  if (!is_usual) return -1;
  if (*is_usual) return queue.stream->pool().usual_threads();
  const Owned told(out_of_turn(PyObject_CallMethodNoArgs, queue.object, names_threads));
  return told ? PyLong_AsLongLong(told.get()) : -1;
}

int64_t spread(const CpuQueue& queue, cpu::Job& job) {
  if (job.blocks <= 1) return kSlice;
  const int64_t most = threads_for(queue);
  if (most < 0) return most;
  job.threads = std::min(most, job.blocks);
  return queue.stream->pool().workers() >= most - 1 ? kSlice : kAlone;
}

bool run_to_end(const CpuQueue& queue, const RunMemory& memory, int64_t number, int64_t budget) {
  const bool went = see_through(queue, memory, budget);
  if (!went) give_up(queue, memory);
  pass(*queue.timeline, number);  // not before: until then helpers may be in it
  return went;
}

Owned addresses_of(const Waits& waits) {
  Owned addresses(PyList_New(0));
  if (!addresses) return addresses;
  for (const Timeline* each : waits) {
    const Owned address(PyLong_FromVoidPtr(const_cast<Timeline*>(each)));
    if (!address || PyList_Append(addresses.get(), address.get()) < 0) return Owned();
  }
  return addresses;
}

Ending await_on_host(const Waits& waits) {
  const Owned addresses = addresses_of(waits);
  if (!addresses) return Ending::kError;
  const Owned drained(out_of_turn(PyObject_CallOneArg, classes.drain, addresses.get()));
  return drained ? Ending::kDone : Ending::kError;
}

int add_run_inline(PyObject* module) {
  names_full = PyUnicode_InternFromString("full");
  names_idle = PyUnicode_InternFromString("idle");
  names_threads = PyUnicode_InternFromString("threads");
  names_have_helpers = PyUnicode_InternFromString("have_helpers");
  names_reserve = PyUnicode_InternFromString("reserve_for");
  names_trim = PyUnicode_InternFromString("trim");
  if (PyErr_Occurred()) return -1;
  return PyModule_AddFunctions(module, kFunctions);
}

}  // namespace tw::py
