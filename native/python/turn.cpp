#include "python/turn.hpp"

#include <atomic>

namespace tw::py {

#ifdef Py_GIL_DISABLED

namespace {

// Its mutex is that of turns; nobody refers to it.
PyObject turns{};

// Critical sections of a thread are a list of tagged pointers, the innermost first. Where it gave
// them all up to wait, it has the innermost one again, and each further one when it comes to it.
constexpr uintptr_t kIsGivenUp = 1;
constexpr uintptr_t kTags = 3;

PyCriticalSection* section_of(uintptr_t tagged) {
  return reinterpret_cast<PyCriticalSection*>(tagged & ~kTags);
}

// Whether that is a turn, and the thread has it.
bool is_turn(uintptr_t tagged) {
  return tagged != 0 && (tagged & kIsGivenUp) == 0 &&
         section_of(tagged)->_cs_mutex == &turns.ob_mutex;
}

// Whether the thread has a turn below a section of the interpreter's: it may lose that one as long
// as the other lasts.
bool is_turn_below(uintptr_t tagged) {
  while (tagged != 0 && (tagged & kIsGivenUp) == 0) {
    if (is_turn(tagged)) return true;
    tagged = section_of(tagged)->_cs_prev;
  }
  return false;
}

uintptr_t innermost_section() { return PyThreadState_GetUnchecked()->critical_section; }

}  // namespace

Turn::Turn() : is_first_(!is_turn(innermost_section())) {
  if (!is_first_) return;
  // It would wait for itself for a while otherwise, and then do the same.
  if (is_turn_below(innermost_section())) restore_thread(PyEval_SaveThread());
  PyCriticalSection_Begin(&section_, &turns);
}

OutOfTurn::OutOfTurn() : section_(nullptr) {
  const uintptr_t innermost = innermost_section();
  if (!is_turn(innermost)) return;
  section_ = section_of(innermost);
  PyCriticalSection_End(section_);
}

OutOfTurn::~OutOfTurn() {
  if (section_ != nullptr) PyCriticalSection_Begin(section_, &turns);
}

#if PY_VERSION_HEX >= 0x030E0000

Owned owned_if_alive(PyObject* object) {
  return Owned(PyUnstable_TryIncRef(object) ? object : nullptr);
}

void make_findable(PyObject* object) { PyUnstable_EnableTryIncRef(object); }

#else

// What Python 3.14 has as functions, by the fields of 3.13. A count of the other threads'
// references that is flagged keeps the owner from freeing the object without a look at it.

namespace {

std::atomic_ref<Py_ssize_t> others_of(PyObject* object) {
  return std::atomic_ref<Py_ssize_t>(object->ob_ref_shared);
}

bool try_to_refer(PyObject* object) {
  if (_Py_IsImmortal(object)) return true;
  if (_Py_IsOwnedByCurrentThread(object)) {
    Py_INCREF(object);
    return true;
  }
  std::atomic_ref<Py_ssize_t> others = others_of(object);
  Py_ssize_t count = others.load(std::memory_order_relaxed);
  do {
    if (count == 0 || count == _Py_REF_MERGED) return false;
  } while (!others.compare_exchange_weak(count, count + (1 << _Py_REF_SHARED_SHIFT),
                                         std::memory_order_acq_rel, std::memory_order_relaxed));
  return true;
}

}  // namespace

Owned owned_if_alive(PyObject* object) { return Owned(try_to_refer(object) ? object : nullptr); }

void make_findable(PyObject* object) {
  std::atomic_ref<Py_ssize_t> others = others_of(object);
  Py_ssize_t count = others.load(std::memory_order_relaxed);
  while ((count & _Py_REF_SHARED_FLAG_MASK) == 0 &&
         !others.compare_exchange_weak(count, count | _Py_REF_MAYBE_WEAKREF,
                                       std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
}

#endif

#endif

}  // namespace tw::py
