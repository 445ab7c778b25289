// Python's `CudaStream`, as native code tells it of work: where it keeps what, and what it is told.
#include "python/borrowing.hpp"
#include "python/cuda.hpp"
#include "python/module.hpp"
#include "python/process.hpp"
#include "python/slots.hpp"
#include "python/types.hpp"

namespace tw::py {

namespace {

using cuda::Submission;

// Where objects of `CudaStream`, and of what it consists of, keep what is read and written here.
struct StreamClass {
  PyObject* cls = nullptr;
  int64_t timeline_object = 0;
  int64_t handle = 0;
  int64_t device = 0;
  int64_t context = 0;
  int64_t pool = 0;
  int64_t is_fine = 0;    // of the context: whether calls can be made
  int64_t others = 0;     // pieces of work that no timeline counts
  int64_t completed = 0;  // how much is known to have passed
  int64_t kept = 0;       // a list of what stays alive for work, and what that is
  int64_t dropped = 0;    // how much was dropped from the front of it
  int64_t arriving = 0;   // a dict: memory of the host that copies have yet to be written to
  int64_t waiting = 0;    // a set of streams that stay alive for what they keep
  int64_t marks = 0;      // a deque of events
  int64_t callbacks = 0;  // completion callbacks
  int64_t timeline_address = 0;
  int64_t callbacks_items = 0;
  int64_t callbacks_append = 0;  // adds to these
  int64_t many = 0;  // how much is kept when a stream lets go of what has passed
};

StreamClass streams;

// Names of methods, as objects that are there for good.
PyObject* tend_name = nullptr;
PyObject* sweep_name = nullptr;
PyObject* drop_name = nullptr;

PyObject* set_cuda_stream(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("set_cuda_stream", given, count, 5);
  PyObject* cls = arguments.object();
  PyObject* context = arguments.object();
  PyObject* timeline_object = arguments.object();
  PyObject* callbacks = arguments.object();
  const int64_t many = arguments.number();
  if (!arguments.ok()) return nullptr;
  StreamClass found;
  if (!find_slots(cls, {{"timeline", &found.timeline_object},
                        {"handle", &found.handle},
                        {"device", &found.device},
                        {"context", &found.context},
                        {"pool", &found.pool},
                        {"_others", &found.others},
                        {"completed", &found.completed},
                        {"kept", &found.kept},
                        {"_dropped", &found.dropped},
                        {"arriving", &found.arriving},
                        {"_waiting", &found.waiting},
                        {"_marks", &found.marks},
                        {"_callbacks", &found.callbacks}}) ||
      !find_slots(context, {{"is_fine", &found.is_fine}}) ||
      !find_slots(timeline_object, {{"address", &found.timeline_address}}) ||
      !find_slots(callbacks, {{"_items", &found.callbacks_items},
                              {"append", &found.callbacks_append}})) {
    return nullptr;
  }
  found.many = many;
  found.cls = Py_NewRef(cls);  // the one before, if any, stays: others may be looking at it
  streams = found;
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"set_cuda_stream", as_method(in_turn<set_cuda_stream>),
     METH_FASTCALL, "Say what streams of CUDA, contexts, timelines and completion callbacks are."},
    {nullptr, nullptr, 0, nullptr},
};

bool call_method(PyObject* object, PyObject* name) {
  const Owned told(out_of_turn(PyObject_CallMethodNoArgs, object, name));
  return static_cast<bool>(told);
}

// Keeps something alive for work that was put on a stream, and notes what that is called. Runs no
// Python, where an interrupt could be raised. Gives how much the stream keeps; below 0: an error is
// set. Without memory for that it is kept for good, as the device works with it.
Py_ssize_t hold(PyObject* stream, PyObject* label, PyObject* keep) {
  PyObject* both = PyTuple_Pack(2, label, keep);
  if (both == nullptr) {
    Py_INCREF(label);
    Py_INCREF(keep);
    return -1;
  }
  // Asked for only now: garbage collection may have run Python.
  PyObject* kept = slot(stream, streams.kept);
  if (PyList_Append(kept, both) < 0) return -1;
  Py_DECREF(both);
  const Py_ssize_t count = PyList_GET_SIZE(kept);
  if (count == 1 && PySet_Add(slot(stream, streams.waiting), stream) < 0) {
    Py_INCREF(stream);
    return -1;
  }
  return count;
}

// The same, and lets go of what has passed if there is much.
bool hold_or_tend(PyObject* stream, PyObject* label, PyObject* keep) {
  const Py_ssize_t count = hold(stream, label, keep);
  if (count < 0) return false;
  return count != streams.many || call_method(stream, tend_name);
}

// Lets a stream drop what it kept before. Python does it: another thread may be about to, as well.
bool drop_kept(PyObject* stream, const StreamPoint& before) {
  const Owned upto(PyLong_FromLongLong(before.upto));
  if (!upto) return false;
  PyObject* given[] = {stream, before.kept.get(), upto.get()};
  const Owned told(out_of_turn(PyObject_VectorcallMethod, drop_name, given, 3, nullptr));
  return static_cast<bool>(told);
}

// Notes that a stream has passed so many pieces of work.
bool note_completed(PyObject* stream, int64_t number) {
  if (number <= number_in(stream, streams.completed)) return true;
  if (PyErr_Occurred()) return false;
  const Owned now(PyLong_FromLongLong(number));
  if (!now) return false;
  set_slot(stream, streams.completed, now.get());
  return true;
}

// Whether events or completion callbacks of a stream wait to be looked at; below 0: an error is
// set.
int has_callbacks(PyObject* stream) {
  const int marked = PyObject_IsTrue(slot(stream, streams.marks));
  if (marked != 0) return marked;
  PyObject* items = slot(slot(stream, streams.callbacks), streams.callbacks_items);
  return items == nullptr ? 0 : PyObject_IsTrue(items);
}

// As `CudaStream.waited`, where all that was on the stream is over.
bool reap(PyObject* stream, const StreamPoint& before, int64_t submitted) {
  if (!note_completed(stream, before.others + submitted)) return false;
  if (PyList_GET_SIZE(before.kept.get()) > 0 && !drop_kept(stream, before)) return false;
  const int callbacks = has_callbacks(stream);
  return callbacks == 0 || (callbacks > 0 && call_method(stream, sweep_name));
}

// Python goes on with work that was refused, or is not over yet.
bool leave_unfinished(PyObject* unfinished, PyObject* label, PyObject* keep, PyObject* stream,
                      const StreamPoint& before, int64_t answer) {
  const Owned others(PyLong_FromLongLong(before.others));
  const Owned upto(PyLong_FromLongLong(before.upto));
  const Owned told(PyLong_FromLongLong(answer));
  if (!others || !upto || !told) return false;
  PyObject* given[] = {label, keep, stream, others.get(), before.kept.get(), upto.get(),
                       told.get()};
  const Owned done(out_of_turn(PyObject_Vectorcall, unfinished, given, std::size(given), nullptr));
  return static_cast<bool>(done);
}

// What becomes of work that the driver was given, before others hear of it.
bool finish(const Submission& submission, PyObject* stream, const StreamPoint& before,
            PyObject* label, PyObject* keep, bool waits, PyObject* unfinished) {
  if (submission.kind == Submission::Kind::kDone) {
    if (!waits) return hold_or_tend(stream, label, keep);
    if (submission.status == cuda::kSuccess) return reap(stream, before, submission.submitted);
    // An interrupt may come before Python has kept it.
    if (hold(stream, label, keep) < 0) return false;
  }
  return leave_unfinished(unfinished, label, keep, stream, before, submission.encoded());
}

}  // namespace

