// Launches whose work Python does, at the place where others are enqueued: it interprets, notes or
// records them.
#include "python/borrowing.hpp"
#include "python/context.hpp"
#include "python/listed.hpp"
#include "python/module.hpp"
#include "python/prepared.hpp"
#include "python/run_inline.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// What Python has for launches whose work it does.
struct CalledClasses {
  PyTypeObject* plan = nullptr;  // launch.launch_plan.CalledPlan
  int64_t address = 0;           // of its `LaunchPlan`
  PyTypeObject* timeline = nullptr;
  int64_t timeline_address = 0;
  PyTypeObject* pending = nullptr;  // tensors.pending_work.PendingWork
  int64_t pending_timeline = 0;
  int64_t pending_number = 0;
  int64_t is_submitted = 0;
  PyObject* start = nullptr;   // does the work of a launch that was begun, or enqueues it
  PyObject* record = nullptr;  // records one in a capture
};

CalledClasses classes;

PyObject* names_timeline = nullptr;
PyObject* zero = nullptr;

// What launches of a `CalledPlan` have in common; null: it is none, or has none yet.
const LaunchPlan* called_plan_of(PyObject* plan) {
  if (classes.plan == nullptr || Py_TYPE(plan) != classes.plan) return nullptr;
  PyObject* address = slot(plan, classes.address);
  return address == nullptr ? nullptr : static_cast<const LaunchPlan*>(PyLong_AsVoidPtr(address));
}

// The timeline of any stream. Null: an error is set.
Owned timeline_of(PyObject* stream, Timeline*& timeline) {
  Owned object(PyObject_GetAttr(stream, names_timeline));
  if (!object || !lists_work(object.get())) return Owned();
  timeline = address_in<Timeline>(object.get(), classes.timeline_address);
  return PyErr_Occurred() ? Owned() : std::move(object);
}

// Has a timeline list work that begins with its next number. False: there is no memory for that.
bool list_next(PyObject* timeline_object, const Timeline& timeline, PyObject* pending) {
  const Owned number(PyLong_FromLongLong(timeline.issued + 1));
  if (!number || !list_work(timeline_object, timeline.issued + 1, pending)) {
    PyErr_Clear();
    return false;
  }
  set_slot(pending, classes.pending_timeline, timeline_object);
  set_slot(pending, classes.pending_number, number.get());
  return true;
}

// Nothing was submitted for work that was begun: an interrupt came before Python could. The error
// that is set stays.
void abandon(PyObject* pending, PyObject* timeline_object, Timeline& timeline, int64_t number) {
  const SavedError saved;
  if (slot(pending, classes.is_submitted) == Py_True) return;
  set_slot(pending, classes.is_submitted, Py_True);
  submitted(timeline);
  if (!unlist_work(timeline_object, timeline, number)) PyErr_Clear();
}

}  // namespace

Ending end_by_call(PyObject* op, PyObject* stream, Prepared& prepared, const EndingUse& use) {
  const LaunchPlan* plan = called_plan_of(prepared.plan.get());
  if (plan == nullptr || use.context == nullptr) return Ending::kSlowPath;
  const Ending accepted = accept_numbers(*plan, prepared);
  if (accepted != Ending::kDone) return accepted;
  Timeline* timeline = nullptr;
  const Owned timeline_object = timeline_of(stream, timeline);
  if (!timeline_object) return Ending::kError;
  const Owned pending = call_python(reinterpret_cast<PyObject*>(classes.pending), {stream});
  if (!pending) return Ending::kError;
  Waits waits;
  const int64_t number = begin_launch(
      *plan, use.used, use.user, zero, prepared.row(), prepared.examination.get(),
      [&](const TensorUses& tensors, int64_t how) {
        const int64_t refused = judge(tensors, *timeline, how, waits);
        if (refused != 0) return refused;
        if (!list_next(timeline_object.get(), *timeline, pending.get())) return kSlowPath;
        return begin(tensors, *timeline, how | kListed, waits);
      });
  if (number <= 0) return number == kFailed ? Ending::kError : Ending::kSlowPath;
  const Owned waited = addresses_of(waits);
  Owned outcome = waited ? call_python(classes.start, {op, prepared.code.get(), use.context,
                                                       pending.get(), waited.get()})
                         : Owned();
  if (!outcome) {
    abandon(pending.get(), timeline_object.get(), *timeline, number);
    return Ending::kError;
  }
  mark_written(uses_of(*plan, prepared.row()));
  prepared.is_over = outcome.get() == Py_None;
  prepared.outcome = std::move(outcome);
  return Ending::kDone;
}

Ending record_by_call(PyObject* op, Prepared& prepared, const EndingUse& use) {
  const LaunchPlan* plan = called_plan_of(prepared.plan.get());
  if (plan == nullptr) return Ending::kSlowPath;
  const int64_t begun = begin_launch(
      *plan, use.used, use.user, zero, prepared.row(), prepared.examination.get(),
      [&](const TensorUses& tensors, int64_t how) { return stand(tensors, how) ? 1 : kSlowPath; });
  if (begun <= 0) return begun == kFailed ? Ending::kError : Ending::kSlowPath;
  prepared.is_over = true;
  return call_python(classes.record, {op, prepared.code.get(), use.context}) ? Ending::kDone
                                                                             : Ending::kError;
}

bool set_called_launch_classes(PyObject* given) {
  Setup setup(given);
  CalledClasses found;
  found.plan = setup.type("CalledPlan", {{"given", &found.address}});
  found.timeline = setup.type("Timeline", {{"address", &found.timeline_address}});
  found.pending = setup.type("PendingWork", {{"timeline", &found.pending_timeline},
                                             {"number", &found.pending_number},
                                             {"is_submitted", &found.is_submitted}});
  found.start = setup.object("start");
  found.record = setup.object("record");
  if (!setup.ok()) return false;
  classes = found;
  return true;
}

int add_called_launching(PyObject*) {
  names_timeline = PyUnicode_InternFromString("timeline");
  zero = PyLong_FromLong(0);
  return PyErr_Occurred() ? -1 : 0;
}

}  // namespace tw::py
