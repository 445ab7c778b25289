// The pool and the streams of the CPU as Python sees them, and what compiled kernels call.
#include <memory>
#include <new>

#include "cpu/arena.hpp"
#include "cpu/copy.hpp"
#include "cpu/job.hpp"
#include "cpu/poll.hpp"
#include "cpu/pool.hpp"
#include "cpu/stream.hpp"
#include "python/module.hpp"
#include "python/types.hpp"

namespace tw::py {

namespace {

using cpu::Job;
using cpu::LaunchRecord;
using cpu::Pool;
using cpu::Stream;

PyTypeObject* pool_type = nullptr;
PyTypeObject* stream_type = nullptr;

PyObject* as_int(std::int64_t value) { return PyLong_FromLongLong(value); }

// Calls a function without the interpreter's lock. A block that lasts may run the handler of a
// signal meanwhile: what that has raised is raised here.
template <typename Function>
PyObject* unlocked(Function function) {
  std::int64_t answer;
  {
    const Unlocked given_up;
    answer = static_cast<std::int64_t>(function());
  }
  return PyErr_Occurred() ? nullptr : as_int(answer);
}

// The pool.

struct PoolObject {
  PyObject_HEAD
  Pool* pool;
};

Pool& pool_of(PyObject* self) { return *reinterpret_cast<PoolObject*>(self)->pool; }

PyObject* new_pool(PyTypeObject* type, PyObject* given, PyObject* named) {
  static const char* kNames[] = {"alone", nullptr};
  long long alone;
  if (!PyArg_ParseTupleAndKeywords(given, named, "L:CpuPool", const_cast<char**>(kNames), &alone)) {
    return nullptr;
  }
  Owned self(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  auto* pool = new (std::nothrow) Pool(alone);
  if (pool == nullptr) return PyErr_NoMemory();
  reinterpret_cast<PoolObject*>(self.get())->pool = pool;
  return self.release();
}

void free_pool(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Pool* pool = reinterpret_cast<PoolObject*>(self)->pool;
  // Workers refer to this object as they serve, so none is left. In a child process they are all
  // gone in the middle of their sleep, and to destroy what they slept on would wait for them.
  if (pool != nullptr && !pool->is_lost()) delete pool;
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* pool_serve(PyObject* self, PyObject*) {
  return unlocked([&] { return pool_of(self).serve(), 0; });
}

PyObject* pool_stop(PyObject* self, PyObject*) {
  return unlocked([&] { return pool_of(self).stop(), 0; });
}

PyObject* pool_alert(PyObject* self, PyObject*) { return as_int(pool_of(self).alert()); }

PyObject* pool_wait_for_alert(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("wait_for_alert", given, count, 2);
  const std::int64_t seen = arguments.number();
  const std::int64_t budget = arguments.number();
  if (!arguments.ok()) return nullptr;
  return unlocked([&] { return pool_of(self).wait_for_alert(seen, budget); });
}

PyObject* pool_address(PyObject* self, void*) { return PyLong_FromVoidPtr(&pool_of(self)); }

PyObject* pool_workers(PyObject* self, void*) { return as_int(pool_of(self).workers()); }

PyObject* pool_usual_threads(PyObject* self, void*) {
  return as_int(pool_of(self).usual_threads());
}

PyObject* pool_unfinished(PyObject* self, void*) { return as_int(pool_of(self).unfinished()); }

template <void (Pool::*kSet)(std::int64_t)>
int pool_set(PyObject* self, PyObject* value, void*) {
  if (value == nullptr || !PyLong_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "an int is expected");
    return -1;
  }
  const std::int64_t number = PyLong_AsLongLong(value);
  if (number == -1 && PyErr_Occurred()) return -1;
  (pool_of(self).*kSet)(number);
  return 0;
}

PyMethodDef kPoolMethods[] = {
    {"serve", in_turn<pool_serve>, METH_NOARGS, "Be a worker, until `stop`."},
    {"stop", in_turn<pool_stop>, METH_NOARGS, "Run nothing any more, and send workers home."},
    {"alert", in_turn<pool_alert>, METH_NOARGS, "Count an alert now."},
    {"wait_for_alert", as_method(in_turn<pool_wait_for_alert>), METH_FASTCALL,
     "Sleep until the count of alerts is not `seen`, or so many nanoseconds; the count."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef kPoolAttributes[] = {
    {"address", in_turn<pool_address>, nullptr, "Where native code finds it.", nullptr},
    {"workers", in_turn<pool_workers>, in_turn<pool_set<&Pool::set_workers>>,
     "How many workers were started.", nullptr},
    {"usual_threads", in_turn<pool_usual_threads>, in_turn<pool_set<&Pool::set_usual_threads>>,
     "How many threads a launch may use where no `with` block has other settings in force.",
     nullptr},
    {"unfinished", in_turn<pool_unfinished>, nullptr,
     "How many jobs were left unfinished by the threads that run them.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot kPoolSlots[] = {
    {Py_tp_doc, const_cast<char*>("What the streams of the CPU and their workers share.")},
    {Py_tp_new, as_slot(in_turn<new_pool>)},
    {Py_tp_dealloc, as_slot(free_pool)},
    {Py_tp_methods, kPoolMethods},
    {Py_tp_getset, kPoolAttributes},
    {0, nullptr},
};

PyType_Spec kPoolSpec = {"tilewright._core.CpuPool", sizeof(PoolObject), 0, Py_TPFLAGS_DEFAULT,
                         kPoolSlots};

// Streams.

struct StreamObject {
  PyObject_HEAD
  PyObject* pool;
  Stream stream;
};

Stream& stream_of(PyObject* self) { return reinterpret_cast<StreamObject*>(self)->stream; }

PyObject* new_stream(PyTypeObject* type, PyObject* given, PyObject* named) {
  static const char* kNames[] = {"pool", nullptr};
  PyObject* pool;
  if (!PyArg_ParseTupleAndKeywords(given, named, "O!:CpuStream", const_cast<char**>(kNames),
                                   pool_type, &pool)) {
    return nullptr;
  }
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  auto* made = reinterpret_cast<StreamObject*>(self);
  made->pool = Py_NewRef(pool);
  new (&made->stream) Stream(pool_of(pool));
  return self;
}

void free_stream(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  auto* freed = reinterpret_cast<StreamObject*>(self);
  {
    const Turn turn;
    freed->stream.~Stream();
    Py_DECREF(freed->pool);
  }
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* stream_enqueue(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("enqueue", given, count, 1);
  auto* job = arguments.address<Job>();
  return arguments.ok() ? as_int(stream_of(self).enqueue(*job)) : nullptr;
}

PyObject* stream_enqueue_wait(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("enqueue_wait", given, count, 2);
  PyObject* other = arguments.object();
  const std::int64_t number = arguments.number();
  if (!arguments.ok()) return nullptr;
  if (!Py_IS_TYPE(other, stream_type)) {
    return PyErr_Format(PyExc_TypeError, "enqueue_wait(): argument 1 is a CpuStream, got %.100s",
                        Py_TYPE(other)->tp_name);
  }
  return as_int(stream_of(self).enqueue_wait(stream_of(other).completed_count(), number));
}

PyObject* stream_run_inline(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("run_inline", given, count, 3);
  auto* job = arguments.address<Job>();
  void* scratch = arguments.address<void>();
  const std::int64_t budget = arguments.number();
  if (!arguments.ok()) return nullptr;
  return unlocked([&] { return stream_of(self).run_inline(*job, scratch, budget); });
}

PyObject* stream_resume(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("resume", given, count, 3);
  auto* job = arguments.address<Job>();
  void* scratch = arguments.address<void>();
  const std::int64_t budget = arguments.number();
  if (!arguments.ok()) return nullptr;
  return unlocked([&] { return stream_of(self).resume(*job, scratch, budget); });
}

PyObject* stream_is_first(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("is_first", given, count, 1);
  const auto* job = arguments.address<Job>();
  return arguments.ok() ? PyBool_FromLong(stream_of(self).is_first(*job)) : nullptr;
}

PyObject* stream_unfinished_of_caller(PyObject* self, PyObject*) {
  const Job* job = stream_of(self).unfinished_of_caller();
  if (job == nullptr) Py_RETURN_NONE;
  const Owned address(PyLong_FromVoidPtr(const_cast<Job*>(job)));
  const Owned scratch(as_int(job->scratch_bytes));
  return address && scratch ? PyTuple_Pack(2, address.get(), scratch.get()) : nullptr;
}

PyObject* stream_cancel_all(PyObject* self, PyObject*) {
  return unlocked([&] { return stream_of(self).cancel_all(), 0; });
}

PyObject* stream_wait(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("wait", given, count, 2);
  const std::int64_t number = arguments.number();
  const std::int64_t budget = arguments.number();
  if (!arguments.ok()) return nullptr;
  return unlocked([&] { return stream_of(self).wait(number, budget); });
}

PyObject* stream_alert_at(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("alert_at", given, count, 1);
  const std::int64_t number = arguments.number();
  return arguments.ok() ? as_int(stream_of(self).alert_at(number)) : nullptr;
}

PyObject* stream_address(PyObject* self, void*) { return PyLong_FromVoidPtr(&stream_of(self)); }

PyObject* stream_completed(PyObject* self, void*) { return as_int(stream_of(self).completed()); }

PyObject* stream_submitted(PyObject* self, void*) { return as_int(stream_of(self).submitted()); }

PyMethodDef kStreamMethods[] = {
    {"enqueue", as_method(in_turn<stream_enqueue>), METH_FASTCALL,
     "Add the job at an address; its number, or FORKED."},
    {"enqueue_wait", as_method(in_turn<stream_enqueue_wait>), METH_FASTCALL,
     "Add a wait until another stream has passed a number; as `enqueue`, or 0: out of memory."},
    {"run_inline", as_method(in_turn<stream_run_inline>), METH_FASTCALL,
     "Add the job at an address and run it here, if the stream is idle: a status."},
    {"resume", as_method(in_turn<stream_resume>), METH_FASTCALL,
     "Go on with a job of this thread, unless it is over: a status."},
    {"is_first", as_method(in_turn<stream_is_first>), METH_FASTCALL,
     "Say whether the job at an address is the first one here."},
    {"unfinished_of_caller", in_turn<stream_unfinished_of_caller>, METH_NOARGS,
     "The address of the job that this thread has left unfinished here, and its scratch bytes."},
    {"cancel_all", in_turn<stream_cancel_all>, METH_NOARGS, "Have nothing here run to its end."},
    {"wait", as_method(in_turn<stream_wait>), METH_FASTCALL,
     "Sleep until so many jobs have passed: 1, or 0: time is up, or FORKED."},
    {"alert_at", as_method(in_turn<stream_alert_at>), METH_FASTCALL,
     "Have the pool count an alert once so many jobs have passed: 0, or FORKED."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef kStreamAttributes[] = {
    {"address", in_turn<stream_address>, nullptr, "Where native code finds it.", nullptr},
    {"completed", in_turn<stream_completed>, nullptr, "How many jobs have passed.", nullptr},
    {"submitted", in_turn<stream_submitted>, nullptr, "How many jobs were added.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot kStreamSlots[] = {
    {Py_tp_doc, const_cast<char*>("The queue of a stream of the CPU.")},
    {Py_tp_new, as_slot(in_turn<new_stream>)},
    {Py_tp_dealloc, as_slot(free_stream)},
    {Py_tp_methods, kStreamMethods},
    {Py_tp_getset, kStreamAttributes},
    {0, nullptr},
};

PyType_Spec kStreamSpec = {"tilewright._core.CpuStream", sizeof(StreamObject), 0,
                           Py_TPFLAGS_DEFAULT, kStreamSlots};

// Jobs.

PyObject* cancel_job(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("cancel_job", given, count, 1);
  auto* job = arguments.address<Job>();
  if (!arguments.ok()) return nullptr;
  cpu::cancel(*job);
  Py_RETURN_NONE;
}

struct Field {
  const char* name;
  std::size_t offset;
};

#define TW_FIELD(type, name) {#name, offsetof(type, name)}

// The words of a job that Python reads or writes.
constexpr Field kJobFields[] = {
    TW_FIELD(Job, kernel),    TW_FIELD(Job, arguments),     TW_FIELD(Job, launch),
    TW_FIELD(Job, blocks),    TW_FIELD(Job, threads),       TW_FIELD(Job, scratch_bytes),
    TW_FIELD(Job, nodes),     TW_FIELD(Job, node_count),    TW_FIELD(Job, at),
    TW_FIELD(Job, cancelled), TW_FIELD(Job, starved),       TW_FIELD(Job, failed),
    TW_FIELD(Job, was_long),  TW_FIELD(Job, together),      TW_FIELD(Job, lasted),
};

#undef TW_FIELD

int add_job_layout(PyObject* module) {
  const Owned layout(PyDict_New());
  if (!layout) return -1;
  for (const Field& field : kJobFields) {
    const Owned position(PyLong_FromSize_t(field.offset / cpu::kWord));
    if (!position || PyDict_SetItemString(layout.get(), field.name, position.get()) < 0) return -1;
  }
  return PyModule_AddObjectRef(module, "JOB_LAYOUT", layout.get());
}

// Signals.

// The thread that runs the handlers of signals: `base.shield.LISTENER`.
struct Listener {
  std::int64_t thread;
  std::int64_t* main_thread;  // where the interpreter notes which thread that is; see base.shield
  std::int64_t inside;        // not 0: it runs them in the middle of a block
};

std::atomic<Listener*> listener{nullptr};

// Writes a value for a scope.
class Replaced {
 public:
  Replaced(std::int64_t& place, std::int64_t value) : place_(place), before_(place) {
    place_ = value;
  }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;
  ~Replaced() { place_ = before_; }

 private:
  std::int64_t& place_;
  const std::int64_t before_;
};

// See `cpu::SignalCheck`. The thread holds the interpreter's lock only where it runs a job that was
// brief before.
bool has_raised() {
  Listener* known = listener.load(std::memory_order_acquire);
  if (known == nullptr ||
      known->thread != static_cast<std::int64_t>(PyThread_get_thread_ident())) {
    return false;
  }
  const bool is_locked = PyGILState_Check() != 0;
  if (!is_locked) PyEval_RestoreThread(PyGILState_GetThisThreadState());
  int status;
  {
    const Replaced unshielded(*known->main_thread, known->thread);
    const Replaced inside(known->inside, 1);
    status = out_of_turn(PyErr_CheckSignals);
  }
  if (!is_locked) PyEval_SaveThread();
  return status < 0;
}

PyObject* set_listener(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("set_listener", given, count, 1);
  auto* known = arguments.address<Listener>();
  if (!arguments.ok()) return nullptr;
  listener.store(known, std::memory_order_release);
  cpu::set_signal_check(has_raised);
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"cancel_job", as_method(in_turn<cancel_job>), METH_FASTCALL,
     "Have the job at an address, or a list of jobs, not run to its end."},
    {"set_listener", as_method(in_turn<set_listener>), METH_FASTCALL,
     "Say where the words are that tell of the thread which runs the handlers of signals."},
    {nullptr, nullptr, 0, nullptr},
};

int add_address(PyObject* module, const char* name, cpu::Kernel kernel) {
  const Owned address(PyLong_FromVoidPtr(reinterpret_cast<void*>(kernel)));
  return address ? PyModule_AddObjectRef(module, name, address.get()) : -1;
}

int add_constants(PyObject* module) {
  struct Constant {
    const char* name;
    std::int64_t value;
  };
  constexpr Constant kConstants[] = {
      {"FORKED", cpu::kForked},
      {"UNFINISHED", static_cast<std::int64_t>(cpu::RunStatus::kUnfinished)},
      {"BUSY", static_cast<std::int64_t>(cpu::RunStatus::kBusy)},
      {"JOB_WORDS", cpu::kJobWords},
      {"KEPT_SCRATCH", cpu::kKeptScratch},
  };
  for (const auto& [name, value] : kConstants) {
    if (PyModule_AddIntConstant(module, name, value) < 0) return -1;
  }
  return 0;
}

}  // namespace

int add_cpu(PyObject* module) {
  if (PyModule_AddFunctions(module, kMethods) < 0) return -1;
  pool_type = add_type(module, kPoolSpec);
  stream_type = pool_type == nullptr ? nullptr : add_type(module, kStreamSpec);
  if (stream_type == nullptr) return -1;
  if (add_constants(module) < 0 || add_job_layout(module) < 0) return -1;
  if (add_address(module, "COPY_KERNEL", cpu::copy_blocks) < 0) return -1;
  return add_address(module, "TIME_KERNEL", cpu::note_time);
}

}  // namespace tw::py