bool is_cuda_stream(PyObject* stream) {
  if (!is_exactly(stream, streams.cls)) return false;
  for (const int64_t each :
       {streams.timeline_object, streams.handle, streams.device, streams.context, streams.others,
        streams.completed, streams.kept, streams.dropped, streams.waiting, streams.marks,
        streams.callbacks}) {
    if (slot(stream, each) == nullptr) return false;
  }
  return true;
}

PyObject* device_of_cuda_stream(PyObject* stream) { return slot(stream, streams.device); }

PyObject* pool_of_cuda_stream(PyObject* stream) {
  const bool is_fine = slot(slot(stream, streams.context), streams.is_fine) == Py_True;
  return is_fine ? slot(stream, streams.pool) : nullptr;
}

PyObject* timeline_of_cuda_stream(PyObject* stream) {
  return slot(stream, streams.timeline_object);
}

bool has_arriving(PyObject* stream) {
  PyObject* arriving = slot(stream, streams.arriving);
  return arriving == nullptr || !PyDict_Check(arriving) || PyDict_GET_SIZE(arriving) > 0;
}

bool keep_on_stream(PyObject* stream, PyObject* keep) { return hold(stream, Py_None, keep) >= 0; }

bool call_when_passed(PyObject* stream, int64_t submitted, PyObject* callback) {
  // Others may have put more there meanwhile: it is called too late then, rather than too early.
  const Owned number(PyLong_FromLongLong(number_in(stream, streams.others) + submitted));
  const Owned due(number ? PyTuple_Pack(3, number.get(), callback, Py_None) : nullptr);
  PyObject* append = slot(slot(stream, streams.callbacks), streams.callbacks_append);
  const Owned added(due && append != nullptr ? out_of_turn(PyObject_CallOneArg, append, due.get())
                                             : nullptr);
  if (!added) Py_INCREF(callback);  // the device works with what it keeps
  return added && PySet_Add(slot(stream, streams.waiting), stream) == 0;
}

