#include "python/calling.hpp"

#include <limits>
#include <vector>

#include "python/module.hpp"
#include "python/op.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// What Python has for calls.
struct CallClasses {
  PyTypeObject* maker = nullptr;         // op.arity.Maker
  PyObject* positional = nullptr;        // finds how many arguments something callable takes
  PyObject* refuse_count = nullptr;      // raises for a function that takes others
  PyObject* refuse_method = nullptr;     // raises for a result that has no such method
  PyObject* refuse_value = nullptr;      // raises for a function that gives no op
  PyObject* refuse_borrows = nullptr;    // raises if an op borrows, and nobody waits for it
  PyObject* refuse_host_data = nullptr;  // raises if an op gives host data, in flight
  PyObject* unlocked = nullptr;          // calls what may run ops
  PyObject* call = nullptr;              // `call_with`, for that
};

CallClasses classes;

PyObject* names_call_at = nullptr;
PyObject* names_host_data = nullptr;
PyObject* names_result_count = nullptr;
PyObject* names_wrapped = nullptr;

// The results that a value stands for: its elements if it is a tuple, else itself.
struct Results {
  explicit Results(PyObject* const& value)
      : at(PyTuple_CheckExact(value) ? &PyTuple_GET_ITEM(value, 0) : &value),
        count(PyTuple_CheckExact(value) ? PyTuple_GET_SIZE(value) : 1) {}
  PyObject* const* at;
  Py_ssize_t count;
};

Owned as_tuple(const Results& results) {
  Owned made(PyTuple_New(results.count));
  for (Py_ssize_t i = 0; made && i < results.count; ++i) {
    PyTuple_SET_ITEM(made.get(), i, Py_NewRef(results.at[i]));
  }
  return made;
}

// Results, then what was bound before.
Owned joined(PyObject* value, const Results& results, PyObject* extra) {
  if (PyTuple_GET_SIZE(extra) == 0 && PyTuple_CheckExact(value)) return Owned::borrowed(value);
  const Owned first = as_tuple(results);
  return first ? Owned(PySequence_Concat(first.get(), extra)) : Owned();
}

// How many arguments a function takes by position.
struct Taken {
  static constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  int64_t least = 0;
  int64_t most = kAny;

  bool fits(int64_t count) const { return least <= count && count <= most; }
};

// That of a function of Python's whose arguments are all positional. False: ask Python.
bool taken_by_function(PyObject* function, Taken& taken) {
  if (!PyFunction_Check(function)) return false;
  const auto& fields = *reinterpret_cast<PyFunctionObject*>(function);
  const auto& code = *reinterpret_cast<PyCodeObject*>(fields.func_code);
  if ((code.co_flags & CO_VARARGS) != 0 || code.co_kwonlyargcount != 0) return false;
  if (fields.func_dict != nullptr && PyDict_GetItemWithError(fields.func_dict, names_wrapped)) {
    return false;
  }
  const Py_ssize_t defaults =
      fields.func_defaults == nullptr ? 0 : PyTuple_GET_SIZE(fields.func_defaults);
  taken = {code.co_argcount - defaults, code.co_argcount};
  return !PyErr_Occurred();
}

// That of a method of an object, which is the first argument.
bool taken_by_method(PyObject* function, Taken& taken) {
  if (!PyMethod_Check(function) || !taken_by_function(PyMethod_GET_FUNCTION(function), taken)) {
    return false;
  }
  taken = {taken.least - 1, taken.most - 1};
  return taken.least >= 0;
}

// That of what says how many results it is given. False: it does not, or an error is set.
bool taken_as_told(PyObject* function, Taken& taken) {
  if (PyType_Check(function) || PyCFunction_Check(function)) return false;
  const Owned told(PyObject_GetAttr(function, names_result_count));
  if (!told && PyErr_ExceptionMatches(PyExc_AttributeError)) PyErr_Clear();
  if (!told || !PyLong_Check(told.get())) return false;
  const int64_t count = PyLong_AsLongLong(told.get());
  taken = {count, count};
  return !PyErr_Occurred();
}

// That of anything else. False: an error is set.
bool ask_taken(PyObject* function, Taken& taken) {
  const Owned found = call_python(classes.positional, {function});
  if (!found) return false;
  if (found.get() == Py_None) return true;  // nobody can say
  PyObject* most = nullptr;
  long long least = 0;
  if (!PyArg_ParseTuple(found.get(), "LO", &least, &most)) return false;
  taken.least = least;
  if (most != Py_None) taken.most = PyLong_AsLongLong(most);
  return !PyErr_Occurred();
}

bool find_taken(PyObject* function, Taken& taken) {
  if (taken_by_function(function, taken) || taken_by_method(function, taken) ||
      taken_as_told(function, taken)) {
    return true;
  }
  return !PyErr_Occurred() && ask_taken(function, taken);
}

Owned refuse_count(PyObject* verb, const Taken& taken, const Results& results, PyObject* extra) {
  const Owned least(PyLong_FromLongLong(taken.least));
  const Owned most(taken.most == Taken::kAny ? Py_NewRef(Py_None)
                                             : PyLong_FromLongLong(taken.most));
  const Owned given = as_tuple(results);
  if (!least || !most || !given) return Owned();
  call_python(classes.refuse_count, {verb, least.get(), most.get(), given.get(), extra});
  return Owned();
}

// Whether it is a function of Tilewright's own that takes so many; below 0: an error is set.
int is_maker(PyObject* function, Py_ssize_t count) {
  if (classes.maker == nullptr || !PyObject_TypeCheck(function, classes.maker)) return 0;
  Taken taken;
  if (taken_as_told(function, taken)) return taken.fits(count);
  return PyErr_Occurred() ? -1 : 0;
}

