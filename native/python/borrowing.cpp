#include "python/borrowing.hpp"

#include <algorithm>

namespace tw::py {

namespace {

// The record of a tensor; it stays the tensor's. Null: it has none.
PyObject* record_of(const BindPlan& plan, PyObject* tensor) {
  PyObject* found = some_in_slot(tensor, plan.record_offset);
  return found != nullptr && is_exactly(found, plan.record_class) ? found : nullptr;
}

// The record of what is read: a tensor, or a shared one. Null: look closer.
PyObject* record_of_read(const BindPlan& plan, PyObject* given) {
  if (is_exactly(given, plan.tensor_class)) return record_of(plan, given);
  if (!is_exactly(given, plan.shared_class)) return nullptr;
  PyObject* core = some_in_slot(given, plan.core_offset);
  PyObject* tensor = core == nullptr ? nullptr : some_in_slot(core, plan.inner_offset);
  return tensor == nullptr ? nullptr : record_of(plan, tensor);
}

// What a partition says beside its tensor. Null: that was not noted.
const PartitionKey* key_of(const BindPlan& plan, PyObject* partition) {
  PyObject* key = some_in_slot(partition, plan.key_offset);
  if (key == nullptr || !PyBytes_Check(key)) return nullptr;
  return reinterpret_cast<const PartitionKey*>(PyBytes_AS_STRING(key));
}

// The record of what is written, a partition, and its key. Null: look closer.
PyObject* record_of_written(const BindPlan& plan, PyObject* given, const PartitionKey*& key) {
  const bool is_partition =
      is_exactly(given, plan.partition_class) || is_exactly(given, plan.mapped_class);
  key = is_partition ? key_of(plan, given) : nullptr;
  if (key == nullptr) return nullptr;
  PyObject* tensor = some_in_slot(given, plan.tensor_offset);
  return tensor == nullptr ? nullptr : record_of(plan, tensor);
}

const TensorRecord* tensor_of(PyObject* record) {
  return reinterpret_cast<const TensorRecord*>(PyBytes_AS_STRING(record));
}

// The tensors that a call holds, as a tuple: their records, who uses them, their row, and what is
// known of launches like it.
class BoundTensors {
 public:
  // Owns the use.
  BoundTensors(const BindPlan& plan, Owned use)
      : plan_(plan),
        tuple_(PyTuple_New(plan.count + 3)),
        row_(PyBytes_FromStringAndSize(nullptr, row_bytes(plan))) {
    if (!ok()) return;
    PyTuple_SET_ITEM(tuple_.get(), plan.count, use.release());
    PyTuple_SET_ITEM(tuple_.get(), plan.count + 1, Py_NewRef(row_.get()));
  }

  bool ok() const { return tuple_ && row_; }
  PyObject* release() { return tuple_.release(); }

  static Py_ssize_t row_bytes(const BindPlan& plan) {
    return TensorUses::words_for(plan.written, plan.count) * Py_ssize_t(sizeof(int64_t));
  }

  // Whether they could be borrowed, for who has the lock: runs no Python.
  bool bind(PyObject* arguments) {
    for (int64_t i = 0; i < plan_.count; ++i) {
      if (!hold(i, PyTuple_GET_ITEM(arguments, plan_.places[i]))) return false;
    }
    const bool known = is_known();
    PyObject* told = known ? object_of(plan_.known) : Py_None;
    PyTuple_SET_ITEM(tuple_.get(), plan_.count + 2, Py_NewRef(told));
    if (known) {
      begin_epochs(uses());
      note_uses(uses(), *plan_.borrows, PyTuple_GET_ITEM(tuple_.get(), plan_.count));
    }
    return true;
  }

 private:
  TensorUses uses() const {
    auto* words = reinterpret_cast<int64_t*>(PyBytes_AS_STRING(row_.get()));
    return TensorUses(words, plan_.written, plan_.count);
  }

  // Holds the i-th tensor, and notes its kind, if it may be borrowed.
  bool hold(int64_t i, PyObject* given) {
    const TensorUses all = uses();
    const PartitionKey* key = nullptr;
    PyObject* record = all.writes(i) ? record_of_written(plan_, given, key)
                                     : record_of_read(plan_, given);
    if (record == nullptr) return false;
    PyTuple_SET_ITEM(tuple_.get(), i, Py_NewRef(record));
    const TensorRecord* tensor = tensor_of(record);
    all.set_tensor(i, tensor);
    if (key != nullptr) {
      all.owner(i) = key->owner;
      plan_.found[plan_.count + i] = key->tiling;
    }
    if (!may_borrow(all, i)) return false;
    plan_.found[i] = tensor->kind;
    all.epoch(i) = tensor->storage->epoch;
    return true;
  }

