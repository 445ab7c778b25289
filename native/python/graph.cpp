// Launches of graphs: work that was recorded once, and is submitted again as a whole.
#include <optional>

#include "cpu/pool.hpp"
#include "python/borrowing.hpp"
#include "python/endings.hpp"
#include "python/location.hpp"
#include "python/module.hpp"
#include "python/process.hpp"
#include "python/run_inline.hpp"
#include "python/setup.hpp"
#include "python/submit_cpu.hpp"

namespace tw::py {

namespace {

// The base of `graph.graph.CudaGraph`.
struct GraphObject {
  PyObject_HEAD
  PyObject* memory;    // a `PlainMemory`; None: not all of it is memory as a whole
  PyObject* replay;    // what was recorded
  PyObject* device;    // where it runs
  PyObject* name;      // what was captured
  PyObject* prepared;  // a list: what became of filling memory for it, before the first launch
};

using GraphFields = Fields<GraphObject, NoFields, offsetof(GraphObject, memory)>;

// The base of `graph.launching.GraphLaunch`.
struct GraphLaunchObject {
  OpObject op;
  PyObject* graph;  // None: it has run
  PyObject* name;   // what was captured
  PyObject* home;   // the device of the graph
};

using GraphLaunchFields = Fields<GraphLaunchObject, OpFields, offsetof(GraphLaunchObject, graph)>;

PyTypeObject* graph_type = nullptr;
PyTypeObject* graph_launch_type = nullptr;

GraphObject& as_graph(PyObject* self) { return *reinterpret_cast<GraphObject*>(self); }
GraphLaunchObject& as_launch(PyObject* op) { return *reinterpret_cast<GraphLaunchObject*>(op); }

// Where a replay has what takes the turn to run it, and what leaves it.
struct TurnSlots {
  int64_t take = 0;
  int64_t leave = 0;

  bool is_in(PyObject* replay) const {
    return slot(replay, take) != nullptr && slot(replay, leave) != nullptr;
  }
};

// Classes of Python's that a launch of a graph meets.
struct GraphClasses {
  PyTypeObject* op = nullptr;      // graph.launching.GraphLaunch
  PyTypeObject* memory = nullptr;  // array.recording.PlainMemory
  int64_t memory_address = 0;      // of its `ReplayMemory`
  int64_t records = 0;
  PyTypeObject* cpu_replay = nullptr;  // devices.cpu.replay.CpuReplay
  int64_t cpu_last = 0;                // behind the last run that was put on a stream; None: none
  int64_t is_silent = 0;               // whether it prints nothing
  int64_t run = 0;                     // the one to be run next; None: one is under way
  int64_t is_mine = 0;                 // whether this thread has the turn
  TurnSlots cpu_turn;
  int64_t threads = 0;  // that its nodes use
  PyTypeObject* cuda_replay = nullptr;  // devices.cuda.replay.CudaReplay
  int64_t attended = 0;                 // whether the host has a part in its runs
  int64_t driver = 0;
  int64_t executable = 0;
  int64_t cuda_last = 0;
  int64_t only = 0;
  int64_t ran_on = 0;  // the stream of the last run
  TurnSlots cuda_turn;
  int64_t context = 0;
  int64_t context_handle = 0;
  int64_t is_fine = 0;
  PyObject* label = nullptr;       // what streams call a graph
  PyObject* tidy = nullptr;        // lets memory forget what is over
  PyObject* unfinished = nullptr;  // goes on where CUDA refused a run, or it is not over yet
};

GraphClasses classes;

struct Names {
  PyObject* hear;
  PyObject* is_over;
  PyObject* launch;
  PyObject* new_run;
  PyObject* spent;
  PyObject* spread;
  PyObject* zero;
};

Names names;

bool name_all() {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {.hear = name("hear"),
           .is_over = name("is_over"),
           .launch = name("_launch_slowly"),
           .new_run = name("new_run"),
           .spent = name("spent"),
           .spread = name("spread"),
           .zero = PyLong_FromLong(0)};
  return !PyErr_Occurred();
}

// What native code needs of memory, if a graph can be submitted without a closer look.
const ReplayMemory* memory_of(const GraphObject& graph, Owned& kept_alive) {
  PyObject* memory = graph.memory;
  if (Py_TYPE(memory) != classes.memory || !PyList_Check(graph.prepared) ||
      PyList_GET_SIZE(graph.prepared) > 0) {
    return nullptr;
  }
  PyObject* address = slot(memory, classes.memory_address);
  if (address == nullptr) return nullptr;
  kept_alive = Owned::borrowed(memory);
  return static_cast<const ReplayMemory*>(PyLong_AsVoidPtr(address));
}

// The turn of a replay, for a scope. Another thread may have it meanwhile.
class ReplayTurn {
 public:
  // `taken()` is false where an error is set.
  ReplayTurn(PyObject* replay, const TurnSlots& turn)
      : leave_(Owned::borrowed(slot(replay, turn.leave))),
        taken_(out_of_turn(PyObject_CallNoArgs, slot(replay, turn.take))) {}
  ReplayTurn(const ReplayTurn&) = delete;
  ReplayTurn& operator=(const ReplayTurn&) = delete;
  ~ReplayTurn() {
    if (!taken_) return;
    const SavedError saved;
    const Owned left(out_of_turn(PyObject_CallNoArgs, leave_.get()));
    if (!left) PyErr_WriteUnraisable(leave_.get());
  }

