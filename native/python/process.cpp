#include "python/process.hpp"

#include "python/borrowing.hpp"
#include "python/module.hpp"
#include "python/slots.hpp"
#include "python/types.hpp"

namespace tw::py {

namespace {

// Objects that are there for good, and where they keep what is looked at.
struct Process {
  PyObject* tracing = nullptr;  // op.trace.Tracing
  int64_t active = 0;           // None: nobody traces
  PyObject* threads = nullptr;  // op.nesting.THREAD
  int64_t names = 0;            // a dict: the ops that threads are starting
  PyObject* submissions = nullptr;  // tensors.pending_work.SUBMISSIONS
  int64_t waiting = 0;          // how many threads wait for work to be submitted
  PyObject* tell = nullptr;     // wakes them
};

Process process;

// The ops that threads are starting, a dict; null: that is not known yet.
PyObject* names_of_threads() {
  if (process.threads == nullptr) return nullptr;
  PyObject* names = slot(process.threads, process.names);
  return names != nullptr && PyDict_Check(names) ? names : nullptr;
}

PyObject* set_process(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("set_process", given, count, 4);
  PyObject* tracing = arguments.object();
  PyObject* threads = arguments.object();
  PyObject* submissions = arguments.object();
  PyObject* tell = arguments.object();
  if (!arguments.ok()) return nullptr;
  const auto class_of = [](PyObject* object) {
    return reinterpret_cast<PyObject*>(Py_TYPE(object));
  };
  Process found;
  if (!find_slots(class_of(tracing), {{"active", &found.active}}) ||
      !find_slots(class_of(threads), {{"names", &found.names}}) ||
      !find_slots(class_of(submissions), {{"waiting", &found.waiting}})) {
    return nullptr;
  }
  // Those before, if any, stay: another thread may be looking at them.
  found.tracing = Py_NewRef(tracing);
  found.threads = Py_NewRef(threads);
  found.submissions = Py_NewRef(submissions);
  found.tell = Py_NewRef(tell);
  process = found;
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"set_process", as_method(in_turn<set_process>),
     METH_FASTCALL,
     "Say where tracing, the ops that threads start, and waiting for submissions are noted."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool is_untraced() {
  return process.tracing != nullptr && slot(process.tracing, process.active) == Py_None;
}

bool is_usual() { return is_untraced() && !is_starting(); }

bool is_starting() {
  PyObject* names = names_of_threads();
  if (names == nullptr) return true;
  if (PyDict_GET_SIZE(names) == 0) return false;
  const Owned me(PyLong_FromUnsignedLong(PyThread_get_thread_ident()));
  const int is_there = me ? PyDict_Contains(names, me.get()) : -1;
  if (is_there < 0) PyErr_Clear();
  return is_there != 0;
}

Starting::Starting(PyObject* name)
    : names_(Owned::borrowed(names_of_threads())),
      me_(PyLong_FromUnsignedLong(PyThread_get_thread_ident())) {
  if (!names_) PyErr_SetString(PyExc_RuntimeError, "tilewright was not imported as a whole");
  if (!names_ || !me_) return;
  if (PyDict_GET_SIZE(names_.get()) > 0) {
    outer_ = Owned::borrowed(PyDict_GetItemWithError(names_.get(), me_.get()));
    if (!outer_ && PyErr_Occurred()) return;
  }
  ok_ = PyDict_SetItem(names_.get(), me_.get(), name) == 0;
}

// Runs no Python: keys are ints, and values strings.
Starting::~Starting() {
  if (!ok_) return;
  const SavedError saved;
  const int done = outer_ ? PyDict_SetItem(names_.get(), me_.get(), outer_.get())
                          : PyDict_DelItem(names_.get(), me_.get());
  if (done < 0) PyErr_Clear();  // a function that may run ops has taken it away already
}

bool announce_submission() {
  if (process.submissions == nullptr) return true;
  const int64_t waiting = number_in(process.submissions, process.waiting);
  if (waiting == 0) return true;
  if (waiting == -1 && PyErr_Occurred()) return false;
  const Owned told(out_of_turn(PyObject_CallNoArgs, process.tell));
  return static_cast<bool>(told);
}

UnlockedForOthers::UnlockedForOthers() : thread_(is_alone() ? nullptr : PyEval_SaveThread()) {}

UnlockedForOthers::~UnlockedForOthers() {
  if (thread_ != nullptr) restore_thread(thread_);
}

int add_process(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace tw::py
