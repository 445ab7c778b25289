#include "python/endings.hpp"

#include <vector>

#include "python/context.hpp"
#include "python/leaving.hpp"
#include "python/link.hpp"
#include "python/location.hpp"
#include "python/module.hpp"
#include "python/process.hpp"
#include "python/run_inline.hpp"
#include "python/running.hpp"
#include "python/setup.hpp"

namespace tw::py {

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

// What each ending is called in notes of uses and in messages, and what it does.
struct VerbNames {
  PyObject* method;
  PyObject* user;
  PyObject* giver;  // who gave the stream
  bool waits;
  bool is_given_stream;
};

VerbNames verbs[4];

// What Python has for endings.
struct EndingClasses {
  PyObject* as_stream = nullptr;         // a stream, or one of another library as ours
  PyObject* finish = nullptr;            // waits for work on a stream, and raises its first error
  PyObject* refuse_host_data = nullptr;  // raises for an op that gives host data, in flight
  PyObject* refuse_nested = nullptr;     // raises where this thread is starting another op
};

EndingClasses classes;

struct Names {
  PyObject* built;
  PyObject* deliver;
  PyObject* device;
  PyObject* end;
  PyObject* failed;  // a tuple: the keyword of `end`
  PyObject* home;
  PyObject* host_data;
  PyObject* stream;
  PyObject* used;
  PyObject* zero;
};

Names names;

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
  const Owned policy = item_of(choosing.policies, home);
  if (!policy || Py_TYPE(policy.get()) != choosing.round_robin) return nullptr;
  const SlotValue turns = slot_value(policy.get(), choosing.turns);
  return turns ? PyIter_Next(turns.get()) : nullptr;
}

Owned choose_stream(PyObject* op, PyObject* home) {
  Owned found(next_in_turn(home));
  if (found || PyErr_Occurred()) return found;
  return call_python(choosing.choose, {op});
}

// A result that is being returned. Python may run the handler of a signal before the caller has it:
// what that raises drops it, and with it what the op was given.
struct Delivery {
  Owned result;
  Owned undo;        // gives back what was given for it
  Owned frame;       // of the caller
  int call;          // where in the frame the call is
  Py_ssize_t known;  // how many references there are without the caller's: others may have it, too
  bool in_flight;    // work under way may have some of them, and drop them at any time
};

// Those of which it is not known yet whether they arrived. The lock of the interpreter guards them.
std::vector<Delivery> deliveries;

enum class Arrival { kArrived, kOnItsWay, kUnknown };

bool is_handling_exception() {
  const Owned handled(PyErr_GetHandledException());
  return handled && handled.get() != Py_None;
}

