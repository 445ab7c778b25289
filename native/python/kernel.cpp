#include "python/kernel.hpp"

#include "python/module.hpp"

namespace tw::py {

namespace {

PyTypeObject* kernel_type = nullptr;

PyObject* names_asked = nullptr;
PyObject* names_variant = nullptr;

// Whether equal values of its class mean the same for as long as they live.
bool is_plain_constant(PyObject* value) {
  return value == Py_None || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
         PyBool_Check(value) || PyUnicode_CheckExact(value);
}

// Whether keywords are the very objects that the last call was given.
bool are_latest(PyObject* latest, PyObject* keywords) {
  if (latest == nullptr || !PyTuple_CheckExact(latest) ||
      PyTuple_GET_SIZE(latest) != 2 * PyDict_GET_SIZE(keywords) + 1) {
    return false;
  }
  PyObject *name, *value;
  Py_ssize_t at = 0, i = 0;
  while (PyDict_Next(keywords, &at, &name, &value)) {
    if (PyTuple_GET_ITEM(latest, i++) != name) return false;
    if (PyTuple_GET_ITEM(latest, i++) != value) return false;
  }
  return true;
}

// Remembers what keywords ask for, if they are plain constants. False: an error is set.
bool remember(KernelObject& kernel, PyObject* keywords, PyObject* request) {
  Owned made(PyTuple_New(2 * PyDict_GET_SIZE(keywords) + 1));
  if (!made) return false;
  PyObject *name, *value;
  Py_ssize_t at = 0, i = 0;
  while (PyDict_Next(keywords, &at, &name, &value)) {
    if (!is_plain_constant(value)) return true;
    PyTuple_SET_ITEM(made.get(), i++, Py_NewRef(name));
    PyTuple_SET_ITEM(made.get(), i++, Py_NewRef(value));
  }
  PyTuple_SET_ITEM(made.get(), i, Py_NewRef(request));
  set_field(kernel.latest, made.get());
  return true;
}

// Takes values out of the keywords of a call, a copy of which is made for that.
class Keywords {
 public:
  // `given` may be null.
  explicit Keywords(PyObject* given) : left_(given == nullptr ? nullptr : PyDict_Copy(given)) {}

  // The value of this name. Null: there is none, or an error is set.
  Owned take(PyObject* name) {
    if (!left_) return Owned();
    Owned found = Owned::borrowed(PyDict_GetItemWithError(left_.get(), name));
    if (found && PyDict_DelItem(left_.get(), name) < 0) return Owned();
    return found;
  }

  // What was not taken; null: nothing is left.
  Owned left() const {
    const bool some = left_ && PyDict_GET_SIZE(left_.get()) > 0;
    return some ? Owned::borrowed(left_.get()) : Owned();
  }

