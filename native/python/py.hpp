// Owned references, calls that check their arguments, and the interpreter's lock.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <unistd.h>

#include <cstdint>
#include <utility>

namespace tw::py {

// A reference that is given up at the end of its scope.
class Owned {
 public:
  Owned() = default;
  explicit Owned(PyObject* object) : object_(object) {}  // takes over a new reference
  static Owned borrowed(PyObject* object) { return Owned(Py_XNewRef(object)); }
  Owned(Owned&& other) noexcept : object_(other.release()) {}
  Owned& operator=(Owned&& other) noexcept {
    PyObject* before = std::exchange(object_, other.release());
    Py_XDECREF(before);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// Takes the interpreter's lock again. Where the interpreter has ended meanwhile, Python before 3.14
// ends the thread by unwinding its stack: that would run destructors without the lock, and leave
// functions that nothing may be thrown from. So the thread sleeps until the process is gone, which
// is what later versions do.
inline void restore_thread(PyThreadState* thread) {
  try {
    PyEval_RestoreThread(thread);
  } catch (...) {
    while (true) pause();
  }
}

// Gives up the interpreter's lock for a scope.
class Unlocked {
 public:
  Unlocked() : thread_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() { restore_thread(thread_); }

 private:
  PyThreadState* thread_;
};

// The lock of an object on a Python that has one for each, for a scope: Python takes it to assign
// to a slot.
#ifdef Py_GIL_DISABLED
class ObjectLock {
 public:
  explicit ObjectLock(PyObject* object) { PyCriticalSection_Begin(&section_, object); }
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;
  ~ObjectLock() { PyCriticalSection_End(&section_); }

 private:
  PyCriticalSection section_;
};
#else
class ObjectLock {
 public:
  explicit ObjectLock(PyObject*) {}
};
#endif

// A function of a module that is given its arguments as an array, and their number.
inline PyMethodDef fast_method(const char* name,
                               PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t),
                               const char* doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)), METH_FASTCALL,
          doc};
}

// A number that a module has by name.
struct Constant {
  const char* name;
  int64_t value;
};

template <size_t N>
int add_constants(PyObject* module, const Constant (&constants)[N]) {
  for (const Constant& each : constants) {
    if (PyModule_AddIntConstant(module, each.name, static_cast<long>(each.value)) < 0) return -1;
  }
  return 0;
}

// Arguments of a function in the order of its parameters. After the first one that is wrong an
// error is set, and `ok` is false; nothing is converted after it.
class Arguments {
 public:
  Arguments(const char* function, PyObject* const* given, Py_ssize_t count, Py_ssize_t expected)
      : function_(function), given_(given) {
    if (count != expected) {
      PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments, got %zd", function, expected, count);
      ok_ = false;
    }
  }

  bool ok() const { return ok_; }

  int64_t number() {
    PyObject* object = next();
    if (object == nullptr) return 0;
    if (!PyLong_Check(object)) return refuse("an int", object);
    const int64_t found = PyLong_AsLongLong(object);
    if (found == -1 && PyErr_Occurred()) ok_ = false;
    return found;
  }

  template <typename T>
  T* address() {
    PyObject* object = next();
    if (object == nullptr) return nullptr;
    if (!PyLong_Check(object)) return refuse("an int that is an address", object), nullptr;
    void* found = PyLong_AsVoidPtr(object);
    if (found == nullptr && PyErr_Occurred()) ok_ = false;
    return static_cast<T*>(found);
  }

  // The contents of a bytes object.
  char* bytes() {
    PyObject* object = next();
    if (object == nullptr) return nullptr;
    if (!PyBytes_Check(object)) return refuse("bytes", object), nullptr;
    return PyBytes_AS_STRING(object);
  }

  PyObject* bytes_object() {
    return checked([](PyObject* each) { return PyBytes_Check(each); }, "bytes");
  }
  PyObject* tuple() {
    return checked([](PyObject* each) { return PyTuple_Check(each); }, "a tuple");
  }
  PyObject* type() {
    return checked([](PyObject* each) { return PyType_Check(each); }, "a type");
  }
  PyObject* string() {
    return checked([](PyObject* each) { return PyUnicode_Check(each); }, "a str");
  }
  PyObject* object() { return next(); }

 private:
  PyObject* next() { return ok_ ? given_[index_++] : nullptr; }

  int64_t refuse(const char* expected, PyObject* got) {
    PyErr_Format(PyExc_TypeError, "%s(): argument %zd is %s, got %.100s", function_, index_,
                 expected, Py_TYPE(got)->tp_name);
    ok_ = false;
    return 0;
  }

  PyObject* checked(int (*check)(PyObject*), const char* what) {
    PyObject* object = next();
    if (object != nullptr && !check(object)) {
      refuse(what, object);
      return nullptr;
    }
    return object;
  }

  const char* function_;
  PyObject* const* given_;
  Py_ssize_t index_ = 0;
  bool ok_ = true;
};

}  // namespace tw::py
