// Borrow states of memory and the borrows that they know, as types of Python.
#include <thread>
#include <vector>

#include "python/borrowing.hpp"
#include "python/memory.hpp"
#include "python/module.hpp"

namespace tw::py {

PyTypeObject* state_type = nullptr;
PyTypeObject* ticket_type = nullptr;

namespace {

PyObject* name_meets = nullptr;
PyObject* name_refuses_reading = nullptr;

StateObject& as_state(PyObject* self) { return as<StateObject>(self); }
TicketObject& as_ticket(PyObject* self) { return as<TicketObject>(self); }

PyObject* ticket_of(Borrow* borrow) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<char*>(borrow) -
                                     offsetof(TicketObject, borrow));
}

// Asks Python, which knows the gaps. Where it has no answer they meet.
bool meets_with_gaps(const Extent& one, const Extent& other) {
  const Owned answer(out_of_turn(PyObject_CallMethodOneArg, static_cast<PyObject*>(one.object),
                                 name_meets, static_cast<PyObject*>(other.object)));
  if (!answer) PyErr_Clear();
  return answer.get() != Py_False;
}

const Extent* extent_in(PyObject* extent) {
  return if_a(extent_type, extent) == nullptr ? nullptr : &as<ExtentObject>(extent).extent;
}

// Keeps the borrows of a list for a scope in which Python may run.
class Pinned {
 public:
  explicit Pinned(const MemoryState& state) {
    while (!pin(state.writers) || !pin(state.readers)) {
      kept_.clear();
      const Unlocked unlocked;  // for whom is about to take a borrow out of its list
      std::this_thread::yield();
    }
  }

 private:
  // False: one of them is being destroyed.
  bool pin(const BorrowList& list) {
    if (list.is_empty()) return true;
    for (Borrow* borrow = list.head.next; borrow != &list.head; borrow = borrow->next) {
      Owned ticket = owned_if_alive(ticket_of(borrow));
      if (!ticket) return false;
      kept_.push_back(std::move(ticket));
    }
    return true;
  }

  std::vector<Owned> kept_;
};

// Ends what a use conflicts with in one state.
void end_here(StateObject& state, const MemoryUse& use, PyObject* who) {
  const Pinned pinned(state.memory);
  std::vector<Borrow*> ended;
  end_conflicting(state.memory, use, meets_with_gaps, ended);
  for (Borrow* each : ended) set_field(as_ticket(ticket_of(each)).ended, who);
  if (use.writes) set_field(state.last_write, who);
}

// The neighbours that are still there: a tuple of (weak reference, extent). False: an error is set.
bool drop_dead_neighbours(StateObject& state) {
  const Owned all = Owned::borrowed(state.neighbours);
  const Owned alive(PyList_New(0));
  if (!alive) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    PyObject* each = PyTuple_GET_ITEM(all.get(), i);
    if (!is_alive(PyTuple_GetItem(each, 0))) continue;
    if (PyList_Append(alive.get(), each) < 0) return false;
  }
  const Owned left(PyList_AsTuple(alive.get()));
  if (!left) return false;
  set_field(state.neighbours, left.get());
  if (PyTuple_GET_SIZE(left.get()) == 0) state.memory.record.slow_path &= ~slow_path::kNeighbours;
  return true;
}

bool has_neighbours(const StateObject& state) {
  return state.neighbours != nullptr && PyTuple_Check(state.neighbours) &&
         PyTuple_GET_SIZE(state.neighbours) != 0;
}

// Ends what a use conflicts with in states of memory that overlaps.
bool end_next_door(StateObject& state, MemoryUse use, PyObject* who) {
  if (!drop_dead_neighbours(state)) return false;
  if (use.extent == nullptr) use.extent = extent_in(state.extent);
  use.heir = nullptr;
  if (use.extent == nullptr) return true;
  const Owned all = Owned::borrowed(state.neighbours);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    PyObject* each = PyTuple_GET_ITEM(all.get(), i);
    const Owned near = target_of(PyTuple_GetItem(each, 0));
    const Extent* its = extent_in(PyTuple_GetItem(each, 1));
    if (if_a(state_type, near.get()) == nullptr || its == nullptr) continue;
    if (meet(*use.extent, *its, meets_with_gaps)) end_here(as_state(near.get()), use, who);
  }
  return true;
}