// Whether the caller has the result. At the call, its frame has it once Python makes pending calls
// there; not yet where it first drops what the call was given and finalizers of that run, or
// where a function of C collects several results. Where the frame has gone on, references tell; but
// not those of a result in flight, which has arrived unless an exception is being handled.
Arrival arrival_of(const Delivery& delivery) {
  Owned frame = Owned::borrowed(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  const bool is_current = frame.get() == delivery.frame.get();
  while (frame && frame.get() != delivery.frame.get()) {
    auto* inner = reinterpret_cast<PyFrameObject*>(frame.get());
    frame = Owned(reinterpret_cast<PyObject*>(PyFrame_GetBack(inner)));
  }
  if (!frame) return Arrival::kUnknown;
  const int now = PyFrame_GetLasti(reinterpret_cast<PyFrameObject*>(frame.get()));
  if (now == delivery.call) return is_current ? Arrival::kArrived : Arrival::kOnItsWay;
  return delivery.in_flight && !is_handling_exception() ? Arrival::kArrived : Arrival::kUnknown;
}

// Undoes what was done for a result that nobody got. False: an error is set, and nothing changed.
bool undo_if_lost(const Delivery& delivery) {
  if (Py_REFCNT(delivery.result.get()) > delivery.known) return true;
  const Owned undone(out_of_turn(PyObject_CallNoArgs, delivery.undo.get()));
  return static_cast<bool>(undone);
}

// False: an error is set.
bool undo_lost_results() {
  while (!deliveries.empty()) {
    const Arrival arrival = arrival_of(deliveries.back());
    if (arrival == Arrival::kOnItsWay) return true;
    Delivery last = std::move(deliveries.back());
    deliveries.pop_back();
    if (arrival == Arrival::kArrived || undo_if_lost(last)) continue;
    deliveries.push_back(std::move(last));
    return false;
  }
  return true;
}

// Python makes pending calls behind every call, after it has run the handlers of signals: then the
// caller has the result, or nobody has.
int look_for_lost(void*) {
  const Turn turn;
  if (!undo_lost_results()) return -1;
  if (!deliveries.empty()) Py_AddPendingCall(look_for_lost, nullptr);
  return 0;
}

// Returns a result to Python, of which the caller has one reference. Where there is no room for a
// pending call, whoever looks for the tensor undoes what was lost.
PyObject* deliver(PyObject* result, PyObject* undo, bool in_flight) {
  PyFrameObject* frame = undo == Py_None ? nullptr : PyEval_GetFrame();
  if (frame != nullptr) {
    // The reference that our caller gives up is replaced by that of the delivery.
    const Py_ssize_t known = Py_REFCNT(result);
    deliveries.push_back({Owned::borrowed(result), Owned::borrowed(undo),
                          Owned::borrowed(reinterpret_cast<PyObject*>(frame)),
                          PyFrame_GetLasti(frame), known, in_flight});
    Py_AddPendingCall(look_for_lost, nullptr);
  }
  return Py_NewRef(result);
}

// What may have to be refused before anything is done. False: an error is set.
bool may_end(PyObject* op, const VerbNames& verb) {
  if (is_starting() && !call_python(classes.refuse_nested, {op})) return false;
  if (verb.waits) return true;
  const int host_data = flag_of(op, names.host_data);
  return host_data == 0 || (host_data > 0 && call_python(classes.refuse_host_data, {op}));
}

// Waits for the work of an op that has been run, if its ending does. False: an error is set.
bool finish(PyObject* context, PyObject* stream, bool waits) {
  if (!waits) return true;
  if (!check_context(context, "finish")) return false;
  int idle = is_untraced() ? await_all(stream) : 0;  // a trace sees waits of the host
  if (idle < 0) return false;
  if (PyList_GET_SIZE(as_context(context).outcomes) == 0) {
    if (idle == 0) idle = is_idle(stream);
    if (idle != 0) return idle > 0;
  }
  return static_cast<bool>(call_python(classes.finish, {context}));
}

// All has gone well, and the result is returned next: how to undo that. Null: an error is set.
Owned conclude(PyObject* context) {
  if (as_context(context).settling == Py_None) return Owned::borrowed(Py_None);
  return Owned(out_of_turn(PyObject_CallMethodNoArgs, context, names.deliver));
}

// The ops of a context failed, by the error that is set: what they were given goes back.
void end_failed(PyObject* context) {
  const SavedError saved;
  PyObject* given[] = {context, Py_True};
  const Owned ended(out_of_turn(PyObject_VectorcallMethod, names.end, given, 1, names.failed));
}

// Ends an op that may be run now, in the way of all ops.
PyObject* run_and_deliver(PyObject* op, PyObject* stream, const VerbNames& verb) {
  const Caller stands = caller(names.zero);
  if (!stands || !claim_at(op, verb.user, stands.location.get())) return nullptr;
  const Owned context = new_context(stream, verb.waits);
  if (!context) return nullptr;
  as_context(context.get()).in_flight = !verb.waits;
  const Owned result = run_here(op, context.get());
  const Owned undo =
      result && finish(context.get(), stream, verb.waits) ? conclude(context.get()) : Owned();
  if (undo) return deliver(result.get(), undo.get(), !verb.waits);
  end_failed(context.get());
  return nullptr;
}

PyObject* end_in_general(PyObject* op, PyObject* stream, const VerbNames& verb) {
  for (PyObject* name : {names.built, names.used}) {  // Python can make an op without these
    const Owned found(PyObject_GetAttr(op, name));
    if (!found) return nullptr;
  }
  // Python can make a stream without any slot being set, too.
  if (!Owned(PyObject_GetAttr(stream, names.device)) || !may_end(op, verb)) return nullptr;
  return run_and_deliver(op, stream, verb);
}

// One of our own streams for what was given as one, which another library may have made.
Owned own_stream(PyObject* op, PyObject* given, const VerbNames& verb) {
  if (is_cuda_stream(given) || cpu_queue_of(given)) return Owned::borrowed(given);
  return call_python(classes.as_stream, {op, given, verb.giver});
}

// Ends an op in its shorter way, if it has one.
Ending end_shortly(const EndingMethod& method, const VerbNames& verb, PyObject* op,
                   PyObject* stream, Owned& result) {
  if (method.end == nullptr) return Ending::kSlowPath;
  const EndingUse use{&as_op(op).used, verb.user, verb.waits, verb.waits ? cuda::kEager : 0};
  return method.end(op, stream, use, result);
}

PyObject* end_on(const EndingMethod& method, const VerbNames& verb, PyObject* op,
                 PyObject* given) {
  Owned result, own;
  Ending ending = end_shortly(method, verb, op, given, result);
  if (ending == Ending::kSlowPath) {
    own = own_stream(op, given, verb);
    if (!own) return nullptr;
    if (own.get() != given) ending = end_shortly(method, verb, op, own.get(), result);
  }
  switch (ending) {
    case Ending::kDone:
      return result.release();
    case Ending::kError:
      return nullptr;
    case Ending::kSlowPath:
      break;
  }
  return end_in_general(op, own.get(), verb);
}

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

PyObject* set_ending_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  EndingClasses found;
  found.as_stream = setup.object("as_stream");
  found.finish = setup.object("finish");
  found.refuse_host_data = setup.object("refuse_host_data");
  found.refuse_nested = setup.object("refuse_nested");
  if (!setup.ok()) return nullptr;
  classes = found;
  Py_RETURN_NONE;
}

