// Where the user's program stands: a code object and an instruction, never a frame.
#pragma once

#include "python/py.hpp"

namespace tw::py {

// Something that was noted at a location, by the object that said what: made again, it is the same.
class Memo {
 public:
  // What was noted for `what`; a borrowed reference, null: nothing.
  PyObject* find(PyObject* what) const { return what == what_ ? note_ : nullptr; }
  // Keeps a note, which must refer to `what`.
  void keep(PyObject* what, PyObject* note) {
    what_ = what;
    Py_XSETREF(note_, Py_NewRef(note));
  }
  void forget() {
    what_ = nullptr;
    Py_CLEAR(note_);
  }

 private:
  PyObject* what_ = nullptr;  // lives as long as the note, which refers to it
  PyObject* note_ = nullptr;
};

// A location lately seen, and what was noted there: launches in a loop come from the same ones.
struct SeenLocation {
  PyObject* code;  // lives as long as the location, which refers to it
  int instruction;
  PyObject* location;
  Memo borrow;  // as `use_at` makes it
  Memo use;     // as `first_use` makes it
};

// Keeps a note of an entry, if that is still the one of this location: Python that ran since it was
// found may have given it to another.
inline void keep_note(SeenLocation* seen, Memo SeenLocation::*memo, PyObject* location,
                      PyObject* what, PyObject* note) {
  if (seen != nullptr && seen->location == location) (seen->*memo).keep(what, note);
}

// Where the program stands, and its entry among those lately seen, null: it has none.
struct Caller {
  Owned location;  // `(code, lasti)`; None: there is no frame of a user's
  SeenLocation* seen = nullptr;

  explicit operator bool() const { return bool(location); }
};

// The innermost frame whose code is not Tilewright's own. `known` says how many of the innermost
// Python frames are known to be, and are not looked at, as an int; or it is the location itself, a
// tuple. Without a location an error is set.
Caller caller(PyObject* known);

}  // namespace tw::py