Owned call_all(PyObject* function, const Results& results, PyObject* extra) {
  const Py_ssize_t more = PyTuple_GET_SIZE(extra);
  const auto all = static_cast<size_t>(results.count + more);
  if (more == 0) return Owned(out_of_turn(PyObject_Vectorcall, function, results.at, all, nullptr));
  std::vector<PyObject*> given(results.at, results.at + results.count);
  for (Py_ssize_t i = 0; i < more; ++i) given.push_back(PyTuple_GET_ITEM(extra, i));
  return Owned(out_of_turn(PyObject_Vectorcall, function, given.data(), all, nullptr));
}

bool has_host_data(PyObject* op, bool& found) {
  const int flag = flag_of(op, names_host_data);
  found = flag > 0;
  return flag >= 0;
}

PyObject* call_function(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("call_function", given, count, 5);
  PyObject* verb = arguments.string();
  PyObject* function = arguments.object();
  PyObject* value = arguments.object();
  PyObject* extra = arguments.tuple();
  PyObject* context = arguments.object();
  if (!arguments.ok() || !check_context(context, "call_function")) return nullptr;
  return call_with(verb, function, value, extra, as_context(context)).release();
}

PyObject* admit_function(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("admit", given, count, 4);
  PyObject* made = arguments.object();
  PyObject* verb = arguments.string();
  PyObject* context = arguments.object();
  PyObject* value = arguments.object();
  if (!arguments.ok() || !check_context(context, "admit")) return nullptr;
  return admit(made, verb, as_context(context), value) ? Py_NewRef(made) : nullptr;
}

PyObject* set_call_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  CallClasses found;
  found.maker = setup.type("Maker");
  found.positional = setup.object("positional");
  found.refuse_count = setup.object("refuse_count");
  found.refuse_method = setup.object("refuse_method");
  found.refuse_value = setup.object("refuse_value");
  found.refuse_borrows = setup.object("refuse_borrows");
  found.refuse_host_data = setup.object("refuse_host_data");
  found.unlocked = setup.object("unlocked");
  found.call = setup.object("call");
  if (!setup.ok()) return nullptr;
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    fast_method("call_function", in_turn<call_function>,
                "Call a function with an op's result, then the arguments bound when building."),
    fast_method("admit", in_turn<admit_function>,
                "Mark an op that a function made as used, if it may run here; gives it."),
    {"set_call_classes", in_turn<set_call_classes>, METH_O, "Say what Python has for calls."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Owned call_with(PyObject* verb, PyObject* function, PyObject* value, PyObject* extra,
                ContextObject& context) {
  const Results results(value);
  const Py_ssize_t count = results.count + PyTuple_GET_SIZE(extra);
  const int makes = is_maker(function, count);
  if (makes < 0) return Owned();
  if (makes > 0) {
    const Owned stands = whence(context);
    const Owned given = stands ? joined(value, results, extra) : Owned();
    if (!given) return Owned();
    PyObject* passed[] = {function, stands.get(), given.get()};
    return Owned(out_of_turn(PyObject_VectorcallMethod, names_call_at, passed, 3, nullptr));
  }
  Taken taken;
  if (!find_taken(function, taken)) return Owned();
  if (!taken.fits(count)) return refuse_count(verb, taken, results, extra);
  return call_all(function, results, extra);
}

Owned call_unlocked(PyObject* verb, PyObject* function, PyObject* value, PyObject* extra,
                    PyObject* context) {
  return call_python(classes.unlocked, {classes.call, verb, function, value, extra, context});
}

Owned call_method(PyObject* verb, PyObject* name, PyObject* value, PyObject* given) {
  const Results results(value);
  if (results.count != 1) {
    const Owned nothing(PyTuple_New(0));
    return nothing ? refuse_count(verb, Taken{1, 1}, results, nothing.get()) : Owned();
  }
  const Owned method(PyObject_GetAttr(results.at[0], name));
  if (!method && !PyErr_ExceptionMatches(PyExc_AttributeError)) return Owned();
  if (!method || method.get() == Py_None) {
    PyErr_Clear();
    call_python(classes.refuse_method, {verb, results.at[0]});
    return Owned();
  }
  return Owned(out_of_turn(PyObject_Call, method.get(), given, nullptr));
}

bool admit(PyObject* made, PyObject* verb, ContextObject& context, PyObject* given) {
  if (!is_op(made)) return claim_made(made, verb, context);
  if (context.detached) {
    const Owned results = as_tuple(Results(given));
    if (!results || !call_python(classes.refuse_borrows, {made, results.get()})) return false;
  }
  bool gives_host_data = false;
  if (context.in_flight && !has_host_data(made, gives_host_data)) return false;
  if (gives_host_data && !call_python(classes.refuse_host_data, {made})) return false;
  return claim_made(made, verb, context);
}

bool claim_made(PyObject* made, PyObject* verb, ContextObject& context) {
  if (!is_op(made)) return call_python(classes.refuse_value, {verb, made}) && false;
  const Owned stands = whence(context);
  return stands && claim_at(made, verb, stands.get());
}

int add_calling(PyObject* module) {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names_call_at = name("call_at");
  names_host_data = name("host_data");
  names_result_count = name("result_count");
  names_wrapped = name("__wrapped__");
  if (PyErr_Occurred()) return -1;
  return PyModule_AddFunctions(module, kFunctions);
}

}  // namespace tw::py
