#include "python/deferred.hpp"

#include "python/context.hpp"
#include "python/memory.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// What Python has for launches that wait for others.
struct DeferClasses {
  PyObject* elsewhere = nullptr;         // what is yielded to go on elsewhere than on a loop
  PyObject* give_back = nullptr;         // lets what a launch took over be used again
  PyObject* pledge_arguments = nullptr;  // borrows the arguments that are there
  PyTypeObject* pledge = nullptr;        // tensors.pledges.Pledge
};

DeferClasses classes;

struct Names {
  PyObject* bind;
  PyObject* borrowed;
  PyObject* check;
  PyObject* close;
  PyObject* execute;
  PyObject* generics;
  PyObject* host_data;
  PyObject* is_lengthy;
  PyObject* name;
  PyObject* nothing;  // the empty tuple
  PyObject* run_closely;
  PyObject* throw_;
};

Names names;

bool name_all() {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {.bind = name("_bind_plainly"),
           .borrowed = name("borrowed"),
           .check = name("check"),
           .close = name("close"),
           .execute = name("execute"),
           .generics = name("generics"),
           .host_data = name("host_data"),
           .is_lengthy = name("is_lengthy"),
           .name = name("name"),
           .nothing = PyTuple_New(0),
           .run_closely = name("_run_closely"),
           .throw_ = name("throw")};
  return !PyErr_Occurred();
}

// The ops in a tuple, in order.
Owned ops_in(PyObject* values) {
  const Owned found(PyList_New(0));
  for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(values); ++i) {
    PyObject* each = PyTuple_GET_ITEM(values, i);
    if (is_op(each) && PyList_Append(found.get(), each) < 0) return Owned();
  }
  return found ? Owned(PyList_AsTuple(found.get())) : Owned();
}

// The borrow of one thing that an op was given: the base of `tensors.pledges.Pledge`.
struct PledgeObject {
  PyObject_HEAD
  char ends_nothing;  // no other borrow can have ended by it
  PyObject* given;
  PyObject* region;
  PyObject* ticket;
  PyObject* op;  // the name of that
};

using PledgeFields = Fields<PledgeObject, NoFields, offsetof(PledgeObject, given)>;

PyTypeObject* pledge_type = nullptr;

PledgeObject& as_pledge(PyObject* self) { return as<PledgeObject>(self); }

// Whether it surely stands: it takes no more than a look.
bool surely_stands(PyObject* pledge) {
  if (!PyObject_TypeCheck(pledge, pledge_type)) return false;
  PyObject* ticket = if_a(ticket_type, as_pledge(pledge).ticket);
  return ticket != nullptr && ended_by(as<TicketObject>(ticket)) == nullptr;
}

// Raises if a borrow that began when a launch was built has ended.
bool check_pledges(PyObject* pledges) {
  const Owned each(PyObject_GetIter(pledges));
  while (each) {
    const Owned pledge(out_of_turn(PyIter_Next, each.get()));
    if (!pledge) return !PyErr_Occurred();
    if (surely_stands(pledge.get())) continue;
    const Owned checked(out_of_turn(PyObject_CallMethodNoArgs, pledge.get(), names.check));
    if (!checked) return false;
  }
  return false;
}

// The memory of a tensor that is read, if borrowing it ends nothing. Null: it needs a closer look.
PyObject* readable_region(const BindPlan& plan, PyObject* given) {
  PyObject* region = is_exactly(given, plan.tensor_class) ? plain_region(given) : nullptr;
  return region != nullptr && may_surely_read(*record_of(region).storage) ? region : nullptr;
}

// Borrows a tensor that is read. None: it needs a closer look. Null: an error is set.
Owned pledge_read(const LaunchObject& launch, const BindPlan& plan, PyObject* given,
                  PyObject* name) {
  const Owned region = Owned::borrowed(readable_region(plan, given));
  if (!region) return Owned::borrowed(Py_None);
  PyObject* state = as<StorageObject>(as<RegionObject>(region.get()).storage).state;
  const Owned use(use_at(object_of(plan.what_is_read), launch.op.built, nullptr));
  const Owned ticket(use ? new_ticket(state, use.get(), nullptr, nullptr, false, false) : nullptr);
  Owned made(ticket ? classes.pledge->tp_alloc(classes.pledge, 0) : nullptr);
  if (!made) return made;
  PledgeObject& pledge = as_pledge(made.get());
  pledge.ends_nothing = 1;
  pledge.given = Py_NewRef(given);
  pledge.region = Py_NewRef(region.get());
  pledge.ticket = Py_NewRef(ticket.get());
  pledge.op = Py_NewRef(name);
  const BorrowLock lock;  // what is above allocates, and so may run Python
  if (readable_region(plan, given) != region.get()) return Owned::borrowed(Py_None);
  as<TicketObject>(ticket.get()).borrow.epoch = record_of(region.get()).storage->epoch;
  return made;
}

