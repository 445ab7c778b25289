#include "python/borrowing.hpp"

#include <algorithm>
#include <vector>

#include "python/memory.hpp"

namespace tw::py {

namespace {

// An argument of a kernel: its tensor, and the borrow that it stands for or came out of.
struct Argument {
  PyObject* region = nullptr;  // null: look closer
  PyObject* ticket = nullptr;  // of a part that is read or written, or of all that is written
  bool is_part = false;
  bool is_array = false;    // of another library
  bool is_pointer = false;  // a raw one: nothing is borrowed
  bool has_former = false;  // somebody may be left who gave the tensor away
  int64_t tiling = 0;
};

PyObject* region_in(PyObject* handle) { return as<HandleObject>(handle).region; }

// What is read: a tensor that is owned, a view, or a part that is borrowed for writing.
Argument read_from(PyObject* handle) {
  if (PyObject* region = plain_region(handle)) return {.region = region};
  if (PyObject* region = owned_region(handle)) return {.region = region, .has_former = true};
  if (!HandleFields::are_set(handle) || as<HandleObject>(handle).moved != Py_None) return {};
  PyObject* view = if_a(ticket_type, as<HandleObject>(handle).view);
  if (view == nullptr && is_owned(handle)) {
    return {.region = region_in(handle), .is_part = true, .has_former = true};
  }
  if (view == nullptr || ended_by(as<TicketObject>(view)) != nullptr) return {};
  return {.region = region_in(handle), .ticket = view, .is_part = true};
}

Argument argument_read(const BindPlan& plan, PyObject* given) {
  if (if_a(handle_type, given) != nullptr) return read_from(given);
  if (!is_exactly(given, plan.shared_class)) return {};
  PyObject* core = some_in_slot(given, plan.core_offset);
  PyObject* tensor = core == nullptr ? nullptr : some_in_slot(core, plan.inner_offset);
  return if_a(handle_type, tensor) == nullptr ? Argument{} : read_from(tensor);
}

// What a raw pointer points into.
Argument argument_pointed(const BindPlan& plan, PyObject* given) {
  if (!is_exactly(given, plan.pointer_class)) return {};
  return {.region = if_a(region_type, slot(given, plan.pointer_offset)), .is_pointer = true};
}

bool may_be_written(const BindPlan& plan, int64_t i, PyObject* given, bool is_described) {
  if (plan.whole[i] != 0 && !is_described) return is_exactly(given, plan.access_class);
  return is_exactly(given, plan.partition_class) || is_exactly(given, plan.mapped_class);
}

Argument argument_written(const BindPlan& plan, int64_t i, PyObject* given, bool is_described) {
  const bool fits = may_be_written(plan, i, given, is_described);
  if (!fits || !AccessFields::are_set(given)) return {};
  const AccessObject& access = as<AccessObject>(given);
  if (access.gone != Py_None || !HandleFields::are_set(access.tensor)) return {};
  PyObject* tiling = if_a(tiling_type, access.tiling);
  Argument found{.ticket = access.ticket,
                 .tiling = tiling == nullptr ? 0 : as<TilingObject>(tiling).number};
  const TicketObject& ticket = as<TicketObject>(access.ticket);
  if (ticket.borrow.extent == nullptr) {
    found.region = plain_region(access.tensor);
    if (found.region != nullptr) return found;
    found.region = owned_region(access.tensor);
    found.has_former = found.region != nullptr;
    if (found.has_former) return found;
  }
  const HandleObject& handle = as<HandleObject>(access.tensor);
  if (handle.moved != Py_None || ended_by(ticket) != nullptr) return {};
  found.region = handle.region;
  found.is_part = true;
  return found;
}

// Ends the exclusive borrow of all of a tensor's memory, as something else uses that.
void end_exclusive(const TensorRecord& tensor, PyObject* use) {
  auto* state = static_cast<PyObject*>(tensor.state);
  use_all(state, use, nullptr, false);
}

// The tensors that a call holds, as a tuple: see `bind`.
class BoundTensors {
 public:
  // Owns the use.
  BoundTensors(const BindPlan& plan, PyObject* regions, Owned use)
      : plan_(plan),
        regions_(regions),
        tuple_(PyTuple_New(plan.count + kBehindRegions)),
        row_(PyBytes_FromStringAndSize(nullptr, bytes_for(plan))) {
    if (!ok()) return;
    PyTuple_SET_ITEM(tuple_.get(), at(kFormer), Py_NewRef(Py_False));
    PyTuple_SET_ITEM(tuple_.get(), at(kTickets), Py_NewRef(Py_None));
    PyTuple_SET_ITEM(tuple_.get(), at(kUse), use.release());
    PyTuple_SET_ITEM(tuple_.get(), at(kRow), Py_NewRef(row_.get()));
  }