PyObject* stream_for(PyObject*, PyObject* op) {
  if (!is_op(op)) {
    PyErr_Format(PyExc_TypeError, "stream_for() takes an op, got %.100s", Py_TYPE(op)->tp_name);
    return nullptr;
  }
  const Owned home = home_of_op(op);
  return home ? choose_stream(op, home.get()).release() : nullptr;
}

PyObject* undo_lost(PyObject*, PyObject*) {
  if (!undo_lost_results()) return nullptr;
  Py_RETURN_NONE;
}

PyObject* next_of(PyObject*, PyObject* iterator) {
  if (!PyIter_Check(iterator)) {
    PyErr_Format(PyExc_TypeError, "next_of() takes an iterator, got %.100s",
                 Py_TYPE(iterator)->tp_name);
    return nullptr;
  }
  PyObject* found = PyIter_Next(iterator);
  if (found == nullptr && !PyErr_Occurred()) PyErr_SetNone(PyExc_StopIteration);
  return found;
}

PyMethodDef kFunctions[] = {
    {"next_of", in_turn<next_of>, METH_O, "Take the next item of an iterator that threads share."},
    {"undo_lost", in_turn<undo_lost>, METH_NOARGS,
     "Undo what was done for results that an interrupt has dropped as they were returned."},
    {"stream_for", in_turn<stream_for>, METH_O, "Choose the stream of an op that is told none."},
    {"set_choosing", in_turn<set_choosing>, METH_O,
     "Say how streams are chosen for ops that name none."},
    {"set_ending_classes", in_turn<set_ending_classes>, METH_O, "Say what Python has for endings."},
    {nullptr, nullptr, 0, nullptr},
};

bool name_all() {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {.built = name("_built"),
           .deliver = name("deliver_by_core"),
           .device = name("device"),
           .end = name("end"),
           .failed = Py_BuildValue("(s)", "failed"),
           .home = name("home"),
           .host_data = name("host_data"),
           .stream = name("stream"),
           .used = name("_used"),
           .zero = PyLong_FromLong(0)};
  PyObject* sync = name("sync()");
  PyObject* start = name("start()");
  PyObject* gave_sync = name("`sync_on` takes a stream");
  PyObject* gave_start = name("`start_on` takes a stream");
  verbs[static_cast<int>(Verb::kSync)] = {sync, sync, gave_sync, true, false};
  verbs[static_cast<int>(Verb::kSyncOn)] = {name("sync_on()"), sync, gave_sync, true,
                                               true};
  verbs[static_cast<int>(Verb::kStart)] = {start, start, gave_start, false, false};
  verbs[static_cast<int>(Verb::kStartOn)] = {name("start_on()"), start, gave_start,
                                                false, true};
  return !PyErr_Occurred();
}

// Whether an ending was given what it takes: a stream, by its name or not, or nothing.
bool is_given_well(const VerbNames& verb, Py_ssize_t count, PyObject* keywords) {
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* keyword = PyTuple_GET_ITEM(keywords, i);
    if (verb.is_given_stream && PyUnicode_Compare(keyword, names.stream) == 0) continue;
    PyErr_Format(PyExc_TypeError, "%U got an unexpected keyword argument '%U'", verb.method,
                 keyword);
    return false;
  }
  const Py_ssize_t expected = verb.is_given_stream ? 1 : 0;
  if (count + named == expected) return true;
  PyErr_Format(PyExc_TypeError, "%U takes %zd arguments, got %zd", verb.method, expected,
               count + named);
  return false;
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
  return out_of_turn(PyObject_VectorcallMethod, name, passed, static_cast<size_t>(count) + 1,
                     names);
}

PyObject* call_ending(Verb verb, const EndingMethod& method, PyObject* op, PyObject* const* given,
                      Py_ssize_t count, PyObject* keywords) {
  const VerbNames& its = names_of(verb);
  if (!is_given_well(its, count, keywords)) return nullptr;
  if (its.is_given_stream) return leaving(end_on(method, its, op, given[0]));
  const Owned home = method.home(op);
  const Owned stream = home ? choose_stream(op, home.get()) : Owned();
  return leaving(stream ? end_on(method, its, op, stream.get()) : nullptr);
}

Owned home_of_op(PyObject* op) { return Owned(PyObject_GetAttr(op, names.home)); }

int add_endings(PyObject* module) {
  return name_all() ? PyModule_AddFunctions(module, kFunctions) : -1;
}

}  // namespace tw::py