 private:
  Owned left_;
};

// The value of a parameter that is not given by position. Null: the same.
Owned placed(PyObject* place, Keywords& keywords) {
  PyObject* name = PyTuple_GET_ITEM(place, 0);
  Owned found = keywords.take(name);
  if (PyErr_Occurred()) return Owned();
  if (found) return PyTuple_GET_ITEM(place, 1) == Py_True ? std::move(found) : Owned();
  return PyTuple_GET_ITEM(place, 2) == Py_True ? Owned::borrowed(Py_None) : Owned();
}

// The value of a number that is given by keyword. Null: the same.
Owned number_given(PyObject* number, Keywords& keywords) {
  Owned found = keywords.take(PyTuple_GET_ITEM(number, 0));
  if (found || PyErr_Occurred() || PyTuple_GET_SIZE(number) < 2) return found;
  return Owned::borrowed(PyTuple_GET_ITEM(number, 1));
}

// A tuple with more behind its items: what `value(i)` gives for each. Null: one is missing, or an
// error is set.
template <typename Value>
Owned extended(PyObject* tuple, Py_ssize_t more, const Value& value) {
  const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
  Owned made(PyTuple_New(count + more));
  if (!made) return made;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyTuple_SET_ITEM(made.get(), i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
  }
  for (Py_ssize_t i = 0; i < more; ++i) {
    Owned each = value(i);
    if (!each) return each;
    PyTuple_SET_ITEM(made.get(), count + i, each.release());
  }
  return made;
}

bool sort_keywords(const KernelObject& kernel, PyObject* arguments, PyObject* given,
                   KernelCall& call) {
  Keywords keywords(given);
  const Py_ssize_t by_position = PyTuple_GET_SIZE(arguments);
  const Py_ssize_t missing = PyTuple_GET_SIZE(kernel.places) - by_position;
  call.arguments = extended(arguments, missing > 0 ? missing : 0, [&](Py_ssize_t i) {
    return placed(PyTuple_GET_ITEM(kernel.places, by_position + i), keywords);
  });
  if (!call.arguments) return false;
  const Owned left = keywords.left();
  if (left && !(call.keywords = Owned(PyDict_Copy(left.get())))) return false;
  const Py_ssize_t numbers = PyTuple_GET_SIZE(kernel.numbers);
  call.values = extended(call.arguments.get(), numbers, [&](Py_ssize_t i) {
    return number_given(PyTuple_GET_ITEM(kernel.numbers, i), keywords);
  });
  call.constants = keywords.left();
  return call.values && !PyErr_Occurred();
}

// What tells calls with other variants apart; below 0: look closer.
int64_t variant_key(const KernelObject& kernel, PyObject* arguments) {
  constexpr Py_ssize_t kMost = 32;
  const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
  const Py_ssize_t optional = PyTuple_GET_SIZE(kernel.optional);
  if (optional > kMost || count < PyTuple_GET_SIZE(kernel.places)) return -1;
  int64_t key = count << kMost;
  for (Py_ssize_t i = 0; i < optional; ++i) {
    const Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(kernel.optional, i));
    PyObject* given = PyTuple_GET_ITEM(arguments, place);
    if (PyTuple_Check(given) || PyList_Check(given)) return -1;  // its members are arguments
    if (given == Py_None) key |= int64_t{1} << i;
  }
  return key;
}

// The variant of a kernel for these arguments. Null: look closer, or an error is set.
Owned variant_of(PyObject* self, PyObject* arguments) {
  KernelObject& kernel = as_kernel(self);
  if (kernel.optional == Py_None) return Owned::borrowed(self);
  const int64_t key = variant_key(kernel, arguments);
  if (key < 0) return Owned();
  if (kernel.variant_key == key && kernel.variant != Py_None) {
    return Owned::borrowed(kernel.variant);
  }
  Owned found(out_of_turn(PyObject_CallMethodOneArg, self, names_variant, arguments));
  if (!found || !PyObject_TypeCheck(found.get(), kernel_type)) return Owned();
  kernel.variant_key = key;
  set_field(kernel.variant, found.get());
  return found;
}

// Whether it is a tuple of tuples, each of a name and more, up to so many items.
bool are_named(PyObject* given, Py_ssize_t most) {
  bool fits = PyTuple_CheckExact(given);
  for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(given); ++i) {
    PyObject* each = PyTuple_GET_ITEM(given, i);
    fits = PyTuple_CheckExact(each) && PyTuple_GET_SIZE(each) > 0 &&
           PyTuple_GET_SIZE(each) <= most && PyUnicode_CheckExact(PyTuple_GET_ITEM(each, 0));
  }
  return fits;
}

bool are_places(PyObject* given) {
  bool fits = are_named(given, 3);
  for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(given); ++i) {
    fits = PyTuple_GET_SIZE(PyTuple_GET_ITEM(given, i)) == 3;
  }
  return fits;
}

bool are_optional(PyObject* given, Py_ssize_t places) {
  bool fits = given == Py_None || PyTuple_CheckExact(given);
  for (Py_ssize_t i = 0; fits && given != Py_None && i < PyTuple_GET_SIZE(given); ++i) {
    PyObject* each = PyTuple_GET_ITEM(given, i);
    const Py_ssize_t place = PyLong_CheckExact(each) ? PyLong_AsSsize_t(each) : -1;
    fits = 0 <= place && place < places;
  }
  return fits && !PyErr_Occurred();
}

