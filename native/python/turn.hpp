// Turns in the core: the place of the interpreter's lock on a Python that has none.
//
// All of native/python is written for threads that take turns: what Python calls runs to its end,
// or until it calls Python or waits, as if it were alone. A Python with a lock gives just that. On
// one without (`Py_GIL_DISABLED`) there is a lock for the core, taken where Python enters it
// (`in_turn`) and given up where it calls functions of Python (`out_of_turn`) and where it waits
// (`Unlocked`). It is a critical section of CPython, so it is also given up where this thread waits
// for a lock of the interpreter, such as that of a dict which another thread is changing. Blocks of
// kernels, copies and waits run out of turn on every Python.
//
// Two things are different without the lock, and have means of their own: a reference may become
// the last one while a turn lasts (`owned_if_alive`), and what Python itself assigns to `__slots__`
// is read by taking a reference under that object's lock (`owned_slot`).
#pragma once

#include "python/py.hpp"

namespace tw::py {

#ifdef Py_GIL_DISABLED

// A turn, for a scope. Inside of another one it is part of it.
class Turn {
 public:
  Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (is_first_) PyCriticalSection_End(&section_);
  }

 private:
  PyCriticalSection section_;
  bool is_first_;
};

// Lets others have their turns, for a scope, in which this thread may run Python.
class OutOfTurn {
 public:
  OutOfTurn();
  OutOfTurn(const OutOfTurn&) = delete;
  OutOfTurn& operator=(const OutOfTurn&) = delete;
  ~OutOfTurn();

 private:
  PyCriticalSection* section_;  // null: it was not this thread's turn
};

template <auto kFunction, typename Result, typename... Given>
struct InTurn {
  static Result call(Given... given) {
    const Turn turn;
    return kFunction(given...);
  }
};

template <auto kFunction, typename Result, typename... Given>
constexpr auto taken_in_turn(Result (*)(Given...)) {
  return &InTurn<kFunction, Result, Given...>::call;
}

// A function that Python calls, as one that takes a turn.
template <auto kFunction>
inline constexpr auto in_turn = taken_in_turn<kFunction>(kFunction);

#else

class Turn {
 public:
  Turn() {}  // not trivial: a scope of it is no unused variable
};

class OutOfTurn {
 public:
  OutOfTurn() {}
};

template <auto kFunction>
inline constexpr auto in_turn = kFunction;

#endif

// Calls a function that runs Python.
template <typename Function, typename... Given>
inline auto out_of_turn(Function* function, Given... given) {
  const OutOfTurn out;
  return function(given...);
}

// A reference to an object that memory of ours names without one, until the object's end takes the
// name away, in a turn. Empty: the last reference is gone, and that end waits for its turn. The
// object was made findable.
#ifdef Py_GIL_DISABLED
Owned owned_if_alive(PyObject* object);
void make_findable(PyObject* object);
#else
inline Owned owned_if_alive(PyObject* object) { return Owned::borrowed(object); }
inline void make_findable(PyObject*) {}
#endif

}  // namespace tw::py