  // Whether the kinds that were found are those of the last launch.
  bool is_known() const {
    if (plan_.known == nullptr) return false;
    return std::equal(plan_.found, plan_.found + plan_.count + plan_.written, plan_.kinds);
  }

  const BindPlan& plan_;
  Owned tuple_;
  Owned row_;
};

// Ends an exclusive borrow, and those it came out of.
void end_all(const ExclusivePlan& plan, PyObject* latest, PyObject* use) {
  for (PyObject* ticket = latest; ticket != nullptr;
       ticket = some_in_slot(ticket, plan.parent_offset)) {
    set_slot(ticket, plan.ended_offset, use);
  }
}

// A ticket that stands, as the class of Python makes it. Null: there is no memory.
PyObject* new_ticket(const ExclusivePlan& plan, PyObject* state, PyObject* use, int64_t epoch) {
  const Owned number(PyLong_FromLongLong(epoch));
  if (!number) return nullptr;
  PyObject* ticket = PyType_GenericAlloc(static_cast<PyTypeObject*>(plan.ticket_class), 0);
  if (ticket == nullptr) return nullptr;
  set_slot(ticket, plan.epoch_offset, number.get());
  set_slot(ticket, plan.state_offset, state);
  set_slot(ticket, plan.use_offset, use);
  set_slot(ticket, plan.exclusive_offset, Py_True);
  set_slot(ticket, plan.by_epoch_offset, Py_False);
  set_slot(ticket, plan.extent_offset, Py_None);
  set_slot(ticket, plan.parent_offset, Py_None);
  set_slot(ticket, plan.ended_offset, Py_None);
  return ticket;
}

// Lets a ticket have a tensor for itself, if nobody must look closer, and the epoch is what it is
// known to be; for who has the lock: runs no Python.
bool exclude(const ExclusivePlan& plan, const TensorRecord& tensor, PyObject* ticket, PyObject* use,
             int64_t epoch) {
  StorageRecord& storage = *tensor.storage;
  // Another thread may have borrowed it while this one waited for the lock.
  if (!may_borrow_whole(storage) || storage.epoch != epoch) return false;
  PyObject* state = object_of(tensor.state);
  end_all(plan, some_in_slot(state, plan.latest_offset), use);
  storage.owner = reinterpret_cast<int64_t>(ticket);
  storage.slow_path |= slow_path::kExclusive;
  storage.epoch = epoch + 1;
  set_slot(state, plan.borrows->last_write_offset, use);
  set_slot(state, plan.latest_offset, ticket);
  return true;
}

}  // namespace

BorrowLock::BorrowLock(const BorrowContext& borrows) : borrows_(borrows), state_(State::kFree) {
#ifndef Py_GIL_DISABLED
  if (borrows.holds != nullptr && *borrows.holds == 0) return;
#endif
  const Owned taken(PyObject_CallNoArgs(object_of(borrows.acquire)));
  state_ = taken ? State::kTaken : State::kInterrupted;
}

BorrowLock::~BorrowLock() {
  if (state_ != State::kTaken) return;
  const Owned nothing(PyObject_CallNoArgs(object_of(borrows_.release)));
}

PyObject* bind(const BindPlan& plan, PyObject* arguments, PyObject* known) {
  if (PyTuple_GET_SIZE(arguments) != plan.arity) Py_RETURN_NONE;
  Owned use(use_here(*plan.borrows, object_of(plan.what), known));
  if (!use) return nullptr;
  BoundTensors bound(plan, std::move(use));
  if (!bound.ok()) return nullptr;
  bool is_bound;
  {
    const BorrowLock lock(*plan.borrows);
    if (!lock.ok()) return nullptr;
    is_bound = bound.bind(arguments);
  }
  return is_bound ? bound.release() : Py_NewRef(Py_None);
}

PyObject* borrow_exclusive(const ExclusivePlan& plan, PyObject* record, PyObject* what,
                           PyObject* known) {
  const TensorRecord& tensor = *tensor_of(record);
  const Owned use(use_here(*plan.borrows, what, known));
  if (!use) return nullptr;
  const int64_t epoch = tensor.storage->epoch;
  Owned ticket(new_ticket(plan, object_of(tensor.state), use.get(), epoch));
  if (!ticket) return nullptr;
  bool excluded;
  {
    const BorrowLock lock(*plan.borrows);
    if (!lock.ok()) return nullptr;
    excluded = exclude(plan, tensor, ticket.get(), use.get(), epoch);
  }
  return excluded ? ticket.release() : Py_NewRef(Py_None);
}

}  // namespace tw::py