// Borrows the arguments that are there, if they are tensors which are read. None: some need a
// closer look. Null: an error is set.
Owned pledge_reads(const LaunchObject& launch, PyObject* name) {
  const BindPlan* plan = bind_plan_of(launch.kernel, PyTuple_GET_SIZE(launch.args));
  if (plan == nullptr) return Owned::borrowed(Py_None);
  Owned pledges(PyList_New(0));
  for (int64_t i = 0; pledges && i < plan->count; ++i) {
    PyObject* given = PyTuple_GET_ITEM(launch.args, plan->places[i]);
    if (is_op(given)) continue;
    if (i < plan->written) return Owned::borrowed(Py_None);
    const Owned pledge = pledge_read(launch, *plan, given, name);
    if (!pledge || pledge.get() == Py_None) return Owned::borrowed(pledge.get());
    if (PyList_Append(pledges.get(), pledge.get()) < 0) return Owned();
  }
  return pledges;
}

PyMemberDef kPledgeMembers[] = {
    {"ends_nothing", T_BOOL, offsetof(PledgeObject, ends_nothing), 0,
     "Whether no other borrow can have ended by it."},
    {"given", T_OBJECT_EX, offsetof(PledgeObject, given), 0,
     "What the op was given: a tensor, a partition, an exclusive borrow, an Arc or an array."},
    {"region", T_OBJECT_EX, offsetof(PledgeObject, region), 0, "Its memory."},
    {"ticket", T_OBJECT_EX, offsetof(PledgeObject, ticket), 0, "The borrow."},
    {"_op", T_OBJECT_EX, offsetof(PledgeObject, op), 0, "The name of the op."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kPledgeSlots[] = {
    {Py_tp_doc, const_cast<char*>("The borrow of one thing that an op was given.")},
    {Py_tp_members, kPledgeMembers},
    {Py_tp_traverse, as_slot(PledgeFields::visit)},
    {Py_tp_clear, as_slot(in_turn<PledgeFields::clear>)},
    {Py_tp_dealloc, as_slot(PledgeFields::free)},
    {0, nullptr},
};

PyType_Spec kPledgeSpec = {"tilewright._core.Pledge", sizeof(PledgeObject), 0, kBaseTypeFlags,
                           kPledgeSlots};

// The steps of a launch: a generator, as far as who drives it can tell.
struct StepsObject {
  PyObject_HEAD
  enum class State : char { kNew, kArguments, kBound, kClosely, kOver } state;
  Py_ssize_t next;  // the argument to look at next
  PyObject* launch;
  PyObject* context;
  PyObject* args;     // what the launch was given; null: it has not begun
  PyObject* values;   // a list: those of its arguments that are known
  PyObject* closely;  // the steps of Python, where something needs a closer look; null: none
};

using State = StepsObject::State;
using StepsFields = Fields<StepsObject, NoFields, offsetof(StepsObject, launch)>;

PyTypeObject* steps_type = nullptr;

StepsObject& as_steps(PyObject* self) { return *reinterpret_cast<StepsObject*>(self); }

// Takes the arguments out of the launch, which may stay in a variable. False: an error is set.
bool begin(StepsObject& steps) {
  LaunchObject& launch = as_launch(steps.launch);
  const Owned pledges = Owned::borrowed(launch.pledges);
  if (!LaunchFields::are_set(steps.launch) || !PyTuple_CheckExact(launch.args)) {
    PyErr_SetString(PyExc_AttributeError, "a launch has no attribute that it needs");
    return false;
  }
  if (!check_pledges(pledges.get())) return false;
  steps.values = PyList_New(0);
  steps.args = std::exchange(launch.args, PyTuple_New(0));
  if (steps.values == nullptr || launch.args == nullptr) return false;
  if (as_context(steps.context).lent == Py_None) return true;
  const Owned noted(PyObject_GetAttr(steps.context, names.borrowed));
  const Owned done(noted ? out_of_turn(PyObject_Call, noted.get(), steps.args, nullptr) : nullptr);
  return static_cast<bool>(done);
}

// The next argument that is an op. None: all arguments are known. Null: an error is set.
Owned next_op(StepsObject& steps) {
  while (steps.next < PyTuple_GET_SIZE(steps.args)) {
    PyObject* arg = PyTuple_GET_ITEM(steps.args, steps.next++);
    if (is_op(arg)) return Owned::borrowed(arg);
    if (PyList_Append(steps.values, arg) < 0) return Owned();
  }
  return Owned::borrowed(Py_None);
}

// Binds arguments as those of the last launch. 0: they need a closer look; below 0: an error is
// set.
int bind_as_before(LaunchObject& launch, PyObject* values) {
  const int has_generics = flag_of(launch.request, names.generics);
  if (has_generics != 0) return has_generics < 0 ? -1 : 0;
  const BorrowLock lock(true);  // nobody ends what was borrowed when it was built
  if (!check_pledges(launch.pledges)) return -1;
  Owned numbers;
  const Owned held = bind_known(launch.kernel, values, launch.op.built, numbers);
  if (!held || held.get() == Py_None) return held ? 0 : -1;
  set_field(launch.held, held.get());
  set_field(launch.numbers, numbers.get());
  set_field(launch.args, values);
  set_field(launch.pledges, names.nothing);
  launch.staged = 0;
  return 1;
}

// Whether the arguments are bound as those of any launch; below 0: an error is set.
int bind_plainly(StepsObject& steps) {
  const Owned values(PyList_AsTuple(steps.values));
  if (!values) return -1;
  const int found = bind_as_before(as_launch(steps.launch), values.get());
  if (found != 0) return found;
  const Owned bound(out_of_turn(PyObject_CallMethodOneArg, steps.launch, names.bind, values.get()));
  return bound ? PyObject_IsTrue(bound.get()) : -1;
}

int must_leave_loop(StepsObject& steps) {
  if (!as_context(steps.context).on_loop) return 0;
  const Owned lengthy(out_of_turn(PyObject_CallMethodNoArgs, steps.launch, names.is_lengthy));
  return lengthy ? PyObject_IsTrue(lengthy.get()) : -1;
}

PySendResult done(PyObject* given, PyObject*& result) {
  result = given;
  return given == nullptr ? PYGEN_ERROR : PYGEN_RETURN;
}

PySendResult run_bound(StepsObject& steps, PyObject*& result) {
  PyObject* given[] = {steps.launch, steps.context};
  return done(out_of_turn(PyObject_VectorcallMethod, names.execute, given, 2, nullptr), result);
}

// All arguments are known: runs the kernel, or has Python look closer.
PySendResult run(StepsObject& steps, PyObject*& result) {
  const int is_bound = bind_plainly(steps);
  if (is_bound < 0) return PYGEN_ERROR;
  if (is_bound > 0) {
    const int leaves = must_leave_loop(steps);
    if (leaves < 0) return PYGEN_ERROR;
    if (leaves == 0) return run_bound(steps, result);
    steps.state = State::kBound;
    result = Py_NewRef(classes.elsewhere);
    return PYGEN_NEXT;
  }
  PyObject* given[] = {steps.launch, steps.values, steps.context};
  steps.closely = out_of_turn(PyObject_VectorcallMethod, names.run_closely, given, 3, nullptr);
  if (steps.closely == nullptr) return PYGEN_ERROR;
  steps.state = State::kClosely;
  return out_of_turn(PyIter_Send, steps.closely, Py_None, &result);
}

PySendResult go_on(StepsObject& steps, PyObject* value, PyObject*& result) {
  switch (steps.state) {
    case State::kNew:
      if (!begin(steps)) return PYGEN_ERROR;
      steps.state = State::kArguments;
      break;
    case State::kArguments:
      if (PyList_Append(steps.values, value) < 0) return PYGEN_ERROR;
      break;
    case State::kBound:
      return run_bound(steps, result);
    case State::kClosely:
      return out_of_turn(PyIter_Send, steps.closely, value, &result);
    case State::kOver:
      return done(Py_NewRef(Py_None), result);
  }
  Owned op = next_op(steps);
  if (!op) return PYGEN_ERROR;
  if (op.get() == Py_None) return run(steps, result);
  result = op.release();
  return PYGEN_NEXT;
}

// It will not run: lets what the launch was given be used again. An error that is set stays.
void fail(StepsObject& steps) {
  if (std::exchange(steps.state, State::kOver) == State::kNew || steps.args == nullptr) return;
  const SavedError saved;
  const Owned values(PyList_AsTuple(steps.values));
  const Owned all(values ? PySequence_Concat(values.get(), steps.args) : nullptr);
  if (all) call_python(classes.give_back, {all.get()});
}

PySendResult send(PyObject* self, PyObject* value, PyObject** result) {
  StepsObject& steps = as_steps(self);
  const Owned kept_alive = Owned::borrowed(self);
  *result = nullptr;
  const PySendResult sent = go_on(steps, value, *result);
  if (sent == PYGEN_ERROR) fail(steps);
  if (sent == PYGEN_RETURN) steps.state = State::kOver;
  return sent;
}

PyObject* throw_method(PyObject* self, PyObject* error) {
  StepsObject& steps = as_steps(self);
  const Owned kept_alive = Owned::borrowed(self);
  if (!PyExceptionInstance_Check(error)) {
    PyErr_SetString(PyExc_TypeError, "an error is expected");
    return nullptr;
  }
  if (steps.state == State::kClosely) {
    PyObject* given = out_of_turn(PyObject_CallMethodOneArg, steps.closely, names.throw_, error);
    if (given == nullptr) fail(steps);
    return given;
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  fail(steps);
  return nullptr;
}

PyObject* close_method(PyObject* self, PyObject*) {
  StepsObject& steps = as_steps(self);
  const Owned kept_alive = Owned::borrowed(self);
  const Owned closed(steps.state == State::kClosely
                         ? out_of_turn(PyObject_CallMethodNoArgs, steps.closely, names.close)
                         : Py_NewRef(Py_None));
  if (steps.state != State::kOver) fail(steps);
  return closed ? Py_NewRef(Py_None) : nullptr;
}

PyMethodDef kStepsMethods[] = {
    {"throw", in_turn<throw_method>, METH_O, "Raise an error where it stands."},
    {"close", in_turn<close_method>, METH_NOARGS, "Give it up."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kStepsSlots[] = {
    {Py_tp_doc, const_cast<char*>("The steps of a launch whose arguments are ops.")},
    {Py_am_send, as_slot(in_turn<send>)},
    {Py_tp_methods, kStepsMethods},
    {Py_tp_traverse, as_slot(StepsFields::visit)},
    {Py_tp_clear, as_slot(in_turn<StepsFields::clear>)},
    {Py_tp_dealloc, as_slot(StepsFields::free)},
    {0, nullptr},
};

PyType_Spec kStepsSpec = {
    "tilewright._core.LaunchSteps", sizeof(StepsObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, kStepsSlots};

PyObject* set_defer_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  DeferClasses found;
  found.elsewhere = setup.object("ELSEWHERE");
  found.give_back = setup.object("give_back");
  found.pledge_arguments = setup.object("pledge_arguments");
  found.pledge = setup.type("Pledge");
  if (!setup.ok()) return nullptr;
  if (!PyType_IsSubtype(found.pledge, pledge_type)) {
    PyErr_SetString(PyExc_TypeError, "a class that extends Pledge is expected");
    return nullptr;
  }
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_defer_classes", in_turn<set_defer_classes>, METH_O,
     "Say what Python has for launches that wait for argument ops."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool defer(PyObject* op) {
  LaunchObject& launch = as_launch(op);
  const Owned ops = ops_in(launch.args);
  if (!ops) return false;
  launch.staged = 1;
  const Owned name(PyObject_GetAttr(launch.kernel, names.name));
  Owned pledges = name ? pledge_reads(launch, name.get()) : Owned();
  if (pledges.get() == Py_None) {
    pledges = call_python(classes.pledge_arguments, {launch.kernel, launch.args, launch.op.built});
  }
  if (!pledges) return false;
  set_field(launch.pledges, pledges.get());
  set_field(launch.made_of, ops.get());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ops.get()); ++i) {
    PyObject* each = PyTuple_GET_ITEM(ops.get(), i);
    const int host_data = flag_of(each, names.host_data);
    if (host_data < 0) return false;
    launch.host_data |= static_cast<char>(host_data);
    if (!claim_at(each, name.get(), launch.op.built)) return false;
  }
  return true;
}

PyObject* steps_of_launch(PyObject* launch, PyObject* context) {
  if (!check_context(context, "steps")) return nullptr;
  Owned made(steps_type->tp_alloc(steps_type, 0));
  if (!made) return nullptr;
  set_field(as_steps(made.get()).launch, launch);
  set_field(as_steps(made.get()).context, context);
  return made.release();
}

int add_deferred(PyObject* module) {
  if (!name_all() || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  pledge_type = add_type(module, kPledgeSpec);
  steps_type = pledge_type == nullptr ? nullptr : add_type(module, kStepsSpec);
  return steps_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