  bool ok() const { return tuple_ && row_; }
  // Whether borrowing them takes a search, which may run Python.
  bool must_search() const { return has_parts_ || searches_; }
  PyObject* release() { return tuple_.release(); }

  // Makes the tickets of parts, which takes memory, and so is not done under the lock. False: an
  // error is set.
  bool prepare(PyObject* arguments, PyObject* reading) {
    Owned tickets(PyTuple_New(plan_.count));
    if (!tickets) return false;
    for (int64_t i = 0; i < plan_.count; ++i) {
      const Argument each = argument(i, arguments);
      Owned ticket = Owned::borrowed(Py_None);
      if (each.region != nullptr && each.is_part) {
        PyObject* extent =
            writes(i) ? some(as<TicketObject>(each.ticket).extent) : part_of(each.region);
        ticket = Owned(new_ticket(state_of(each.region), writes(i) ? use() : reading, extent,
                                  each.ticket, writes(i), false));
        if (!ticket) return false;
      }
      PyTuple_SET_ITEM(tickets.get(), i, ticket.release());
    }
    put(at(kTickets), tickets.get());
    return true;
  }

  // Whether they could be borrowed, for who has the lock. Where an exclusive borrow must end for
  // that, or others must be searched for, somebody must be given who does: `reading`, or there is
  // nobody; and Python may run there if `may_search`.
  Borrowable bind(PyObject* arguments, PyObject* reading, bool may_search) {
    Borrowable found = Borrowable::kYes;
    has_parts_ = has_former_ = searches_ = false;
    const TensorUses all = uses();
    for (int64_t i = 0; i < plan_.count; ++i) {
      if (!writes(i) && (i = hold_owned(i, arguments, all)) == plan_.count) break;
      const Borrowable each = hold(i, argument(i, arguments));
      if (each == Borrowable::kNo) return each;
      if (each == Borrowable::kOnceExclusiveEnds) found = each;
    }
    if (must_search() && (reading == nullptr || !may_search)) {
      return Borrowable::kOnceExclusiveEnds;
    }
    if (must_search() && have_conflict()) return Borrowable::kNo;
    const bool known = is_known();
    const bool ends_others = found != Borrowable::kYes || must_search();
    if (known && ends_others && reading == nullptr) return Borrowable::kOnceExclusiveEnds;
    put(at(kKnown), known ? object_of(plan_.known) : Py_None);
    if (has_former_) put(at(kFormer), Py_True);
    if (known && ends_others && !borrow_reads(reading)) return Borrowable::kNo;
    if (known && !borrow_writes()) return Borrowable::kNo;
    return Borrowable::kYes;
  }

 private:
  static Py_ssize_t bytes_for(const BindPlan& plan) {
    return Py_ssize_t(sizeof(int64_t)) * TensorUses::words_for(plan.count);
  }

  static PyObject* state_of(PyObject* region) {
    return as<StorageObject>(as<RegionObject>(region).storage).state;
  }

  static PyObject* part_of(PyObject* region) {
    return as<RegionObject>(region).is_whole ? nullptr : region;
  }

  bool writes(int64_t i) const { return i < plan_.written; }
  Py_ssize_t at(BehindRegions item) const { return plan_.count + item; }
  PyObject* use() const { return PyTuple_GET_ITEM(tuple_.get(), at(kUse)); }
  PyObject* region(int64_t i) const { return PyTuple_GET_ITEM(tuple_.get(), i); }
  PyObject* ticket(int64_t i) const {
    PyObject* tickets = PyTuple_GET_ITEM(tuple_.get(), at(kTickets));
    return tickets == Py_None ? nullptr : some(PyTuple_GET_ITEM(tickets, i));
  }

