#include "python/endings.hpp"

#include <vector>

#include "python/module.hpp"
#include "python/process.hpp"
#include "python/setup.hpp"

namespace tw::py {

PyTypeObject* op_type = nullptr;

namespace {

// How streams are chosen for ops that name none, as op/ambient.py does.
struct Choosing {
  PyObject* chosen = nullptr;    // a ContextVar: the device and the policy of `with` blocks
  PyObject* policies = nullptr;  // a dict: the policy of each device
  PyTypeObject* round_robin = nullptr;
  int64_t turns = 0;             // where a round robin has the iterator over its streams
  PyObject* choose = nullptr;    // finds the stream of an op in every case
};

Choosing choosing;

// What each ending is called: by users, in notes of uses, and where it is done in Python.
struct VerbNames {
  PyObject* slow;
  PyObject* user;
  bool waits;
  bool is_given_stream;
};

VerbNames verbs[4];
PyObject* warn_never_run = nullptr;

const VerbNames& names_of(Verb verb) { return verbs[static_cast<int>(verb)]; }

// The stream of a device whose own policy hands out streams in turn, where no other one was said.
// Null without an error: look closer.
PyObject* next_in_turn(PyObject* home) {
  if (home == nullptr || home == Py_None || choosing.chosen == nullptr) return nullptr;
  PyObject* chosen = nullptr;
  if (PyContextVar_Get(choosing.chosen, nullptr, &chosen) < 0) return nullptr;
  const Owned owned(chosen);
  constexpr Py_ssize_t kPolicy = 1;
  if (chosen == nullptr || !PyTuple_Check(chosen) || PyTuple_GET_SIZE(chosen) <= kPolicy ||
      PyTuple_GET_ITEM(chosen, kPolicy) != Py_None) {
    return nullptr;
  }
  PyObject* policy = PyDict_GetItemWithError(choosing.policies, home);
  if (policy == nullptr || Py_TYPE(policy) != choosing.round_robin) return nullptr;
  PyObject* turns = slot(policy, choosing.turns);
  return turns == nullptr ? nullptr : PyIter_Next(turns);
}

Owned choose_stream(PyObject* op, PyObject* home) {
  Owned found(next_in_turn(home));
  if (found || PyErr_Occurred()) return found;
  if (choosing.choose == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "tilewright was not imported as a whole");
    return found;
  }
  return Owned(PyObject_CallOneArg(choosing.choose, op));
}

// A result that is being returned. Python may run the handler of a signal before the caller has it:
// what that raises drops it, and with it what the op was given.
struct Delivery {
  Owned result;
  Owned undo;   // gives back what was given for it
  Owned frame;  // of the caller
  int call;     // where in the frame the call is
};

// Those of which it is not known yet whether they arrived. The lock of the interpreter guards them.
std::vector<Delivery> deliveries;

// Whether the caller's frame does not have the result yet: Python drops what the call was given
// first, and finalizers of that may run.
bool is_on_its_way(const Delivery& delivery) {
  Owned frame = Owned::borrowed(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  if (frame.get() == delivery.frame.get()) return false;
  while (frame && frame.get() != delivery.frame.get()) {
    auto* inner = reinterpret_cast<PyFrameObject*>(frame.get());
    frame = Owned(reinterpret_cast<PyObject*>(PyFrame_GetBack(inner)));
  }
  auto* found = reinterpret_cast<PyFrameObject*>(frame.get());
  return found != nullptr && PyFrame_GetLasti(found) == delivery.call;
}

// Undoes what was done for a result that nobody got. False: an error is set, and nothing changed.
bool undo_if_lost(const Delivery& delivery) {
  if (Py_REFCNT(delivery.result.get()) > 1) return true;
  const Owned undone(PyObject_CallNoArgs(delivery.undo.get()));
  return static_cast<bool>(undone);
}

bool undo_lost_results() {
  while (!deliveries.empty()) {
    Delivery last = std::move(deliveries.back());
    deliveries.pop_back();
    if (undo_if_lost(last)) continue;
    deliveries.push_back(std::move(last));
    return false;
  }
  return true;
}

// Python makes pending calls behind every call, after it has run the handlers of signals: then the
// caller has the result, or nobody has.
int look_for_lost(void*) {
  if (!deliveries.empty() && is_on_its_way(deliveries.back())) {
    Py_AddPendingCall(look_for_lost, nullptr);
    return 0;
  }
  return undo_lost_results() ? 0 : -1;
}

// Returns a result to Python. Where that has no room for a pending call, whoever looks for the
// tensor undoes what was lost.
PyObject* deliver(PyObject* result, PyObject* undo) {
  PyFrameObject* frame = undo == Py_None ? nullptr : PyEval_GetFrame();
  if (frame != nullptr) {
    deliveries.push_back({Owned::borrowed(result), Owned::borrowed(undo),
                          Owned::borrowed(reinterpret_cast<PyObject*>(frame)),
                          PyFrame_GetLasti(frame)});
    Py_AddPendingCall(look_for_lost, nullptr);
  }
  return Py_NewRef(result);
}

// Ends an op in Python, by the method of this name.
PyObject* end_slowly(PyObject* name, PyObject* op, PyObject* const* given, Py_ssize_t count,
                     PyObject* keywords) {
  const Owned ended(call_slowly(name, op, given, count, keywords));
  if (!ended) return nullptr;
  if (!PyTuple_CheckExact(ended.get()) || PyTuple_GET_SIZE(ended.get()) != 2) {
    PyErr_Format(PyExc_TypeError, "%U() gives a result and how to undo it", name);
    return nullptr;
  }
  return deliver(PyTuple_GET_ITEM(ended.get(), 0), PyTuple_GET_ITEM(ended.get(), 1));
}

PyObject* end_on(const EndingMethod& method, const VerbNames& verb, PyObject* op, PyObject* stream,
                 PyObject* slow) {
  const EndingUse use{as_op(op).uses, verb.user, verb.waits, verb.waits ? cuda::kEager : 0};
  Owned result;
  switch (method.end(op, stream, use, result)) {
    case Ending::kDone:
      return result.release();
    case Ending::kError:
      return nullptr;
    case Ending::kSlowPath:
      break;
  }
  return end_slowly(slow, op, &stream, 1, nullptr);
}

void finalize(PyObject* self) {
  PyObject* uses = as_op(self).uses;  // null: an interrupt came before it had any
  if (uses == nullptr || !PyList_Check(uses) || PyList_GET_SIZE(uses) > 0) return;
  // An error that is on its way goes on afterwards; nobody would hear one of a finalizer.
  const SavedError saved;
  const Owned told(PyObject_CallMethodNoArgs(self, warn_never_run));
  if (!told) PyErr_WriteUnraisable(self);
}

PyMemberDef kMembers[] = {
    {"_built", T_OBJECT_EX, offsetof(OpObject, built), 0, "Where the program stood."},
    {"_uses", T_OBJECT_EX, offsetof(OpObject, uses), 0, "Who used it, or tried to, and where."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kTypeSlots[] = {
    {Py_tp_doc, const_cast<char*>("An op: where it was built, and who has used it.")},
    {Py_tp_members, kMembers},
    {Py_tp_traverse, as_slot(OpFields::visit)},
    {Py_tp_clear, as_slot(OpFields::clear)},
    {Py_tp_dealloc, as_slot(OpFields::free)},
    {Py_tp_finalize, as_slot(finalize)},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.Op", sizeof(OpObject), 0, kBaseTypeFlags, kTypeSlots};

PyObject* set_choosing(PyObject*, PyObject* given) {
  Setup setup(given);
  Choosing found;
  found.chosen = setup.object("chosen");
  found.policies = setup.object("policies");
  found.round_robin = setup.type("round_robin", {{"turns", &found.turns}});
  found.choose = setup.object("choose");
  if (!setup.ok()) return nullptr;
  choosing = found;
  Py_RETURN_NONE;
}

PyObject* undo_lost(PyObject*, PyObject*) {
  if (!undo_lost_results()) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"undo_lost", undo_lost, METH_NOARGS,
     "Undo what was done for results that an interrupt has dropped as they were returned."},
    {"set_choosing", set_choosing, METH_O, "Say how streams are chosen for ops that name none."},
    {nullptr, nullptr, 0, nullptr},
};

bool name_verbs() {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  verbs[static_cast<int>(Verb::kSync)] = {name("_sync_slowly"), name("sync()"), true, false};
  verbs[static_cast<int>(Verb::kSyncOn)] = {name("_sync_on_slowly"), name("sync()"), true, true};
  verbs[static_cast<int>(Verb::kStart)] = {name("_start_slowly"), name("start()"), false, false};
  verbs[static_cast<int>(Verb::kStartOn)] = {name("_start_on_slowly"), name("start()"), false,
                                             true};
  warn_never_run = name("_warn_never_run");
  return !PyErr_Occurred();
}

}  // namespace

PyObject* call_slowly(PyObject* name, PyObject* self, PyObject* const* given, Py_ssize_t count,
                      PyObject* names) {
  const Py_ssize_t all = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
  constexpr Py_ssize_t kFew = 8;
  PyObject* few[kFew];
  std::vector<PyObject*> many;
  PyObject** passed = few;
  if (all + 1 > kFew) {
    many.resize(static_cast<size_t>(all) + 1);
    passed = many.data();
  }
  passed[0] = self;
  for (Py_ssize_t i = 0; i < all; ++i) passed[i + 1] = given[i];
  return PyObject_VectorcallMethod(name, passed, static_cast<size_t>(count) + 1, names);
}

PyObject* call_ending(Verb verb, const EndingMethod& method, PyObject* op, PyObject* const* given,
                      Py_ssize_t count, PyObject* names) {
  const VerbNames& its = names_of(verb);
  if (names != nullptr || count != (its.is_given_stream ? 1 : 0)) {
    return end_slowly(its.slow, op, given, count, names);
  }
  if (its.is_given_stream) return end_on(method, its, op, given[0], its.slow);
  const Owned stream = choose_stream(op, method.home(op));
  if (!stream) return nullptr;
  const Verb on = verb == Verb::kSync ? Verb::kSyncOn : Verb::kStartOn;
  return end_on(method, its, op, stream.get(), names_of(on).slow);
}

int add_endings(PyObject* module) {
  if (!name_verbs() || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  op_type = add_type(module, kSpec);
  return op_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
