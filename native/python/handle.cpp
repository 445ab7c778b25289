// Who owns a tensor, and who may write it, as types of Python.
#include "python/borrowing.hpp"
#include "python/memory.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

PyTypeObject* title_type = nullptr;
PyTypeObject* title_class = nullptr;
PyTypeObject* handle_type = nullptr;
PyTypeObject* access_type = nullptr;

namespace {

// Classes of Python's that are made here.
struct TensorClasses {
  PyTypeObject* tensor = nullptr;         // tensors.tensor.Tensor
  PyTypeObject* partition = nullptr;      // tensors.partition.Partition
  PyTypeObject* moved = nullptr;          // tensors.ownership.Moved
  PyTypeObject* unpartitioned = nullptr;  // tensors.partition.Unpartitioned
  PyObject* borrowed_for_writing = nullptr;
  PyObject* was_unpartitioned = nullptr;
  PyObject* tile = nullptr;  // the name of a tiling's attribute
};

TensorClasses classes;

TitleObject& as_title(PyObject* self) { return as<TitleObject>(self); }
HandleObject& as_handle(PyObject* self) { return as<HandleObject>(self); }
AccessObject& as_access(PyObject* self) { return as<AccessObject>(self); }

void clear_weak_references(PyObject* self, PyObject* references) {
  if (references != nullptr) PyObject_ClearWeakRefs(self);
}

// Titles

PyObject* new_title(PyTypeObject* type, PyObject*, PyObject*) {
  Owned self(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  as_title(self.get()).former = PyList_New(0);
  return as_title(self.get()).former == nullptr ? nullptr : self.release();
}

void free_title(PyObject* self) {
  clear_weak_references(self, as_title(self).weak_references);
  TitleFields::free(self);
}

bool has_former(const TitleObject& title) {
  if (title.former == nullptr || !PyList_Check(title.former)) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(title.former); ++i) {
    if (is_alive(PyList_GET_ITEM(title.former, i))) return true;
  }
  return false;
}

PyObject* has_former_of(PyObject* self, void*) {
  return PyBool_FromLong(has_former(as_title(self)));
}

PyGetSetDef kTitleProperties[] = {
    {"has_former", in_turn<has_former_of>, nullptr,
     "Whether somebody is left who gave the tensor away and may get it back.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef kTitleMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TitleObject, weak_references), READONLY, nullptr},
    {"given_up", T_BOOL, offsetof(TitleObject, is_given_up), 0,
     "The owner was refused or failed: the handle before it may take the tensor back."},
    {"revoked", T_BOOL, offsetof(TitleObject, is_revoked), 0, "The handle before it did."},
    {"former", T_OBJECT_EX, offsetof(TitleObject, former), 0,
     "Who gave the tensor away, one after the other, until work of the owner has run."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kTitleSlots[] = {
    {Py_tp_doc, const_cast<char*>("Ownership of a tensor, held by whoever owns it now.")},
    {Py_tp_new, as_slot(in_turn<new_title>)},
    {Py_tp_getset, kTitleProperties},
    {Py_tp_members, kTitleMembers},
    {Py_tp_traverse, as_slot(TitleFields::visit)},
    {Py_tp_clear, as_slot(in_turn<TitleFields::clear>)},
    {Py_tp_dealloc, as_slot(free_title)},
    {0, nullptr},
};

PyType_Spec kTitleSpec = {"tilewright._core.Title", sizeof(TitleObject), 0, kBaseTypeFlags,
                          kTitleSlots};

// Handles

void init_fields(HandleObject& handle, PyObject* region, PyObject* title, PyObject* view,
                 PyObject* lender) {
  set_field(handle.region, region);
  set_field(handle.title, title);
  set_field(handle.view, view);
  set_field(handle.lender, lender);
  set_field(handle.moved, Py_None);
  set_field(handle.owners, Py_None);
}

int init_handle(PyObject* self, PyObject* given, PyObject* keywords) {
  static const char* names[] = {"region", "title", "view", "lender", nullptr};
  PyObject* region;
  PyObject* title;
  PyObject* view = Py_None;
  PyObject* lender = Py_None;
  if (!PyArg_ParseTupleAndKeywords(given, keywords, "O!O|OO", const_cast<char**>(names),
                                   region_type, &region, &title, &view, &lender)) {
    return -1;
  }
  init_fields(as_handle(self), region, title, view, lender);
  return 0;
}

void free_handle(PyObject* self) {
  clear_weak_references(self, as_handle(self).weak_references);
  HandleFields::free(self);
}

// Whether nothing but a title says whose it is.
bool is_revoked(const HandleObject& handle) {
  PyObject* title = if_a(title_type, handle.title);
  return title != nullptr && as_title(title).is_revoked;
}

bool is_usable(const HandleObject& handle) {
  if (handle.moved != Py_None || is_revoked(handle)) return false;
  PyObject* view = if_a(ticket_type, handle.view);
  return view == nullptr || ended_by(as<TicketObject>(view)) == nullptr;
}

PyObject* is_usable_of(PyObject* self, void*) {
  return PyBool_FromLong(is_usable(as_handle(self)));
}

PyObject* is_simply_owned_of(PyObject* self, void*) {
  return PyBool_FromLong(HandleFields::are_set(self) && is_simply_owned(as_handle(self)));
}

PyObject* plain_of(PyObject* self, void*) {
  PyObject* region = plain_region(self);
  return Py_NewRef(region == nullptr ? Py_None : region);
}

PyObject* region_of(PyObject* self, void*) {
  PyObject* region = as_handle(self).region;
  if (region == nullptr) PyErr_SetString(PyExc_AttributeError, "a tensor without memory");
  return Py_XNewRef(region);
}

int set_region(PyObject* self, PyObject* value, void*) {
  if (value == nullptr || !PyObject_TypeCheck(value, region_type)) {
    PyErr_SetString(PyExc_TypeError, "a Region is expected");
    return -1;
  }
  set_field(as_handle(self).region, value);
  return 0;
}

PyGetSetDef kHandleProperties[] = {
    {"region", in_turn<region_of>, in_turn<set_region>,
     "The memory behind the tensor, for launchers and drivers.", nullptr},
    {"is_usable", in_turn<is_usable_of>, nullptr,
     "Whether it was not moved away, and is no view whose borrow has ended.", nullptr},
    {"is_simply_owned", in_turn<is_simply_owned_of>, nullptr,
     "Whether it belongs to its variable, and to nobody else who is still there.", nullptr},
    {"plain", in_turn<plain_of>, nullptr,
     "Its region, if that is all of its memory and it is simply owned; None: it needs the slow"
     " path.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef kHandleMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(HandleObject, weak_references), READONLY, nullptr},
    {"_title", T_OBJECT_EX, offsetof(HandleObject, title), 0, "Ownership; None: it has none."},
    {"_view", T_OBJECT_EX, offsetof(HandleObject, view), 0,
     "The borrow it stands for; None for a tensor that is owned."},
    {"ticket", T_OBJECT_EX, offsetof(HandleObject, view), READONLY,
     "The borrow that a view or a part stands for, for launchers."},
    {"_lender", T_OBJECT_EX, offsetof(HandleObject, lender), 0,
     "Whom an exclusive part was borrowed from."},
    {"_moved", T_OBJECT_EX, offsetof(HandleObject, moved), 0, "Where it went; None: it is here."},
    {"_owners", T_OBJECT_EX, offsetof(HandleObject, owners), 0,
     "Counts its owners, where it is the content of an Arc."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kHandleSlots[] = {
    {Py_tp_doc, const_cast<char*>("A tensor as a variable holds it.")},
    {Py_tp_init, as_slot(in_turn<init_handle>)},
    {Py_tp_getset, kHandleProperties},
    {Py_tp_members, kHandleMembers},
    {Py_tp_traverse, as_slot(HandleFields::visit)},
    {Py_tp_clear, as_slot(in_turn<HandleFields::clear>)},
    {Py_tp_dealloc, as_slot(free_handle)},
    {0, nullptr},
};

PyType_Spec kHandleSpec = {"tilewright._core.Handle", sizeof(HandleObject), 0, kBaseTypeFlags,
                           kHandleSlots};

// Exclusive access

void init_fields(AccessObject& access, PyObject* tensor, PyObject* tiling, PyObject* ticket,
                 bool is_owned) {
  set_field(access.tensor, tensor);
  set_field(access.tiling, tiling);
  set_field(access.ticket, ticket);
  set_field(access.gone, Py_None);
  access.is_owned = is_owned;
}

int init_access(PyObject* self, PyObject* given, PyObject* keywords) {
  static const char* names[] = {"tensor", "tiling", "ticket", "owned", nullptr};
  PyObject* tensor;
  PyObject* tiling;
  PyObject* ticket;
  int owned = 0;
  if (!PyArg_ParseTupleAndKeywords(given, keywords, "O!OO!|$p", const_cast<char**>(names),
                                   handle_type, &tensor, &tiling, ticket_type, &ticket, &owned)) {
    return -1;
  }
  init_fields(as_access(self), tensor, tiling, ticket, owned != 0);
  return 0;
}

void free_access(PyObject* self) {
  clear_weak_references(self, as_access(self).weak_references);
  AccessFields::free(self);
}

PyMemberDef kAccessMembers[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(AccessObject, weak_references), READONLY, nullptr},
    {"tensor", T_OBJECT_EX, offsetof(AccessObject, tensor), READONLY,
     "What is written, for launchers."},
    {"ticket", T_OBJECT_EX, offsetof(AccessObject, ticket), READONLY,
     "The exclusive borrow behind it, for launchers."},
    {"tiling", T_OBJECT_EX, offsetof(AccessObject, tiling), READONLY,
     "How it is cut, for launchers; None: it is not."},
    {"gone", T_OBJECT_EX, offsetof(AccessObject, gone), 0,
     "Where it was turned back into its tensor; None: it was not."},
    {"is_owned", T_BOOL, offsetof(AccessObject, is_owned), READONLY,
     "Whether it took its tensor over; else it borrows."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kAccessSlots[] = {
    {Py_tp_doc, const_cast<char*>("Exclusive access to a tensor.")},
    {Py_tp_init, as_slot(in_turn<init_access>)},
    {Py_tp_members, kAccessMembers},
    {Py_tp_traverse, as_slot(AccessFields::visit)},
    {Py_tp_clear, as_slot(in_turn<AccessFields::clear>)},
    {Py_tp_dealloc, as_slot(free_access)},
    {0, nullptr},
};

PyType_Spec kAccessSpec = {"tilewright._core.Access", sizeof(AccessObject), 0, kBaseTypeFlags,
                           kAccessSlots};

// What is done to tensors, where that needs no slow path: each function gives None otherwise, and
// has done nothing then.

bool are_classes_set() {
  if (classes.tensor != nullptr) return true;
  PyErr_SetString(PyExc_RuntimeError, "set_tensor_classes() was not called");
  return false;
}

// A tuple of a class of Python's, without a call of that. Owns the items.
PyObject* new_tuple(PyTypeObject* type, std::initializer_list<PyObject*> items) {
  PyObject* made = PyType_GenericAlloc(type, static_cast<Py_ssize_t>(items.size()));
  Py_ssize_t i = 0;
  for (PyObject* item : items) {
    if (made == nullptr) {
      Py_XDECREF(item);
    } else {
      PyTuple_SET_ITEM(made, i++, item);
    }
  }
  return made;
}

PyObject* new_handle(PyObject* region, PyObject* title) {
  PyObject* self = classes.tensor->tp_alloc(classes.tensor, 0);
  if (self != nullptr) init_fields(as_handle(self), region, title, Py_None, Py_None);
  return self;
}

PyObject* new_partition(PyObject* tensor, PyObject* tiling, PyObject* ticket, bool is_owned) {
  PyObject* self = classes.partition->tp_alloc(classes.partition, 0);
  if (self != nullptr) init_fields(as_access(self), tensor, tiling, ticket, is_owned);
  return self;
}

// The state of a tensor's memory, if it may be written: it is no view and no content of an Arc, is
// all of its memory, and nothing says that it must not be. Null: the slow path says what is wrong.
PyObject* writable_state(const HandleObject& handle) {
  if (!is_usable(handle) || handle.view != Py_None || handle.owners != Py_None) return nullptr;
  const RegionObject& region = as<RegionObject>(handle.region);
  if (!region.is_whole || as<StorageObject>(region.storage).is_readonly) return nullptr;
  return as<StorageObject>(region.storage).state;
}

// Borrows all of a piece of memory for writing. Null: an error is set.
Owned borrow_whole(PyObject* state, PyObject* use) {
  Owned ticket(new_ticket(state, use, nullptr, nullptr, true, false));
  if (!ticket) return ticket;
  const BorrowLock lock(may_run_python(as<StateObject>(state)));
  as<TicketObject>(ticket.get()).borrow.epoch = as<StateObject>(state).memory.record.epoch;
  return take_borrow(ticket.get()) ? std::move(ticket) : Owned();
}

bool is_initialized_handle(PyObject* object) {
  return PyObject_TypeCheck(object, handle_type) && HandleFields::are_set(object);
}

bool check_handle(PyObject* object) {
  if (is_initialized_handle(object)) return are_classes_set();
  PyErr_Format(PyExc_TypeError, "a Handle is expected, got %.100s", Py_TYPE(object)->tp_name);
  return false;
}

PyObject* borrow_exclusive(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("borrow_exclusive", given, count, 3);
  PyObject* handle = arguments.object();
  PyObject* what = arguments.string();
  PyObject* known = arguments.object();
  if (!arguments.ok() || !check_handle(handle)) return nullptr;
  PyObject* state = writable_state(as_handle(handle));
  if (state == nullptr) Py_RETURN_NONE;
  const Owned use(use_here(what, known));
  return use ? borrow_whole(state, use.get()).release() : nullptr;
}

// Whether a shape is an int or a tuple of ints: 2.0 equals 2 and would be found, but is no extent.
bool is_exact_shape(PyObject* shape) {
  if (PyLong_CheckExact(shape)) return true;
  if (!PyTuple_CheckExact(shape)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
    if (!PyLong_CheckExact(PyTuple_GET_ITEM(shape, i))) return false;
  }
  return true;
}

// How a layout was cut before into such tiles. Null: it was not.
Owned known_tiling(const HandleObject& handle, PyObject* tile) {
  if (!is_exact_shape(tile)) return Owned();
  PyObject* layout = as<RegionObject>(handle.region).layout;
  Owned found = item_of(as<LayoutObject>(layout).tilings, tile);
  if (!found) PyErr_Clear();  // it may have items that cannot be compared
  return found;
}

PyObject* partition_mut(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("partition_mut", given, count, 3);
  PyObject* handle = arguments.object();
  PyObject* tile = arguments.object();
  PyObject* known = arguments.object();
  if (!arguments.ok() || !check_handle(handle)) return nullptr;
  const Owned tiling = known_tiling(as_handle(handle), tile);
  PyObject* state = tiling ? writable_state(as_handle(handle)) : nullptr;
  if (state == nullptr) Py_RETURN_NONE;
  const Owned use(use_here(classes.borrowed_for_writing, known));
  if (!use) return nullptr;
  const Owned ticket = borrow_whole(state, use.get());
  if (!ticket) return nullptr;
  return new_partition(handle, tiling.get(), ticket.get(), false);
}

// Moves a tensor out of a handle, whose place in the chain of those who gave it away this notes.
bool move_out(PyObject* self, PyObject* title, PyObject* what, PyObject* place, PyObject* hint) {
  HandleObject& handle = as_handle(self);
  TitleObject& owner = as_title(title);
  Owned weak_title(PyWeakref_NewRef(title, nullptr));
  const Owned weak_handle(PyWeakref_NewRef(self, nullptr));
  Owned number(PyLong_FromSsize_t(PyList_GET_SIZE(owner.former)));
  if (!weak_title || !weak_handle || !number) return false;
  const Owned moved(new_tuple(classes.moved,
                              {Py_NewRef(what), Py_NewRef(place), Py_NewRef(hint),
                               weak_title.release(), Py_NewRef(owner.former), number.release()}));
  if (!moved || PyList_Append(owner.former, weak_handle.get()) < 0) return false;
  owner.is_given_up = 0;  // who gives it away has it
  set_field(handle.title, Py_None);
  set_field(handle.moved, moved.get());
  return true;
}

// Ownership that was taken over, and the exclusive borrow of the memory.
struct Taken {
  Owned title;
  Owned ticket;
};

// The state of a tensor's memory, if that may be taken over: it may be written, nobody else sees
// it, and no graph writes it. Null: the slow path says what is wrong.
PyObject* takeable_state(const HandleObject& handle) {
  PyObject* state = writable_state(handle);
  if (state == nullptr) return nullptr;
  constexpr int64_t kSeen = slow_path::kLeases | slow_path::kNeighbours;
  const bool is_seen = (as<StateObject>(state).memory.record.slow_path & kSeen) != 0;
  const bool is_captured =
      as<StorageObject>(as<RegionObject>(handle.region).storage).graphs != nullptr;
  return is_seen || is_captured ? nullptr : state;
}

// Moves a tensor out of its handle. False: an error is set.
bool take(PyObject* self, PyObject* state, PyObject* what, PyObject* hint, PyObject* known,
          Taken& taken) {
  const HandleObject& handle = as_handle(self);
  taken.title = if_a(title_type, handle.title) != nullptr
                    ? Owned::borrowed(handle.title)
                    : Owned(new_title(title_class, nullptr, nullptr));
  const Owned words(PyUnicode_FromFormat("consumed by %U", what));
  const Owned use(words ? use_here(words.get(), known) : nullptr);
  if (!taken.title || !use) return false;
  taken.ticket = borrow_whole(state, use.get());
  return taken.ticket &&
         move_out(self, taken.title.get(), what, PyTuple_GET_ITEM(use.get(), 1), hint);
}

// `(handle, what, hint, known)`: the title, and the exclusive borrow of its memory.
PyObject* take_over(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("take_over", given, count, 4);
  PyObject* self = arguments.object();
  PyObject* what = arguments.string();
  PyObject* hint = arguments.string();
  PyObject* known = arguments.object();
  if (!arguments.ok() || !check_handle(self)) return nullptr;
  PyObject* state = takeable_state(as_handle(self));
  if (state == nullptr) Py_RETURN_NONE;
  Taken taken;
  if (!take(self, state, what, hint, known, taken)) return nullptr;
  return PyTuple_Pack(2, taken.title.get(), taken.ticket.get());
}

// Turns a partition back into its tensor.
Owned unpartitioned(AccessObject& access, PyObject* known) {
  const HandleObject& handle = as_handle(access.tensor);
  const bool stands = access.gone == Py_None && is_usable(handle) &&
                      ended_by(as<TicketObject>(access.ticket)) == nullptr;
  if (!stands) return Owned::borrowed(Py_None);
  Owned tensor = Owned::borrowed(access.tensor);
  if (!access.is_owned) return tensor;
  PyObject* state = writable_state(handle);
  if (state == nullptr) return Owned::borrowed(Py_None);
  const Owned use(use_here(classes.was_unpartitioned, known));
  if (!use) return Owned();
  const Owned gone(new_tuple(classes.unpartitioned, {Py_NewRef(PyTuple_GET_ITEM(use.get(), 1))}));
  if (!gone) return Owned();
  const Owned ticket = borrow_whole(state, use.get());
  if (!ticket) return Owned();
  set_field(access.gone, gone.get());
  return tensor;
}

// `(handle, tile, hint, known)`: the partition that took the tensor over.
PyObject* partition(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("partition", given, count, 4);
  PyObject* self = arguments.object();
  PyObject* tile = arguments.object();
  PyObject* hint = arguments.string();
  PyObject* known = arguments.object();
  if (!arguments.ok() || !check_handle(self)) return nullptr;
  const Owned tiling = known_tiling(as_handle(self), tile);
  PyObject* state = tiling ? takeable_state(as_handle(self)) : nullptr;
  if (state == nullptr) Py_RETURN_NONE;
  const Owned shape(PyObject_GetAttr(tiling.get(), classes.tile));
  const Owned what(shape ? PyUnicode_FromFormat("partition(%R)", shape.get()) : nullptr);
  Taken taken;
  if (!what || !take(self, state, what.get(), hint, known, taken)) return nullptr;
  const Owned tensor(new_handle(as_handle(self).region, taken.title.get()));
  return tensor ? new_partition(tensor.get(), tiling.get(), taken.ticket.get(), true) : nullptr;
}

PyObject* unpartition(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("unpartition", given, count, 2);
  PyObject* self = arguments.object();
  PyObject* known = arguments.object();
  if (!arguments.ok()) return nullptr;
  if (!PyObject_TypeCheck(self, access_type) || !AccessFields::are_set(self)) {
    PyErr_Format(PyExc_TypeError, "a Partition is expected, got %.100s", Py_TYPE(self)->tp_name);
    return nullptr;
  }
  if (!check_handle(as_access(self).tensor)) return nullptr;
  return unpartitioned(as_access(self), known).release();
}

PyObject* new_tensor_function(PyObject*, PyObject* region) {
  if (PyObject_TypeCheck(region, region_type)) return new_tensor(region).release();
  PyErr_Format(PyExc_TypeError, "a Region is expected, got %.100s", Py_TYPE(region)->tp_name);
  return nullptr;
}

PyObject* set_tensor_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  TensorClasses found;
  found.tensor = setup.type("Tensor");
  found.partition = setup.type("Partition");
  PyTypeObject* title = setup.type("Title");
  found.moved = setup.type("Moved");
  found.unpartitioned = setup.type("Unpartitioned");
  found.borrowed_for_writing = PyUnicode_InternFromString("borrowed for writing");
  found.was_unpartitioned = PyUnicode_InternFromString("unpartitioned");
  found.tile = PyUnicode_InternFromString("tile");
  if (!setup.ok() || PyErr_Occurred()) return nullptr;
  if (!PyType_IsSubtype(found.tensor, handle_type) ||
      !PyType_IsSubtype(found.partition, access_type) ||
      !PyType_IsSubtype(title, title_type)) {
    PyErr_SetString(PyExc_TypeError, "classes that extend Handle, Access and Title are expected");
    return nullptr;
  }
  classes = found;
  title_class = title;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    fast_method("borrow_exclusive", in_turn<borrow_exclusive>,
                "Borrow all of a tensor for writing."),
    fast_method("partition_mut", in_turn<partition_mut>,
                "Borrow a tensor for writing, cut into tiles."),
    fast_method("partition", in_turn<partition>, "Give a tensor over to a partition into tiles."),
    fast_method("take_over", in_turn<take_over>, "Move a tensor out of its handle."),
    fast_method("unpartition", in_turn<unpartition>, "Turn a partition back into its tensor."),
    {"new_tensor", in_turn<new_tensor_function>, METH_O, "A tensor that owns its memory."},
    {"set_tensor_classes", in_turn<set_tensor_classes>, METH_O, "Say of what classes tensors are."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool is_simply_owned(const HandleObject& handle) {
  if (handle.moved != Py_None || handle.view != Py_None) return false;
  PyObject* title = if_a(title_type, handle.title);
  return title == nullptr || (!as_title(title).is_revoked && !has_former(as_title(title)));
}

bool is_owned(PyObject* self) {
  if (!HandleFields::are_set(self)) return false;
  const HandleObject& handle = as_handle(self);
  return is_usable(handle) && handle.view == Py_None && handle.lender == Py_None;
}

PyObject* owned_region(PyObject* self) {
  if (!is_owned(self)) return nullptr;
  PyObject* region = as_handle(self).region;
  return as<RegionObject>(region).is_whole ? region : nullptr;
}

Owned new_tensor(PyObject* region) {
  if (!are_classes_set()) return Owned();
  const Owned title(new_title(title_class, nullptr, nullptr));
  return title ? Owned(new_handle(region, title.get())) : Owned();
}

Owned unpartitioned(PyObject* self, PyObject* known) {
  const bool is_plain = classes.partition != nullptr && Py_TYPE(self) == classes.partition &&
                        AccessFields::are_set(self) &&
                        is_initialized_handle(as_access(self).tensor);
  return is_plain ? unpartitioned(as_access(self), known) : Owned::borrowed(Py_None);
}

int add_handle(PyObject* module) {
  if (PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  title_type = add_type(module, kTitleSpec);
  handle_type = title_type == nullptr ? nullptr : add_type(module, kHandleSpec);
  access_type = handle_type == nullptr ? nullptr : add_type(module, kAccessSpec);
  return access_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