  Argument argument(int64_t i, PyObject* arguments) const {
    PyObject* given = PyTuple_GET_ITEM(arguments, plan_.places[i]);
    PyObject* region =
        regions_ == nullptr ? nullptr : some(PyTuple_GET_ITEM(regions_, plan_.places[i]));
    if (i < plan_.outputs()) return argument_written(plan_, i, given, region != nullptr);
    if (writes(i)) return argument_pointed(plan_, given);
    Argument found = region == nullptr ? argument_read(plan_, given)
                                       : Argument{.region = region, .is_array = true};
    // What is written by another name may be beside the bytes that are read.
    found.is_part |= found.region != nullptr && has_neighbours(found.region);
    return found;
  }

  TensorUses uses() const {
    auto* words = reinterpret_cast<int64_t*>(PyBytes_AS_STRING(row_.get()));
    return TensorUses(words, plan_.written, plan_.count);
  }

  // Sets an item of the tuple, which may have been set before.
  void put(int64_t i, PyObject* object) {
    PyObject* before = PyTuple_GET_ITEM(tuple_.get(), i);
    if (before == object) return;
    PyTuple_SET_ITEM(tuple_.get(), i, Py_NewRef(object));
    Py_XDECREF(before);
  }

  // Begins the borrows of what is read, where some are of parts or end exclusive ones. False: a
  // ticket is missing, as its argument has changed meanwhile.
  bool borrow_reads(PyObject* reading) const {
    const TensorUses all = uses();
    for (int64_t i = 0; i < all.count(); ++i) {
      if (all.is_by_ticket(i) && ticket(i) == nullptr) return false;
    }
    for (int64_t i = all.written(); i < all.count(); ++i) {
      if (all.is_by_ticket(i)) {
        take(all, i);
      } else if (!may_surely_read(all.storage(i))) {
        end_exclusive(all.tensor(i), reading);
      }
    }
    return true;
  }

  // Then those of what is written, which end all others. False: an error is set.
  bool borrow_writes() const {
    const TensorUses all = uses();
    for (int64_t i = 0; i < all.written(); ++i) {
      if (all.is_by_pointer(i)) continue;
      if (all.is_by_ticket(i)) {
        take(all, i);
      } else if (needs_search(all.storage(i), true)) {
        const auto* spared = reinterpret_cast<const Borrow*>(all.owner(i));
        auto* state = static_cast<PyObject*>(all.tensor(i).state);
        if (!write_whole(state, use(), spared)) return false;
        all.epoch(i) = all.storage(i).epoch;
      } else {
        all.epoch(i) = ++all.storage(i).epoch;
      }
    }
    note_uses(all, use());
    return true;
  }

  void take(const TensorUses& all, int64_t i) const {
    Borrow& borrow = as<TicketObject>(ticket(i)).borrow;
    borrow.epoch = all.storage(i).epoch;
    take_borrow(ticket(i));
    all.owner(i) = reinterpret_cast<int64_t>(&borrow);
  }

  // As `hold`, of what is read from the i-th tensor on, as long as that takes no more than a look:
  // most tensors are owned by their variable, and nobody borrows them exclusively. Gives the first
  // that takes more.
  int64_t hold_owned(int64_t i, PyObject* arguments, const TensorUses& all) {
    const int64_t* const places = plan_.places;
    int64_t* const found = plan_.found;
    const int64_t count = plan_.count;
    PyObject* const tensor_class = object_of(plan_.tensor_class);
    PyObject** const held = &PyTuple_GET_ITEM(tuple_.get(), 0);
    for (; i < count; ++i) {
      PyObject* given = PyTuple_GET_ITEM(arguments, places[i]);
      if (!is_exactly(given, tensor_class)) break;
      PyObject* region = plain_region(given);
      if (region == nullptr) break;
      const TensorRecord& tensor = record_of(region);
      if (!may_surely_read(*tensor.storage)) break;
      if (held[i] != region) put(i, region);
      all.set_tensor(i, &tensor);
      all.epoch(i) = tensor.storage->epoch;
      all.owner(i) = 0;
      found[i] = tensor.kind;
    }
    return i;
  }