bool end_all(PyObject* self, const MemoryUse& use, PyObject* who) {
  StateObject& state = as_state(self);
  end_here(state, use, who);
  return !has_neighbours(state) || end_next_door(state, use, who);
}

// Borrow state

PyObject* new_state(PyTypeObject* type, PyObject*, PyObject*) {
  Owned self(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  StateObject& state = as_state(self.get());
  state.leases = PyTuple_New(0);
  state.neighbours = PyTuple_New(0);
  state.last_write = Py_NewRef(Py_None);
  state.extent = Py_NewRef(Py_None);
  return self.release();
}

void free_state(PyObject* self) {
  if (as_state(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  StateFields::free(self);
}

PyObject* epoch_of(PyObject* self, void*) {
  return PyLong_FromLongLong(as_state(self).memory.record.epoch);
}

PyObject* record_address(PyObject* self, void*) {
  return PyLong_FromVoidPtr(&as_state(self).memory.record);
}

PyObject* slow_path_of(PyObject* self, void*) {
  return PyLong_FromLongLong(as_state(self).memory.record.slow_path);
}

PyObject* owner_of(PyObject* self, void*) {
  return PyLong_FromLongLong(as_state(self).memory.record.owner);
}

PyObject* exclusive_of(PyObject* self, void*) {
  Borrow* borrow = as_state(self).memory.exclusive;
  Owned found = borrow == nullptr ? Owned() : owned_if_alive(ticket_of(borrow));
  return found ? found.release() : Py_NewRef(Py_None);
}

PyObject* listed_in(const BorrowList& list) {
  Owned found(PyList_New(0));
  if (!found || list.is_empty()) return found.release();
  for (Borrow* borrow = list.head.next; borrow != &list.head; borrow = borrow->next) {
    const Owned ticket = owned_if_alive(ticket_of(borrow));
    if (ticket && PyList_Append(found.get(), ticket.get()) < 0) return nullptr;
  }
  return found.release();
}

PyObject* writers_of(PyObject* self, void*) { return listed_in(as_state(self).memory.writers); }
PyObject* readers_of(PyObject* self, void*) { return listed_in(as_state(self).memory.readers); }

// A tuple that the record says of whether it is empty.
int set_noted(PyObject* self, PyObject* value, PyObject*& field, int64_t reason) {
  if (value == nullptr || !PyTuple_Check(value)) {
    PyErr_SetString(PyExc_TypeError, "a tuple is expected");
    return -1;
  }
  int64_t& slow_path = as_state(self).memory.record.slow_path;
  slow_path = PyTuple_GET_SIZE(value) != 0 ? slow_path | reason : slow_path & ~reason;
  set_field(field, value);
  return 0;
}

PyObject* leases_of(PyObject* self, void*) { return Py_XNewRef(as_state(self).leases); }
// Whether one of the leases in a tuple lets others write. Below 0: an error is set.
int has_write_lease(PyObject* leases) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(leases); ++i) {
    const Owned writes(PyObject_GetAttr(PyTuple_GET_ITEM(leases, i), name_refuses_reading));
    const int truth = writes ? PyObject_IsTrue(writes.get()) : -1;
    if (truth != 0) return truth;
  }
  return 0;
}

int set_leases(PyObject* self, PyObject* value, void*) {
  const int writes = value != nullptr && PyTuple_Check(value) ? has_write_lease(value) : 0;
  if (writes < 0) return -1;
  int64_t& slow_path = as_state(self).memory.record.slow_path;
  const int64_t before = slow_path;
  slow_path = writes ? slow_path | slow_path::kWriteLeases : slow_path & ~slow_path::kWriteLeases;
  const int done = set_noted(self, value, as_state(self).leases, slow_path::kLeases);
  if (done < 0) slow_path = before;
  return done;
}
PyObject* neighbours_of(PyObject* self, void*) { return Py_XNewRef(as_state(self).neighbours); }
int set_neighbours(PyObject* self, PyObject* value, void*) {
  return set_noted(self, value, as_state(self).neighbours, slow_path::kNeighbours);
}

PyObject* mark(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("mark", given, count, 2);
  const int64_t reason = arguments.number();
  PyObject* is_so = arguments.object();
  if (!arguments.ok()) return nullptr;
  const int truth = PyObject_IsTrue(is_so);
  if (truth < 0) return nullptr;
  int64_t& slow_path = as_state(self).memory.record.slow_path;
  slow_path = truth ? slow_path | reason : slow_path & ~reason;
  Py_RETURN_NONE;
}

// The work that the record has noted: timelines, numbers, the bytes that are used, whether they are
// written.
PyObject* noted_work(PyObject* self, PyObject*) {
  Owned found(PyList_New(0));
  if (!found) return nullptr;
  for (const Mark& mark : as_state(self).memory.record) {
    const Owned each(Py_BuildValue("LLLLO", reinterpret_cast<long long>(mark.timeline),
                                   static_cast<long long>(mark.number),
                                   static_cast<long long>(mark.use.start),
                                   static_cast<long long>(mark.use.end),
                                   mark.use.writes != 0 ? Py_True : Py_False));
    if (!each || PyList_Append(found.get(), each.get()) < 0) return nullptr;
  }
  return found.release();
}

PyObject* has_noted_work(PyObject* self, PyObject*) {
  return PyBool_FromLong(as_state(self).memory.record.marked != 0);
}

PyObject* forget_noted_work(PyObject* self, PyObject*) {
  as_state(self).memory.record.marked = 0;
  Py_RETURN_NONE;
}

// `(use, extent=None, parent=None)`; false: an error is set.
struct BorrowArguments {
  PyObject* use = nullptr;
  PyObject* extent = nullptr;
  PyObject* parent = nullptr;

  bool read(const char* function, PyObject* const* given, Py_ssize_t count) {
    if (count < 1 || count > 3) {
      PyErr_Format(PyExc_TypeError, "%s() takes 1 to 3 arguments, got %zd", function, count);
      return false;
    }
    use = given[0];
    extent = count > 1 ? some(given[1]) : nullptr;
    parent = count > 2 ? some(given[2]) : nullptr;
    return is_a(extent_type, extent, "an Extent") && is_a(ticket_type, parent, "a Ticket");
  }

  static bool is_a(PyTypeObject* type, PyObject* given, const char* what) {
    if (given == nullptr || PyObject_TypeCheck(given, type)) return true;
    PyErr_Format(PyExc_TypeError, "%s or None is expected, got %.100s", what,
                 Py_TYPE(given)->tp_name);
    return false;
  }
};

// Borrows under the lock.
PyObject* borrowed(PyObject* self, const BorrowArguments& given, bool is_exclusive) {
  Owned ticket(new_ticket(self, given.use, given.extent, given.parent, is_exclusive, false));
  if (!ticket) return nullptr;
  const BorrowLock lock(may_run_python(as_state(self)));
  as_ticket(ticket.get()).borrow.epoch = as_state(self).memory.record.epoch;
  return take_borrow(ticket.get()) ? ticket.release() : nullptr;
}

PyObject* share(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  BorrowArguments arguments;
  return arguments.read("share", given, count) ? borrowed(self, arguments, false) : nullptr;
}

PyObject* exclude(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  BorrowArguments arguments;
  return arguments.read("exclude", given, count) ? borrowed(self, arguments, true) : nullptr;
}

PyObject* rewrite(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("rewrite", given, count, 2);
  PyObject* parent = arguments.object();
  PyObject* use = arguments.object();
  if (!arguments.ok()) return nullptr;
  if (!PyObject_TypeCheck(parent, ticket_type)) {
    PyErr_SetString(PyExc_TypeError, "rewrite() takes a Ticket");
    return nullptr;
  }
  PyObject* extent = some(as_ticket(parent).extent);
  if (extent != nullptr) {
    return borrowed(self, {.use = use, .extent = extent, .parent = parent}, true);
  }
  Owned ticket(new_ticket(self, use, nullptr, parent, true, true));
  if (!ticket) return nullptr;
  const BorrowLock lock(may_run_python(as_state(self)));
  if (!use_all(self, use, parent, true)) return nullptr;
  as_ticket(ticket.get()).borrow.epoch = as_state(self).memory.record.epoch;
  return ticket.release();
}

PyObject* write_all(PyObject* self, PyObject* use) {
  const BorrowLock lock(may_run_python(as_state(self)));
  if (!use_all(self, use, nullptr, true)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* read_all(PyObject* self, PyObject* use) {
  const BorrowLock lock(may_run_python(as_state(self)));
  if (!use_all(self, use, nullptr, false)) return nullptr;
  Py_RETURN_NONE;
}

PyGetSetDef kStateProperties[] = {
    {"epoch", in_turn<epoch_of>, nullptr, "How often the memory was borrowed exclusively.",
     nullptr},
    {"record", in_turn<record_address>, nullptr, "The address of what launches know of it.",
     nullptr},
    {"slow_path", in_turn<slow_path_of>, nullptr, "Why it cannot be judged by numbers alone.",
     nullptr},
    {"owner", in_turn<owner_of>, nullptr, "The exclusive borrow of all of it, as a number.",
     nullptr},
    {"exclusive", in_turn<exclusive_of>, nullptr,
     "The latest exclusive borrow of all of the memory.", nullptr},
    {"writers", in_turn<writers_of>, nullptr, "Exclusive borrows of parts.", nullptr},
    {"readers", in_turn<readers_of>, nullptr, "Shared borrows of parts.", nullptr},
    {"leases", in_turn<leases_of>, in_turn<set_leases>, "Who sees the memory; some may be gone.",
     nullptr},
    {"neighbours", in_turn<neighbours_of>, in_turn<set_neighbours>,
     "States of memory that overlaps it.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef kStateMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(StateObject, weak_references), READONLY, nullptr},
    {"last_write", T_OBJECT_EX, offsetof(StateObject, last_write), 0,
     "Who last borrowed it exclusively."},
    {"extent", T_OBJECT_EX, offsetof(StateObject, extent), 0,
     "All of the memory; known where there are neighbours."},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef kStateMethods[] = {
    fast_method("share", in_turn<share>, "Borrow for reading: ends exclusive borrows."),
    fast_method("exclude", in_turn<exclude>, "Borrow for writing, or take over: ends all others."),
    fast_method("rewrite", in_turn<rewrite>,
                "Borrow for a launch, out of whose borrow nothing comes."),
    fast_method("mark", in_turn<mark>, "Say whether there is a reason for the slow path."),
    {"write_all", in_turn<write_all>, METH_O, "All of the memory is written: all borrows end."},
    {"read_all", in_turn<read_all>, METH_O, "All of the memory is read: exclusive borrows end."},
    {"noted_work", in_turn<noted_work>, METH_NOARGS, "Work that is noted by number."},
    {"has_noted_work", in_turn<has_noted_work>, METH_NOARGS, "Whether work is noted by number."},
    {"forget_noted_work", in_turn<forget_noted_work>, METH_NOARGS, "Forget it: all of it is over."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kStateSlots[] = {
    {Py_tp_doc, const_cast<char*>("Who may use a piece of memory.")},
    {Py_tp_new, as_slot(in_turn<new_state>)},
    {Py_tp_getset, kStateProperties},
    {Py_tp_members, kStateMembers},
    {Py_tp_methods, kStateMethods},
    {Py_tp_traverse, as_slot(StateFields::visit)},
    {Py_tp_clear, as_slot(in_turn<StateFields::clear>)},
    {Py_tp_dealloc, as_slot(free_state)},
    {0, nullptr},
};

PyType_Spec kStateSpec = {"tilewright._core.BorrowState", sizeof(StateObject), 0, kBaseTypeFlags,
                          kStateSlots};

// Tickets

void free_ticket(PyObject* self) {
  PyObject_GC_UnTrack(self);
  {
    const Turn turn;
    abandon(as_ticket(self).borrow);
    as_ticket(self).borrow.memory = nullptr;
  }
  if (as_ticket(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  {
    const Turn turn;
    TicketFields::clear(self);
  }
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int clear_ticket(PyObject* self) {
  abandon(as_ticket(self).borrow);
  as_ticket(self).borrow = {};
  return TicketFields::clear(self);
}

PyObject* ended_by_method(PyObject* self, PyObject*) {
  PyObject* found = ended_by(as_ticket(self));
  return Py_NewRef(found == nullptr ? Py_None : found);
}

PyObject* reborrow(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  BorrowArguments arguments;
  if (!arguments.read("reborrow", given, count)) return nullptr;
  arguments.parent = self;
  if (arguments.extent == nullptr) arguments.extent = some(as_ticket(self).extent);
  return borrowed(as_ticket(self).state, arguments, true);
}

PyObject* hand_back(PyObject* self, PyObject*) {
  const BorrowLock lock;
  Borrow& borrow = as_ticket(self).borrow;
  if (borrow.memory != nullptr && borrow.memory->exclusive == &borrow) {
    borrow.memory->set_exclusive(borrow.parent);
  }
  Py_RETURN_NONE;
}

PyObject* is_exclusive(PyObject* self, void*) {
  return PyBool_FromLong(as_ticket(self).borrow.is_exclusive);
}
PyObject* is_by_epoch(PyObject* self, void*) {
  return PyBool_FromLong(as_ticket(self).borrow.is_by_epoch);
}
PyObject* number_of(PyObject* self, void*) { return PyLong_FromVoidPtr(&as_ticket(self).borrow); }

PyGetSetDef kTicketProperties[] = {
    {"exclusive", in_turn<is_exclusive>, nullptr, "Whether no other use may stand beside it.",
     nullptr},
    {"by_epoch", in_turn<is_by_epoch>, nullptr, "Whether it stands while the epoch is the same.",
     nullptr},
    {"number", in_turn<number_of>, nullptr, "What the state names it by, as `owner`.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef kTicketMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TicketObject, weak_references), READONLY, nullptr},
    {"state", T_OBJECT_EX, offsetof(TicketObject, state), READONLY, "Of which memory it is."},
    {"use", T_OBJECT_EX, offsetof(TicketObject, use), READONLY, "Who took it, and where."},
    {"extent", T_OBJECT_EX, offsetof(TicketObject, extent), READONLY,
     "Of which bytes it is; None: of all."},
    {"parent", T_OBJECT_EX, offsetof(TicketObject, parent), READONLY, "Which one it came out of."},
    {"ended", T_OBJECT_EX, offsetof(TicketObject, ended), READONLY,
     "What ended it, where that was noted."},
    {"epoch", T_LONGLONG, offsetof(TicketObject, borrow) + offsetof(Borrow, epoch), READONLY,
     "In which epoch it was taken."},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef kTicketMethods[] = {
    {"ended_by", in_turn<ended_by_method>, METH_NOARGS,
     "The use that ended it; None while it stands."},
    fast_method("reborrow", in_turn<reborrow>, "An exclusive borrow out of this one."),
    {"hand_back", in_turn<hand_back>, METH_NOARGS, "It will not be used any more."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kTicketSlots[] = {
    {Py_tp_doc, const_cast<char*>("One borrow, of an extent or of all of the memory.")},
    {Py_tp_getset, kTicketProperties},
    {Py_tp_members, kTicketMembers},
    {Py_tp_methods, kTicketMethods},
    {Py_tp_traverse, as_slot(TicketFields::visit)},
    {Py_tp_clear, as_slot(in_turn<clear_ticket>)},
    {Py_tp_dealloc, as_slot(free_ticket)},
    {0, nullptr},
};

PyType_Spec kTicketSpec = {
    "tilewright._core.Ticket", sizeof(TicketObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, kTicketSlots};

// A ticket of a launch that was borrowed by its epoch alone: `(state, use, parent, epoch)`.
PyObject* ticket_of_epoch(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("ticket_of_epoch", given, count, 4);
  PyObject* state = arguments.object();
  PyObject* use = arguments.object();
  PyObject* parent = arguments.object();
  const int64_t epoch = arguments.number();
  if (!arguments.ok()) return nullptr;
  if (!PyObject_TypeCheck(state, state_type)) {
    PyErr_SetString(PyExc_TypeError, "ticket_of_epoch() takes a BorrowState");
    return nullptr;
  }
  PyObject* from = some(parent);
  if (!BorrowArguments::is_a(ticket_type, from, "a Ticket")) return nullptr;
  PyObject* ticket = new_ticket(state, use, nullptr, from, from != nullptr, true);
  if (ticket != nullptr) as_ticket(ticket).borrow.epoch = epoch;
  return ticket;
}

PyMethodDef kFunctions[] = {
    fast_method("ticket_of_epoch", in_turn<ticket_of_epoch>, "A borrow that stands by its epoch."),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool may_run_python(const StateObject& state) {
  return (state.memory.record.slow_path &
          (slow_path::kNeighbours | slow_path::kWriters | slow_path::kReaders)) != 0;
}

PyObject* new_ticket(PyObject* state, PyObject* use, PyObject* extent, PyObject* parent,
                     bool is_exclusive, bool is_by_epoch) {
  Owned self(ticket_type->tp_alloc(ticket_type, 0));
  if (!self) return nullptr;
  TicketObject& ticket = as_ticket(self.get());
  StateObject& of = as_state(state);
  ticket.borrow.memory = &of.memory;
  ticket.borrow.parent = parent == nullptr ? nullptr : &as_ticket(parent).borrow;
  ticket.borrow.extent = extent == nullptr ? nullptr : extent_in(extent);
  ticket.borrow.epoch = of.memory.record.epoch;
  ticket.borrow.is_exclusive = is_exclusive;
  ticket.borrow.is_by_epoch = is_by_epoch || (!is_exclusive && extent == nullptr);
  ticket.state = Py_NewRef(state);
  ticket.use = Py_NewRef(use);
  ticket.extent = Py_NewRef(extent == nullptr ? Py_None : extent);
  ticket.parent = Py_NewRef(parent == nullptr ? Py_None : parent);
  ticket.ended = Py_NewRef(Py_None);
  make_findable(self.get());
  return self.release();
}

PyObject* ended_by(const TicketObject& ticket) {
  const Borrow& borrow = ticket.borrow;
  if (!borrow.is_by_epoch) return some(ticket.ended);
  if (borrow.is_exclusive && borrow.parent != nullptr && borrow.parent->has_ended) {
    return some(as_ticket(ticket.parent).ended);
  }
  const StateObject& state = as_state(ticket.state);
  return state.memory.record.epoch == borrow.epoch ? nullptr : state.last_write;
}

bool take_borrow(PyObject* self) {
  TicketObject& ticket = as_ticket(self);
  Borrow& borrow = ticket.borrow;
  const bool is_whole = borrow.extent == nullptr;
  if (!is_whole && borrow.extent->is_empty()) return true;
  const MemoryUse use{borrow.extent, borrow.parent, borrow.is_exclusive,
                      is_whole && borrow.is_exclusive ? &borrow : nullptr};
  if (!end_all(ticket.state, use, ticket.use)) return false;
  if (is_whole) return true;
  (borrow.is_exclusive ? borrow.memory->writers : borrow.memory->readers).add(borrow);
  borrow.memory->note_parts();
  return true;
}

bool use_all(PyObject* state, PyObject* use, PyObject* spared, bool writes) {
  const Borrow* borrow = spared == nullptr ? nullptr : &as_ticket(spared).borrow;
  return end_all(state, {nullptr, borrow, writes, nullptr}, use);
}

bool write_whole(PyObject* state, PyObject* use, const Borrow* spared) {
  return end_all(state, {nullptr, spared, true, nullptr}, use);
}

bool share_bytes(const Extent& one, const Extent& other) {
  return meet(one, other, meets_with_gaps);
}

int add_borrow_state(PyObject* module) {
  name_meets = PyUnicode_InternFromString("meets");
  name_refuses_reading = PyUnicode_InternFromString("refuses_reading");
  if (PyErr_Occurred() || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  ticket_type = add_type(module, kTicketSpec);
  state_type = ticket_type == nullptr ? nullptr : add_type(module, kStateSpec);
  return state_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