  bool taken() const { return static_cast<bool>(taken_); }

 private:
  Owned leave_;
  Owned taken_;
};

// Whether Python says yes; an error is set where it raises, and the answer is no.
bool says_yes(PyObject* answer) {
  const Owned owned(answer);
  return answer == Py_True;
}

// The run that is next, whose turn it is. Null without an error: another one is under way.
Owned next_run(PyObject* replay) {
  PyObject* last = slot(replay, classes.cpu_last);
  if (last != Py_None && !says_yes(out_of_turn(PyObject_CallMethodNoArgs, replay, names.is_over))) {
    return Owned();
  }
  PyObject* run = slot(replay, classes.run);
  if (run != nullptr && run != Py_None) return Owned::borrowed(run);
  return Owned(
      out_of_turn(PyObject_CallMethodNoArgs, replay, names.new_run));  // an interrupt has left none
}

// Lets the nodes of a replay use as many threads as a run may now; false: an error is set.
bool spread_nodes(PyObject* replay, const CpuQueue& queue, const cpu::Job& run) {
  if (run.blocks <= 1) return true;
  const int64_t threads = threads_for(queue);
  if (threads < 0) return false;
  if (number_in(replay, classes.threads) == threads) return true;
  const Owned told(out_of_turn(PyObject_CallMethodOneArg, replay, names.spread, queue.object));
  return static_cast<bool>(told);
}

// Makes a run that is over as good as new, whatever it reported.
void forget_reports(cpu::Job& run) {
  run.cancelled.store(0, std::memory_order_relaxed);
  run.starved = 0;
  run.launch->cancel.store(0, std::memory_order_relaxed);
  run.launch->error_taken.store(0, std::memory_order_relaxed);
  run.launch->print_used.store(0, std::memory_order_relaxed);
}

// Runs a replay whose turn it is.
Ending run_next(PyObject* op, PyObject* graph, PyObject* replay, const CpuQueue& queue,
                const EndingUse& use, Waits& waits) {
  Owned kept_alive;
  // Another thread may have given the graph other arguments meanwhile.
  const ReplayMemory* memory = memory_of(as_graph(graph), kept_alive);
  if (memory == nullptr) return Ending::kSlowPath;
  RunMemory run(next_run(replay));
  const auto closer = [] { return PyErr_Occurred() ? Ending::kError : Ending::kSlowPath; };
  if (run.record() == nullptr || !run.prepare(queue)) return closer();
  if (!spread_nodes(replay, queue, run.job())) return Ending::kError;
  const int64_t budget = spread(queue, run.job());
  if (budget < 0) return Ending::kError;
  // The handler of a signal that interrupts this must not find it.
  set_slot(replay, classes.run, Py_None);
  const Owned built = Owned::borrowed(as_launch(op).op.built);
  const CpuSubmission submission{use.used,        use.user,      names.zero,
                                 *queue.timeline, *queue.stream, run.job()};
  const int64_t number = begin_inline(submission, *memory, built.get(), waits);
  Ending ending = number == kFailed ? Ending::kError : Ending::kSlowPath;
  if (number > 0) {
    ending = run_to_end(queue, run, number, budget) ? Ending::kDone : Ending::kError;
    if (run.job().has_report()) {
      if (ending == Ending::kDone) {
        PyObject* given[] = {op, graph, run.record()};
        const Owned heard(out_of_turn(PyObject_VectorcallMethod, names.hear, given, 3, nullptr));
        ending = heard ? Ending::kDone : Ending::kError;
      }
      forget_reports(run.job());
    }
  }
  set_slot(replay, classes.run, run.record());
  return ending == Ending::kDone && !run.release(queue) ? Ending::kError : ending;
}

// Lets memory forget work that is over; kDone: that may have been what kept a run.
Ending tidy(const GraphObject& graph) {
  PyObject* records = Py_TYPE(graph.memory) == classes.memory
                          ? slot(graph.memory, classes.records)
                          : nullptr;
  if (records == nullptr) return Ending::kSlowPath;
  const Owned tidied(out_of_turn(PyObject_CallOneArg, classes.tidy, records));
  if (!tidied) return Ending::kError;
  return tidied.get() == Py_True ? Ending::kDone : Ending::kSlowPath;
}

// Runs a replay on the calling thread, in its turn.
Ending end_here(PyObject* op, PyObject* graph, PyObject* replay, const CpuQueue& queue,
                const EndingUse& use) {
  if (Py_TYPE(replay) != classes.cpu_replay || !use.waits || queue.device != as_launch(op).home ||
      slot(replay, classes.is_silent) != Py_True || slot(replay, classes.is_mine) == nullptr ||
      !classes.cpu_turn.is_in(replay) ||
      queue.stream->pool().is_stopped() || queue.stream->pool().is_lost()) {
    return Ending::kSlowPath;
  }
  // This thread runs it already: this is the handler of a signal, and Python refuses it.
  if (says_yes(out_of_turn(PyObject_CallNoArgs, slot(replay, classes.is_mine))))
    return Ending::kSlowPath;
  if (PyErr_Occurred()) return Ending::kError;
  bool awaited = false;
  while (true) {
    Waits waits;
    Ending ending;
    {
      const ReplayTurn turn(replay, classes.cpu_turn);
      if (!turn.taken()) return Ending::kError;
      ending = run_next(op, graph, replay, queue, use, waits);
    }
    if (ending != Ending::kSlowPath) return ending;
    // Once: what has been passed, and was waited for, may still be listed as somebody's to hear of.
    if (awaited && !waits.empty()) return ending;
    awaited = !waits.empty();
    ending = awaited ? await_on_host(waits) : tidy(as_graph(graph));
    if (ending != Ending::kDone) return ending;
  }
}

// Whether a run of a replay comes behind its last one on a stream, without a wait, and the host has
// no part in it; below 0: an error is set.
int may_follow(PyObject* replay, PyObject* stream) {
  PyObject* context = slot(replay, classes.context);
  PyObject* last = slot(replay, classes.ran_on);
  if (last == nullptr || last == Py_None || slot(replay, classes.attended) != Py_False ||
      context == nullptr || slot(context, classes.is_fine) != Py_True) {
    return 0;
  }
  if (last == stream) return 1;
  const Owned kept_alive = Owned::borrowed(last);
  const bool is_near =
      is_cuda_stream(last) && device_of_cuda_stream(last) == device_of_cuda_stream(stream);
  return is_near ? is_idle(last) : 0;
}

// What a run of a replay that follows its last one is put on a stream as.
Ending put_there(PyObject* op, PyObject* replay, PyObject* stream, const ReplayMemory& memory,
                 const StreamPoint& before, const EndingUse& use, cuda::Submission& submission) {
  const int follows = may_follow(replay, stream);
  if (follows <= 0) return follows < 0 ? Ending::kError : Ending::kSlowPath;
  const auto* driver = driver_at(address_in<void>(replay, classes.driver));
  const Owned built = Owned::borrowed(as_launch(op).op.built);
  PyObject* context = slot(replay, classes.context);
  const RecordedWork work{
      .context = address_in<cuda::OpaqueContext>(context, classes.context_handle),
      .only = address_in<const cuda::LaunchRecord>(replay, classes.only),
      .graph = address_in<cuda::OpaqueGraphExec>(replay, classes.executable),
      .memory = &memory,
      .built = built.get()};
  if (PyErr_Occurred()) return Ending::kError;
  if (driver == nullptr) return Ending::kSlowPath;
  set_slot(replay, classes.ran_on, stream);
  set_slot(replay, classes.cuda_last, Py_None);
  submission = submit_graph(*driver, work, use.used, use.user, names.zero, *before.timeline,
                            before.handle, use.budget);
  return Ending::kDone;
}

// Puts a replay on a stream of CUDA, in its turn.
Ending submit_there(PyObject* op, PyObject* graph, PyObject* replay, PyObject* stream,
                    const EndingUse& use) {
  Owned memory;
  const ReplayMemory* found = memory_of(as_graph(graph), memory);
  if (found == nullptr) return Ending::kSlowPath;
  const Owned kept(PyTuple_Pack(2, replay, memory.get()));
  const StreamPoint before = point_of(stream);
  if (!kept || !before.ok()) return Ending::kError;
  cuda::Submission submission = cuda::Submission::none();
  Ending ending;
  {
    std::optional<ReplayTurn> turn;
    if (!is_alone() && !turn.emplace(replay, classes.cuda_turn).taken()) return Ending::kError;
    ending = put_there(op, replay, stream, *found, before, use, submission);
  }
  if (ending != Ending::kDone) return ending;
  return commit(submission, stream, before, classes.label, kept.get(), use.budget > 0,
                classes.unfinished);
}

// The same, once memory has forgotten what is over, if that is what keeps it.
Ending end_there(PyObject* op, PyObject* graph, PyObject* replay, PyObject* stream,
                 const EndingUse& use) {
  if (Py_TYPE(replay) != classes.cuda_replay || !classes.cuda_turn.is_in(replay) ||
      device_of_cuda_stream(stream) != as_launch(op).home) {
    return Ending::kSlowPath;
  }
  Ending ending;
  do {
    ending = submit_there(op, graph, replay, stream, use);
  } while (ending == Ending::kSlowPath && (ending = tidy(as_graph(graph))) == Ending::kDone);
  return ending;
}

// Lets an op go of its graph, as it has run.
bool spend(PyObject* op) {
  if (PyObject_SetAttr(op, names.spent, Py_True) < 0) return false;
  set_field(as_launch(op).graph, Py_None);
  return true;
}

Ending end_graph(PyObject* op, PyObject* stream, const EndingUse& use, Owned& result) {
  if (!is_usual() || !OpFields::are_set(op) || !GraphLaunchFields::are_set(op) ||
      is_used(use.used)) {
    return Ending::kSlowPath;
  }
  const Owned graph = Owned::borrowed(as_launch(op).graph);
  if (!PyObject_TypeCheck(graph.get(), graph_type) || !GraphFields::are_set(graph.get())) {
    return Ending::kSlowPath;
  }
  const Owned replay = Owned::borrowed(as_graph(graph.get()).replay);
  const Owned kept_alive = Owned::borrowed(stream);
  Ending ending = Ending::kSlowPath;
  if (is_cuda_stream(stream)) {
    ending = end_there(op, graph.get(), replay.get(), stream, use);
  } else if (const CpuQueue queue = cpu_queue_of(stream)) {
    ending = end_here(op, graph.get(), replay.get(), queue, use);
  }
  if (ending == Ending::kError && is_used(use.used)) {
    const SavedError saved;
    if (!spend(op)) PyErr_Clear();
  }
  if (ending != Ending::kDone) return ending;
  result = Owned::borrowed(Py_None);
  return spend(op) ? Ending::kDone : Ending::kError;
}

Owned home_of(PyObject* op) {
  PyObject* home = as_launch(op).home;
  return home == nullptr ? home_of_op(op) : Owned::borrowed(home);
}

// The op of a launch, for a program that stands where this is called.
PyObject* new_launch(PyObject* graph) {
  Caller built = caller(names.zero);
  if (!built) return nullptr;
  Owned op(classes.op->tp_alloc(classes.op, 0));
  if (!op) return nullptr;
  auto& launch = as_launch(op.get());
  launch.op.built = built.location.release();
  launch.op.used = unused();
  launch.graph = Py_NewRef(graph);
  launch.name = Py_NewRef(as_graph(graph).name);
  launch.home = Py_NewRef(as_graph(graph).device);
  return op.release();
}

PyObject* launch(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  const bool is_usual_call = count == 0 && keywords == nullptr && classes.op != nullptr;
  if (is_usual_call && GraphFields::are_set(self)) return new_launch(self);
  return call_slowly(names.launch, self, given, count, keywords);
}

PyMethodDef kGraphMethods[] = {
    {"launch", as_method(in_turn<launch>), METH_FASTCALL | METH_KEYWORDS,
     "Build an op that runs the captured work once."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kGraphMembers[] = {
    {"_memory", T_OBJECT_EX, offsetof(GraphObject, memory), 0,
     "What it uses, where each piece is all of its memory."},
    {"_replay", T_OBJECT_EX, offsetof(GraphObject, replay), 0, "What was recorded."},
    {"device", T_OBJECT_EX, offsetof(GraphObject, device), 0, "The device it runs on."},
    {"name", T_OBJECT_EX, offsetof(GraphObject, name), 0, "What was captured."},
    {"prepared", T_OBJECT_EX, offsetof(GraphObject, prepared), 0,
     "What became of filling memory for it; the first launch looks after that."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kGraphSlots[] = {
    {Py_tp_doc, const_cast<char*>("Work that was captured.")},
    {Py_tp_members, kGraphMembers},
    {Py_tp_methods, kGraphMethods},
    {Py_tp_traverse, as_slot(GraphFields::visit)},
    {Py_tp_clear, as_slot(in_turn<GraphFields::clear>)},
    {Py_tp_dealloc, as_slot(GraphFields::free)},
    {0, nullptr},
};

PyType_Spec kGraphSpec = {"tilewright._core.Graph", sizeof(GraphObject), 0, kBaseTypeFlags,
                          kGraphSlots};

using Methods = EndingMethods<end_graph, home_of>;

PyMethodDef kLaunchMethods[] = {
    Methods::sync(), Methods::sync_on(), Methods::start(), Methods::start_on(),
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kLaunchMembers[] = {
    {"_graph", T_OBJECT_EX, offsetof(GraphLaunchObject, graph), 0, "The graph; None: it has run."},
    {"_of", T_OBJECT_EX, offsetof(GraphLaunchObject, name), 0, "What was captured."},
    {"_home", T_OBJECT_EX, offsetof(GraphLaunchObject, home), 0, "The device of the graph."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kLaunchSlots[] = {
    {Py_tp_doc, const_cast<char*>("Runs a graph's work once.")},
    {Py_tp_members, kLaunchMembers},
    {Py_tp_methods, kLaunchMethods},
    {Py_tp_traverse, as_slot(GraphLaunchFields::visit)},
    {Py_tp_clear, as_slot(in_turn<GraphLaunchFields::clear>)},
    {Py_tp_dealloc, as_slot(GraphLaunchFields::free)},
    {0, nullptr},
};

PyType_Spec kLaunchSpec = {"tilewright._core.GraphLaunch", sizeof(GraphLaunchObject), 0,
                           kBaseTypeFlags, kLaunchSlots};

PyObject* set_graph_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  GraphClasses found;
  found.op = setup.type("GraphLaunch");
  if (setup.ok() && !PyType_IsSubtype(found.op, graph_launch_type)) {
    PyErr_SetString(PyExc_TypeError, "GraphLaunch does not extend that of the core");
    return nullptr;
  }
  found.memory = setup.type(
      "PlainMemory", {{"address", &found.memory_address}, {"records", &found.records}});
  found.cpu_replay = setup.type("CpuReplay", {{"_last", &found.cpu_last},
                                              {"_is_silent", &found.is_silent},
                                              {"_run", &found.run},
                                              {"_is_mine", &found.is_mine},
                                              {"_take", &found.cpu_turn.take},
                                              {"_leave", &found.cpu_turn.leave},
                                              {"_threads", &found.threads}});
  found.cuda_replay = setup.type("CudaReplay", {{"_attended", &found.attended},
                                                {"_driver", &found.driver},
                                                {"_executable", &found.executable},
                                                {"_last", &found.cuda_last},
                                                {"_only", &found.only},
                                                {"_ran_on", &found.ran_on},
                                                {"_take", &found.cuda_turn.take},
                                                {"_leave", &found.cuda_turn.leave},
                                                {"context", &found.context}});
  setup.type("Context", {{"handle", &found.context_handle}, {"is_fine", &found.is_fine}});
  found.label = setup.object("label");
  found.tidy = setup.object("tidy");
  found.unfinished = setup.object("unfinished");
  if (!setup.ok()) return nullptr;
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_graph_classes", in_turn<set_graph_classes>, METH_O,
     "Say how what graphs meet is laid out."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_graph(PyObject* module) {
  if (!name_all() || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  graph_type = add_type(module, kGraphSpec);
  if (graph_type == nullptr) return -1;
  graph_launch_type = add_type(module, kLaunchSpec, op_type);
  return graph_launch_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