  // Holds the i-th tensor, and notes its kind, if it may be borrowed.
  Borrowable hold(int64_t i, const Argument& given) {
    if (given.region == nullptr) return Borrowable::kNo;
    const TensorUses all = uses();
    put(i, given.region);
    const TensorRecord& tensor = record_of(given.region);
    all.set_tensor(i, &tensor);
    plan_.found[i] = given.is_array && is_elsewhere(given.region) ? ~tensor.kind : tensor.kind;
    if (writes(i)) plan_.found[plan_.count + i] = given.tiling;
    all.owner(i) = 0;
    if (given.is_pointer) {
      all.epoch(i) = kByPointer;
      return Borrowable::kYes;
    }
    has_former_ |= given.has_former;
    if (given.is_part) {
      has_parts_ = true;
      all.epoch(i) = kByTicket;
      return Borrowable::kYes;
    }
    if (writes(i)) {
      all.owner(i) = reinterpret_cast<int64_t>(&as<TicketObject>(given.ticket).borrow);
    }
    all.epoch(i) = tensor.storage->epoch;
    if (!writes(i) && may_surely_read(*tensor.storage)) return Borrowable::kYes;
    if (!needs_search(*tensor.storage, writes(i))) return may_borrow(all, i);
    searches_ = true;
    const bool may = !writes(i) || tensor.storage->owner == all.owner(i);
    return may ? Borrowable::kYes : Borrowable::kNo;
  }

  // Whether memory is on another device than what is written, if anything is. An array there is
  // copied first, or follows the stream, and a tensor is refused: so their kinds differ.
  bool is_elsewhere(PyObject* other) const {
    const auto device = [](PyObject* region) {
      return as<StorageObject>(as<RegionObject>(region).storage).device;
    };
    return plan_.outputs() == 0 || device(other) != device(region(0));
  }

  // Whether the launch writes bytes that it also uses otherwise: Python says that.
  bool have_conflict() const {
    const TensorUses all = uses();
    for (int64_t i = 0; i < plan_.outputs(); ++i) {
      for (int64_t k = i + 1; k < all.count(); ++k) {
        if (all.is_by_pointer(k)) continue;  // who points anywhere answers for it
        if (may_share(all.storage(i), all.storage(k)) && share_bytes(extent(i), extent(k))) {
          return true;
        }
      }
    }
    return false;
  }

  static bool may_share(const StorageRecord& one, const StorageRecord& other) {
    return &one == &other || (one.slow_path & other.slow_path & slow_path::kNeighbours) != 0;
  }

  static bool has_neighbours(PyObject* region) {
    return (record_of(region).storage->slow_path & slow_path::kNeighbours) != 0;
  }

  const Extent& extent(int64_t i) const { return as<ExtentObject>(region(i)).extent; }

  // Whether the kinds that were found are those of the last launch.
  bool is_known() const {
    if (plan_.known == nullptr) return false;
    return std::equal(plan_.found, plan_.found + plan_.count + plan_.written, plan_.kinds);
  }

  const BindPlan& plan_;
  PyObject* regions_;  // of arrays of other libraries; null: there are none
  Owned tuple_;
  Owned row_;
  bool has_parts_ = false;
  bool has_former_ = false;
  bool searches_ = false;  // whether borrows of all of some memory take a search
};

}  // namespace

PyObject* bind(const BindPlan& plan, PyObject* arguments, PyObject* known, PyObject* regions) {
  if (PyTuple_GET_SIZE(arguments) != plan.arity) Py_RETURN_NONE;
  Owned use(use_here(object_of(plan.what), known));
  if (!use) return nullptr;
  BoundTensors bound(plan, regions, std::move(use));
  if (!bound.ok()) return nullptr;
  Borrowable found = Borrowable::kOnceExclusiveEnds;
  Owned reading;
  while (true) {
    {
      const bool may_search = bound.must_search();
      const BorrowLock lock(may_search);
      found = bound.bind(arguments, reading.get(), may_search);
    }
    if (found != Borrowable::kOnceExclusiveEnds) break;
    // Not under the lock: this allocates.
    reading = Owned(use_here(object_of(plan.what_is_read), known));
    if (!reading || (bound.must_search() && !bound.prepare(arguments, reading.get()))) {
      return nullptr;
    }
  }
  if (PyErr_Occurred()) return nullptr;
  return found == Borrowable::kYes ? bound.release() : Py_NewRef(Py_None);
}

}  // namespace tw::py
