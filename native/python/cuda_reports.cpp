#include "python/cuda_reports.hpp"

#include <atomic>

#include "core/timeline.hpp"
#include "python/borrowing.hpp"
#include "python/listed.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// Classes of Python's, and where their objects keep what is looked at here.
struct ReportClasses {
  PyTypeObject* plan = nullptr;  // launch.cuda_plan.CudaPlan
  int64_t idle = 0;              // a list of reports that are as good as new
  int64_t context = 0;
  int64_t is_fine = 0;              // of the context
  PyTypeObject* report = nullptr;   // devices.cuda.record.PinnedReport
  int64_t report_address = 0;
  int64_t timeline_address = 0;     // of a timeline
  int64_t taken = 0;    // which words of a report say that a check has failed,
  int64_t used = 0;     // and how much was printed
};

ReportClasses classes;

struct Names {
  PyObject* hear;
  PyObject* hear_started;
  PyObject* new_report;
};

Names names;

struct ReportedObject {
  PyObject_HEAD
  int64_t number;  // in its timeline; 0: it was not begun
  Timeline* timeline;
  PyObject* plan;
  PyObject* report;  // null: it was given back, and all of this is over
  PyObject* held;
  PyObject* timeline_object;
  PyObject* outcome;  // what others hear of it by; None: nobody asked for one
};

using ReportedFields = Fields<ReportedObject, NoFields, offsetof(ReportedObject, plan)>;

PyTypeObject* reported_type = nullptr;

ReportedObject& as_reported(PyObject* self) { return *reinterpret_cast<ReportedObject*>(self); }

// A report of a plan that is as good as new. Null: an error is set.
Owned take_report(PyObject* plan) {
  PyObject* idle = slot(plan, classes.idle);
  if (idle != nullptr && PyList_Check(idle)) {
    Owned report = take_last(idle);
    if (report || PyErr_Occurred()) return report;
  }
  return Owned(out_of_turn(PyObject_CallMethodNoArgs, plan, names.new_report));
}

// Gives the report back, which is as good as new. False: an error is set, and it is dropped.
bool put_back(ReportedObject& reported) {
  const Owned report(std::exchange(reported.report, nullptr));
  PyObject* idle = slot(reported.plan, classes.idle);
  return idle != nullptr && PyList_Check(idle) && PyList_Append(idle, report.get()) == 0;
}

// Whether the kernel left nothing, on a device that is fine.
bool is_quiet(const ReportedObject& reported) {
  PyObject* context = slot(reported.plan, classes.context);
  if (context == nullptr || slot(context, classes.is_fine) != Py_True) return false;
  auto* words = address_in<int64_t>(reported.report, classes.report_address);
  const auto read = [&](int64_t i) {
    return std::atomic_ref<int64_t>(words[i]).load(std::memory_order_acquire);
  };
  return read(classes.taken) == 0 && read(classes.used) == 0;
}

// Has its timeline list it no longer. False: an error is set.
bool unlist(ReportedObject& reported) {
  return reported.number == 0 ||
         unlist_work(reported.timeline_object, *reported.timeline, reported.number);
}

PyObject* call(PyObject* self, PyObject*, PyObject*) {
  ReportedObject& reported = as_reported(self);
  if (reported.report == nullptr) Py_RETURN_NONE;
  const Owned kept_alive = Owned::borrowed(self);
  if (reported.outcome == Py_None && is_quiet(reported)) {
    if (!unlist(reported) || !put_back(reported)) return nullptr;
    Py_RETURN_NONE;
  }
  PyObject* given[] = {reported.plan, reported.report, self};
  const Owned heard(out_of_turn(PyObject_VectorcallMethod, names.hear_started, given, 3, nullptr));
  if (!heard) return nullptr;
  Py_CLEAR(reported.report);
  Py_RETURN_NONE;
}

PyMemberDef kMembers[] = {
    {"number", T_LONGLONG, offsetof(ReportedObject, number), READONLY, "In its timeline."},
    {"timeline", T_OBJECT_EX, offsetof(ReportedObject, timeline_object), READONLY,
     "That of its stream."},
    {"held", T_OBJECT_EX, offsetof(ReportedObject, held), READONLY,
     "Its tensors, as `bind_tensors` gave them."},
    {"outcome", T_OBJECT_EX, offsetof(ReportedObject, outcome), 0,
     "What others hear of it by; None: nobody asked for one."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_doc, const_cast<char*>("A launch on CUDA that reports; called once it is over.")},
    {Py_tp_members, kMembers},
    {Py_tp_call, as_slot(in_turn<call>)},
    {Py_tp_traverse, as_slot(ReportedFields::visit)},
    {Py_tp_clear, as_slot(in_turn<ReportedFields::clear>)},
    {Py_tp_dealloc, as_slot(ReportedFields::free)},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.Reported", sizeof(ReportedObject), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                     kSlots};

PyObject* set_report_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  ReportClasses found;
  found.plan = setup.type("CudaPlan", {{"_idle", &found.idle}, {"context", &found.context}});
  setup.type("Context", {{"is_fine", &found.is_fine}});
  found.report = setup.type("PinnedReport", {{"address", &found.report_address}});
  setup.type("Timeline", {{"address", &found.timeline_address}});
  found.taken = setup.number("ERROR_TAKEN");
  found.used = setup.number("PRINT_USED");
  if (!setup.ok()) return nullptr;
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_report_classes", in_turn<set_report_classes>, METH_O,
     "Say what Python has for launches that report."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Owned new_reported(PyObject* plan, PyObject* held, PyObject* timeline_object) {
  if (!lists_work(timeline_object)) return Owned();
  Owned report = take_report(plan);
  if (!report) return Owned();
  if (Py_TYPE(report.get()) != classes.report) {
    PyErr_SetString(PyExc_TypeError, "a PinnedReport is expected");
    return Owned();
  }
  Owned made(reported_type->tp_alloc(reported_type, 0));
  if (!made) return made;
  ReportedObject& reported = as_reported(made.get());
  reported.timeline = address_in<Timeline>(timeline_object, classes.timeline_address);
  reported.report = report.release();
  reported.plan = Py_NewRef(plan);
  reported.held = Py_NewRef(held);
  reported.timeline_object = Py_NewRef(timeline_object);
  reported.outcome = Py_NewRef(Py_None);
  return PyErr_Occurred() ? Owned() : std::move(made);
}

int64_t report_address(PyObject* reported) {
  return number_in(as_reported(reported).report, classes.report_address);
}

bool list_reported(PyObject* self, int64_t number) {
  ReportedObject& reported = as_reported(self);
  reported.number = number;
  return list_work(reported.timeline_object, number, self);
}

bool drop_reported(PyObject* self) {
  ReportedObject& reported = as_reported(self);
  return unlist(reported) && put_back(reported);
}

Ending hear_reported(PyObject* self, PyObject* op) {
  ReportedObject& reported = as_reported(self);
  const bool quiet = is_quiet(reported);
  if (!unlist(reported)) return Ending::kError;
  if (quiet) return put_back(reported) ? Ending::kDone : Ending::kError;
  const Owned report(std::exchange(reported.report, nullptr));
  PyObject* given[] = {op, reported.plan, report.get()};
  const Owned heard(out_of_turn(PyObject_VectorcallMethod, names.hear, given, 3, nullptr));
  return heard ? Ending::kDone : Ending::kError;
}

int add_cuda_reports(PyObject* module) {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {.hear = name("hear"),
           .hear_started = name("hear_started"),
           .new_report = name("new_report")};
  if (PyErr_Occurred() || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  reported_type = add_type(module, kSpec);
  return reported_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
