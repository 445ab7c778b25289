#include "python/started.hpp"

#include "python/cpu_launching.hpp"
#include "python/listed.hpp"
#include "python/module.hpp"

namespace tw::py {

namespace {

PyObject* names_hear_started = nullptr;
PyObject* names_settle = nullptr;

struct StartedObject {
  PyObject_HEAD
  int64_t number;        // in its timeline
  Timeline* timeline;    // which is there for good
  const cpu::Job* job;
  PyObject* plan;
  PyObject* record;  // null: it was given back
  PyObject* held;
  PyObject* timeline_object;
  PyObject* outcome;  // who is told what becomes of it; None: it reports nothing
};

using StartedFields = Fields<StartedObject, NoFields, offsetof(StartedObject, plan)>;

PyTypeObject* started_type = nullptr;

StartedObject& as_started(PyObject* self) { return *reinterpret_cast<StartedObject*>(self); }

PyObject* call_started(PyObject* self, PyObject*, PyObject*) {
  StartedObject& started = as_started(self);
  if (started.number == 0) Py_RETURN_NONE;  // it was not begun
  if (started.record != nullptr) {
    if (started.job->has_report()) {
      const Owned number(PyLong_FromLongLong(started.number));
      PyObject* given[] = {started.plan,    started.record,          started.held,
                           started.outcome, started.timeline_object, number.get()};
      const Owned heard(
          number ? out_of_turn(PyObject_VectorcallMethod, names_hear_started, given, 6, nullptr)
                 : nullptr);
      if (!heard) return nullptr;
    } else {
      if (started.outcome != Py_None) {
        const Owned settled(out_of_turn(PyObject_CallMethodNoArgs, started.outcome, names_settle));
        if (!settled) return nullptr;
      }
      if (!put_back(started.plan, started.record)) return nullptr;
    }
    Py_CLEAR(started.record);
  }
  if (started.outcome == Py_None) {
    pass(*started.timeline, started.number);
  } else if (!unlist_work(started.timeline_object, *started.timeline, started.number)) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyMemberDef kStartedMembers[] = {
    {"number", T_LONGLONG, offsetof(StartedObject, number), READONLY, "In its timeline."},
    {"outcome", T_OBJECT_EX, offsetof(StartedObject, outcome), READONLY,
     "What others hear of it by; None: it reports nothing."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kStartedSlots[] = {
    {Py_tp_doc, const_cast<char*>("Work that was put on a stream of the CPU; called at its end.")},
    {Py_tp_members, kStartedMembers},
    {Py_tp_call, as_slot(in_turn<call_started>)},
    {Py_tp_traverse, as_slot(StartedFields::visit)},
    {Py_tp_clear, as_slot(in_turn<StartedFields::clear>)},
    {Py_tp_dealloc, as_slot(StartedFields::free)},
    {0, nullptr},
};

PyType_Spec kStartedSpec = {
    "tilewright._core.Started", sizeof(StartedObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, kStartedSlots};

}  // namespace

Owned new_started(const CpuQueue& queue, const RunMemory& memory, PyObject* plan, PyObject* held,
                  PyObject* outcome) {
  Owned made(started_type->tp_alloc(started_type, 0));
  if (!made) return made;
  StartedObject& started = as_started(made.get());
  started.timeline = queue.timeline;
  started.job = &memory.job();
  set_field(started.plan, plan);
  set_field(started.record, memory.record());
  set_field(started.held, held);
  set_field(started.timeline_object, queue.timeline_object);
  set_field(started.outcome, outcome);
  return made;
}

int64_t& number_of_started(PyObject* started) { return as_started(started).number; }

int add_started(PyObject* module) {
  names_hear_started = PyUnicode_InternFromString("hear_started");
  names_settle = PyUnicode_InternFromString("settle");
  if (PyErr_Occurred()) return -1;
  started_type = add_type(module, kStartedSpec);
  return started_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
