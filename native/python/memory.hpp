// Memory and tensors, as Python sees them: native types that the classes of `tensors` extend.
//
// Python can make an object without initializing it (`object.__new__`), so any field may be null.
#pragma once

#include <cstddef>

#include "core/borrow.hpp"
#include "core/memory_state.hpp"
#include "python/types.hpp"

namespace tw::py {

// Who may use a piece of memory: the base of `tensors.borrow.BorrowState`.
struct StateObject {
  PyObject_HEAD
  PyObject* weak_references;
  MemoryState memory;
  PyObject* leases;      // a tuple: who sees the memory; some may be gone
  PyObject* neighbours;  // a tuple: states of memory that overlaps it; some may be gone
  PyObject* last_write;  // who last borrowed it exclusively
  PyObject* extent;      // all of the memory; known where there are neighbours
};

// One borrow: `_core.Ticket`.
struct TicketObject {
  PyObject_HEAD
  PyObject* weak_references;
  Borrow borrow;
  PyObject* state;
  PyObject* use;     // who took it
  PyObject* extent;  // None: all of the memory
  PyObject* parent;
  PyObject* ended;  // what ended it, where that was noted
};

// Bytes of memory: the base of `tensors.extent.Extent`.
struct ExtentObject {
  PyObject_HEAD
  Extent extent;
};

// Element type, shape and strides: the base of `tensors.layout.Layout`.
struct LayoutObject {
  PyObject_HEAD
  int64_t number;  // tells it from all others
  int64_t low;     // bytes from the first element to the lowest address,
  int64_t high;    // and to the one behind the last
  int64_t covers;  // how many different bytes the elements take; -1: some share memory
  PyObject* tilings;  // a dict: those that were asked for, by the shape of their tiles
};

// A layout cut into tiles: the base of `tensors.layout.Tiling`.
struct TilingObject {
  PyObject_HEAD
  int64_t number;  // tells it from all others; positive
};

// A piece of memory: the base of `tensors.storage.Storage`.
struct StorageObject {
  PyObject_HEAD
  PyObject* weak_references;
  int64_t address;
  int64_t bytes;
  int64_t device_number;
  char is_readonly;
  char is_import;       // it is found by its addresses: see imports.cpp
  PyObject* reference;  // a weak one to itself, where it is
  PyObject* device;
  PyObject* owner;  // keeps it alive; None: there is no memory
  PyObject* state;
  PyObject* order;    // who uses it when; null: nobody has asked
  PyObject* written;  // which bytes have been, as long as that is not all of them; null: none
  PyObject* graphs;   // a tuple: those that write it; some may be dead
};

// A layout laid over memory: the base of `tensors.region.Region`. Launches read its record.
struct RegionObject {
  ExtentObject base;
  TensorRecord record;
  char is_whole;  // it is all of its storage for certain
  PyObject* layout;
  PyObject* storage;
};

// Ownership of a tensor: `_core.Title`.
struct TitleObject {
  PyObject_HEAD
  PyObject* weak_references;
  char is_given_up;  // the handle before it may take the tensor back
  char is_revoked;   // and did
  PyObject* former;  // a list: weak references to who gave the tensor away
};

// A tensor as a variable holds it: the base of `tensors.ownership.Handle`.
struct HandleObject {
  PyObject_HEAD
  PyObject* weak_references;
  PyObject* region;
  PyObject* title;
  PyObject* view;    // the borrow it stands for; None: it is owned
  PyObject* lender;  // whom an exclusive part was borrowed from
  PyObject* moved;   // where it went
  PyObject* owners;  // counts them, where it is the content of an Arc
};

// Exclusive access to a tensor: the base of `tensors.partition.Partition` and
// `tensors.tensor.BorrowMut`.
struct AccessObject {
  PyObject_HEAD
  PyObject* weak_references;
  char is_owned;  // it took its tensor over; else it borrows
  PyObject* tensor;
  PyObject* ticket;
  PyObject* tiling;  // None: it is not cut
  PyObject* gone;    // where it was turned back into its tensor; None: it was not
};

using StateFields = Fields<StateObject, NoFields, offsetof(StateObject, leases)>;
using TicketFields = Fields<TicketObject, NoFields, offsetof(TicketObject, state)>;
using LayoutFields = Fields<LayoutObject, NoFields, offsetof(LayoutObject, tilings)>;
using StorageFields = Fields<StorageObject, NoFields, offsetof(StorageObject, device)>;
using RegionFields = Fields<RegionObject, NoFields, offsetof(RegionObject, layout)>;
using TitleFields = Fields<TitleObject, NoFields, offsetof(TitleObject, former)>;
using HandleFields = Fields<HandleObject, NoFields, offsetof(HandleObject, region)>;
using AccessFields = Fields<AccessObject, NoFields, offsetof(AccessObject, tensor)>;

extern PyTypeObject* state_type;
extern PyTypeObject* ticket_type;
extern PyTypeObject* extent_type;
extern PyTypeObject* layout_type;
extern PyTypeObject* tiling_type;
extern PyTypeObject* storage_type;
extern PyTypeObject* region_type;
extern PyTypeObject* title_type;
extern PyTypeObject* handle_type;
extern PyTypeObject* access_type;

template <typename Object>
Object& as(PyObject* self) {
  return *reinterpret_cast<Object*>(self);
}

// The field, where that is an object of the type, or of one that extends it; null otherwise.
inline PyObject* if_a(PyTypeObject* type, PyObject* object) {
  return object != nullptr && PyObject_TypeCheck(object, type) ? object : nullptr;
}

// A field that may be null or None: null for both.
inline PyObject* some(PyObject* field) { return field == Py_None ? nullptr : field; }

// A new ticket of a state, which is not noted there yet. `extent` and `parent` may be null. Null:
// an error is set.
PyObject* new_ticket(PyObject* state, PyObject* use, PyObject* extent, PyObject* parent,
                     bool is_exclusive, bool is_by_epoch);

// What ended a borrow; null: it stands. Stays the ticket's, or the state's.
PyObject* ended_by(const TicketObject& ticket);

// Borrows memory for a ticket that was made for that, and ends what conflicts with it. For who
// holds the lock. False: an error is set.
bool take_borrow(PyObject* ticket);

// Whether ending borrows takes more than comparing numbers.
bool may_run_python(const StateObject& state);

// The same for a launch that writes all of the memory, out of whose borrow nothing comes: ends what
// conflicts with a use of all of it, but for `spared`, which may be null.
bool use_all(PyObject* state, PyObject* use, PyObject* spared, bool writes);

// The same where the borrow that is spared is known by itself; it may be null.
bool write_whole(PyObject* state, PyObject* use, const Borrow* spared);

// Whether two extents have a byte in common. May run Python.
bool share_bytes(const Extent& one, const Extent& other);

// Whether a tensor belongs to its variable, and to nobody else who is still there.
bool is_simply_owned(const HandleObject& handle);

// The class of titles, `tensors.ownership.Title`; null: Python has not said it yet.
extern PyTypeObject* title_class;

// Whether a tensor can be used, and belongs to its variable; somebody may be left who gave it away.
bool is_owned(PyObject* handle);

// The region of a tensor that belongs to its variable, if it is all of its memory; somebody may be
// left who gave it away. Null: it needs a closer look.
PyObject* owned_region(PyObject* handle);

// Turns a partition back into its tensor, for a program that stands at `known`. None: it needs a
// closer look, or is no partition. Null: an error is set.
Owned unpartitioned(PyObject* partition, PyObject* known);

// Whether a tensor surely belongs to its variable alone; else `is_simply_owned` finds out.
inline bool is_surely_owned(const HandleObject& handle) {
  if (handle.moved != Py_None || handle.view != Py_None || handle.title == nullptr) return false;
  if (Py_TYPE(handle.title) != title_class) return false;
  const TitleObject& title = *reinterpret_cast<const TitleObject*>(handle.title);
  return !title.is_revoked && title.former != nullptr && PyList_CheckExact(title.former) &&
         PyList_GET_SIZE(title.former) == 0;
}

// The record of a tensor that is simply owned, and is all of its memory: its region. Null: it needs
// a closer look.
inline PyObject* plain_region(PyObject* self) {
  const HandleObject& handle = *reinterpret_cast<const HandleObject*>(self);
  if (handle.region == nullptr) return nullptr;
  if (!reinterpret_cast<const RegionObject*>(handle.region)->is_whole) return nullptr;
  if (is_surely_owned(handle)) return handle.region;
  return HandleFields::are_set(self) && is_simply_owned(handle) ? handle.region : nullptr;
}

// The number that a device has in the kinds of records. -1: an error is set.
int64_t device_number(PyObject* device);

// A piece of memory, as it is described.
struct MemoryPiece {
  PyObject* device;
  int64_t address;
  int64_t bytes;
  PyObject* owner;
  bool is_readonly;
  bool is_initialized = true;
};

// A piece of memory, a layout laid over one, and a tensor that owns that, as Python's classes.
// Null: an error is set.
Owned new_storage(const MemoryPiece& memory);
Owned new_region(PyObject* storage, PyObject* layout, int64_t address);
Owned new_tensor(PyObject* region);

// Memory of a pool that was used before; its contents are arbitrary. Null without an error: there
// is none, or the pool has more than it shall keep.
Owned take_unused(PyObject* pool, int64_t bytes);

// Gets ready for memory that others see. False: an error is set.
bool prepare_memory();

// The storage for the bytes from `start` to before `end` that other libraries know, which `owner`
// keeps alive; the same one for the same bytes while it lives, so that aliases share their borrow
// state. Null: an error is set.
Owned find_import(PyObject* device, PyObject* owner, int64_t start, int64_t end, bool is_readonly);

// Whether some of the addresses from `start` to before `end` are those of such memory.
bool meets_import(int64_t start, int64_t end);

// A storage is destroyed: it is found no more.
void forget_import(StorageObject& storage);

// The region whose record launches read.
inline const TensorRecord& record_of(PyObject* region) { return as<RegionObject>(region).record; }

}  // namespace tw::py