StreamPoint point_of(PyObject* stream) {
  StreamPoint point;
  point.handle = address_in<cuda::OpaqueStream>(stream, streams.handle);
  point.others = number_in(stream, streams.others);
  point.kept = Owned::borrowed(slot_value(stream, streams.kept).get());
  point.upto = number_in(stream, streams.dropped) + PyList_GET_SIZE(point.kept.get());
  PyObject* object = slot(stream, streams.timeline_object);
  auto* timeline = address_in<Timeline>(object, streams.timeline_address);
  if (!PyErr_Occurred()) point.timeline = timeline;
  return point;
}

Ending commit(const Submission& submission, PyObject* stream, const StreamPoint& before,
              PyObject* label, PyObject* keep, bool waits, PyObject* unfinished) {
  if (submission.kind == Submission::Kind::kNone) return Ending::kSlowPath;
  if (submission.kind == Submission::Kind::kError) return Ending::kError;
  if (!finish(submission, stream, before, label, keep, waits, unfinished)) return Ending::kError;
  return announce_submission() ? Ending::kDone : Ending::kError;  // last, as it runs Python
}

int await_all(PyObject* stream) {
  if (!is_cuda_stream(stream) || slot(slot(stream, streams.context), streams.is_fine) != Py_True) {
    return 0;
  }
  const StreamPoint before = point_of(stream);
  if (!before.ok()) return -1;
  Timeline& timeline = *before.timeline;
  if (timeline.domain == 0) return 0;  // native code knows no driver for it
  const int64_t submitted = timeline.submitted;
  const int64_t completed = number_in(stream, streams.completed);
  if (completed >= before.others + submitted) return PyErr_Occurred() ? -1 : 1;
  const auto& driver = *driver_at(reinterpret_cast<const void*>(timeline.domain));
  const auto& queue = *static_cast<const cuda::Queue*>(timeline.queue);
  const cuda::DrainPoint point(timeline);
  cuda::Status status;
  {
    const UnlockedForOthers others;
    status = cuda::drain(driver, queue.context, before.handle, cuda::kEager);
  }
  if (PyErr_Occurred()) return -1;
  if (status != cuda::kSuccess) return 0;
  point.drained(timeline);
  return reap(stream, before, submitted) ? 1 : -1;
}

int add_cuda_stream(PyObject* module) {
  tend_name = PyUnicode_InternFromString("tend");
  sweep_name = PyUnicode_InternFromString("sweep");
  drop_name = PyUnicode_InternFromString("_drop");
  if (tend_name == nullptr || sweep_name == nullptr || drop_name == nullptr) return -1;
  return PyModule_AddFunctions(module, kMethods);
}

}  // namespace tw::py