PyObject* set_calls(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("_set_calls", given, count, 3);
  PyObject* places = arguments.tuple();
  PyObject* numbers = arguments.tuple();
  PyObject* optional = arguments.object();
  if (!arguments.ok()) return nullptr;
  if (!are_places(places) || !are_named(numbers, 2) ||
      !are_optional(optional, PyTuple_GET_SIZE(places))) {
    PyErr_SetString(PyExc_TypeError, "_set_calls() takes parameters, numbers and places");
    return nullptr;
  }
  KernelObject& kernel = as_kernel(self);
  set_field(kernel.places, places);
  set_field(kernel.numbers, numbers);
  set_field(kernel.optional, optional);
  set_field(kernel.variant, Py_None);
  Py_RETURN_NONE;
}

PyMethodDef kMethods[] = {
    {"_set_calls", as_method(in_turn<set_calls>), METH_FASTCALL,
     "Say how calls give its arguments: by position, numbers by keyword, and those that are None."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"guard", T_OBJECT_EX, offsetof(KernelObject, guard), 0,
     "The ContextVar that must be true where launches are built; None: there is none."},
    {"plain", T_OBJECT_EX, offsetof(KernelObject, plain), 0,
     "What binds most calls, and borrows too; None: all need a closer look."},
    {"bare", T_OBJECT_EX, offsetof(KernelObject, bare), 0,
     "What calls without keywords ask, if that is known."},
    {"_latest", T_OBJECT_EX, offsetof(KernelObject, latest), 0,
     "The keywords of the last call, and what it asked for."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_doc, const_cast<char*>("A kernel, as its launches need it.")},
    {Py_tp_members, kMembers},
    {Py_tp_methods, kMethods},
    {Py_tp_traverse, as_slot(KernelFields::visit)},
    {Py_tp_clear, as_slot(in_turn<KernelFields::clear>)},
    {Py_tp_dealloc, as_slot(KernelFields::free)},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.Kernel", sizeof(KernelObject), 0, kBaseTypeFlags, kSlots};

}  // namespace

bool is_whole_kernel(PyObject* kernel) {
  return PyObject_TypeCheck(kernel, kernel_type) && KernelFields::are_set(kernel);
}

bool is_allowed(const KernelObject& kernel) {
  if (kernel.guard == Py_None) return true;
  PyObject* value = nullptr;
  if (PyContextVar_Get(kernel.guard, Py_False, &value) < 0) return false;
  return Owned(value).get() == Py_True;
}

bool arrange(PyObject* kernel, PyObject* arguments, PyObject* keywords, KernelCall& call) {
  if (!is_whole_kernel(kernel)) return false;
  const Owned kept_alive = Owned::borrowed(kernel);
  const KernelObject& its = as_kernel(kernel);
  const bool by_position = PyTuple_GET_SIZE(arguments) >= PyTuple_GET_SIZE(its.places);
  if (by_position && PyTuple_GET_SIZE(its.numbers) == 0) {
    call.arguments = Owned::borrowed(arguments);
    call.values = Owned::borrowed(arguments);
    call.keywords = Owned::borrowed(keywords);
    call.constants = Owned::borrowed(keywords);
  } else if (!sort_keywords(its, arguments, keywords, call)) {
    return false;
  }
  call.kernel = variant_of(kernel, call.arguments.get());
  return call.kernel && (call.kernel.get() == kernel || is_whole_kernel(call.kernel.get()));
}

Owned request_of(PyObject* self, PyObject* constants) {
  KernelObject& kernel = as_kernel(self);
  if (constants == nullptr || PyDict_GET_SIZE(constants) == 0) return Owned::borrowed(kernel.bare);
  if (are_latest(kernel.latest, constants)) {
    return Owned::borrowed(PyTuple_GET_ITEM(kernel.latest, PyTuple_GET_SIZE(kernel.latest) - 1));
  }
  Owned request(out_of_turn(PyObject_CallMethodOneArg, self, names_asked, constants));
  if (request && request.get() != Py_None && !remember(kernel, constants, request.get())) {
    return Owned();
  }
  return request;
}

int add_kernel(PyObject* module) {
  names_asked = PyUnicode_InternFromString("asked");
  names_variant = PyUnicode_InternFromString("variant");
  if (PyErr_Occurred()) return -1;
  kernel_type = add_type(module, kSpec);
  return kernel_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
