// Who borrows, and where; the lock of borrow state; and the beginning of work that notes both.
//
// `known` is everywhere what `caller` takes: how many Python frames are Tilewright's own for
// certain, or the location of the program itself. `used` is where an op keeps its
// first use, a tuple that is empty until somebody has used it; null: its use was noted before.
#pragma once

#include "core/borrow.hpp"
#include "python/location.hpp"
#include "python/objects.hpp"
#include "python/turn.hpp"

namespace tw::py {

// What native code gives where an error of Python's is set; 0: nothing was done, look closer.
inline constexpr int64_t kFailed = INT64_MIN;

// Sees to it that no other thread looks at borrow state, or changes it, for a scope.
//
// Where the lock is free, whoever holds the interpreter's need not take it, as long as no Python
// runs in the scope; nor may containers be allocated there, as that collects garbage.
class BorrowLock {
 public:
  explicit BorrowLock(bool may_run_python = false);
  BorrowLock(const BorrowLock&) = delete;
  BorrowLock& operator=(const BorrowLock&) = delete;
  ~BorrowLock();

 private:
  bool is_taken_ = false;
};

// What is done to memory there, in these words, as `tensors.borrow.Use` has it. A new reference;
// null: an error is set. `seen` may be null.
PyObject* use_at(PyObject* what, PyObject* location, SeenLocation* seen);

// The same where the program stands.
PyObject* use_here(PyObject* what, PyObject* known);

// Who uses an op, and where, if nobody has used it yet. None: somebody has. Where its use was noted
// before, anything is given. A new reference; null: an error is set.
PyObject* first_use(PyObject** used, PyObject* user, PyObject* known);

// Notes the first use of an op, where that was not noted before. Runs no Python.
void note_first(PyObject** used, PyObject* use);

// Takes that back: it came to nothing.
void forget_first(PyObject** used);

// Whether somebody has used an op.
inline bool is_used(PyObject* const* used) {
  return used != nullptr && (*used == nullptr || !PyTuple_CheckExact(*used) ||
                             PyTuple_GET_SIZE(*used) != 0);
}

// Notes who wrote memory last, where Python looks for that. Runs no Python.
void note_uses(const TensorUses& uses, PyObject* use);

// Whether the code of a launch is still what it was made for. May set an error.
bool is_fresh(const LaunchPlan& plan);

// Borrows the tensors that a kernel was given. Gives a tuple: their regions, which keep their
// memory; whether somebody may be left who gave one of them away, and gets it back if the launch
// fails; a tuple of the tickets of those that are parts, or None; the use that is noted with what
// is written; the row as `TensorUses` takes it; and what is known of launches of their kinds. That
// is None where they are not those of the last launch, and then nothing is borrowed. None in place
// of the tuple: an argument needs a closer look. A new reference; null: an error is set.
// `regions` are those of arrays of other libraries, as `regions_of_arrays` gives them, and of what
// is written as a whole and given as a partition; null: none.
PyObject* bind(const BindPlan& plan, PyObject* arguments, PyObject* known,
               PyObject* regions = nullptr);

// What such a tuple has behind the regions.
enum BehindRegions : Py_ssize_t { kFormer, kTickets, kUse, kRow, kKnown, kBehindRegions };

inline PyObject* item_in(PyObject* held, BehindRegions item) {
  return PyTuple_GET_ITEM(held, PyTuple_GET_SIZE(held) - kBehindRegions + item);
}

// A number as Python takes it; `kFailed`: null, as an error is set.
inline PyObject* as_answer(int64_t number) {
  return number == kFailed ? nullptr : PyLong_FromLongLong(number);
}

// Whether bytes hold so many words; false: an error is set.
bool holds_words(PyObject* bytes, int64_t words);

inline int64_t* words_in(PyObject* bytes) {
  return reinterpret_cast<int64_t*>(PyBytes_AS_STRING(bytes));
}

// Whether no other thread can wait for the interpreter's lock: there is none that Python knows.
bool is_alone();

// 0: look closer. An error that is set is dropped, unless it is an interrupt.
int64_t leave_to_python();

// How a launch that needs a closer look may begin, as Python says for who holds the lock: bits, as
// `reserve` takes them. `examine` may be null: it needs none. Below 0: an error is set.
inline int64_t examined(PyObject* examine) {
  if (examine == nullptr) return 0;
  const Owned answer(out_of_turn(PyObject_CallNoArgs, examine));
  const int64_t how = answer ? PyLong_AsLongLong(answer.get()) : -1;
  if (how < 0 && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "bits are expected");
  return how;
}

// Begins a launch, if its code is what it was made for, which Python has seen to where it has
// examined it, and nobody has used its op, and notes who uses that. `begin(uses_of_row, how)` gives
// the number of the launch in its timeline, or below 0: it could not be begun; it runs no Python.
// Gives that number, 0 if it was not begun, or `kFailed`.
template <typename Begin>
int64_t begin_launch(const LaunchPlan& plan, PyObject** used, PyObject* user, PyObject* known,
                     int64_t* row, PyObject* examine, Begin&& begin) {
  if (examine == nullptr && !is_fresh(plan)) return leave_to_python();
  const Owned use(first_use(used, user, known));
  if (!use) return kFailed;
  if (use.get() == Py_None) return 0;
  const BorrowLock lock(examine != nullptr);
  if (is_used(used)) return 0;  // by another thread, while this one waited
  const int64_t how = examined(examine);
  if (how < 0) return kFailed;
  note_first(used, use.get());
  const int64_t number = begin(uses_of(plan, row), how);
  if (number >= 0) return number;
  forget_first(used);
  return 0;
}

// The same for work that uses the same memory each time: notes who writes that, at `built`.
template <typename Begin>
int64_t begin_replay(const ReplayMemory& memory, PyObject** used, PyObject* user, PyObject* known,
                     PyObject* built, Begin&& begin) {
  const Owned first(first_use(used, user, known));
  if (!first) return kFailed;
  if (first.get() == Py_None) return 0;
  const Owned use(use_at(object_of(memory.what), built, nullptr));
  if (!use) return kFailed;
  const BorrowLock lock;
  if (is_used(used)) return 0;
  note_first(used, first.get());
  const TensorUses tensors = uses_of(memory);
  const int64_t number = begin(tensors);
  if (number < 0) {
    forget_first(used);
    return 0;
  }
  note_uses(tensors, use.get());
  return number;
}

}  // namespace tw::py
