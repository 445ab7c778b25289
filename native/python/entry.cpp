// Kernels: calling one binds its arguments, and gives the op that runs it.
#include "core/records.hpp"
#include "python/borrowing.hpp"
#include "python/deferred.hpp"
#include "python/host_arrays.hpp"
#include "python/kernel.hpp"
#include "python/launch.hpp"
#include "python/leaving.hpp"
#include "python/module.hpp"
#include "python/scalars.hpp"

namespace tw::py {

namespace {

// Binds plain calls of one kernel: the base of `launch.plain.PlainBinder`.
struct BinderObject {
  PyObject_HEAD
  int64_t call;             // the address of its `BindPlan`
  PyObject* number_places;  // bytes: which arguments are numbers
};

using BinderFields = Fields<BinderObject, NoFields, offsetof(BinderObject, number_places)>;

// What users call: the base of `launch.definition.Entry`.
struct EntryObject {
  PyObject_HEAD
  PyObject* kernel;
  PyObject* launch_class;  // of its launches
};

using EntryFields = Fields<EntryObject, NoFields, offsetof(EntryObject, kernel)>;

PyTypeObject* binder_type = nullptr;

PyObject* zero = nullptr;
PyObject* names_call = nullptr;
PyObject* names_call_at = nullptr;
PyObject* names_numbers = nullptr;
PyObject* names_refuse = nullptr;

BinderObject& as_binder(PyObject* self) { return *reinterpret_cast<BinderObject*>(self); }
EntryObject& as_entry(PyObject* self) { return *reinterpret_cast<EntryObject*>(self); }

int64_t number_count(const BinderObject& binder) {
  return PyBytes_GET_SIZE(binder.number_places) / static_cast<int64_t>(sizeof(int64_t));
}

PyObject* number_at(const BinderObject& binder, PyObject* arguments, int64_t i) {
  const auto* places = reinterpret_cast<const int64_t*>(PyBytes_AS_STRING(binder.number_places));
  return PyTuple_GET_ITEM(arguments, places[i]);
}

// The binder of a kernel whose calls may need no closer look, if it takes so many arguments.
BinderObject* binder_of(PyObject* kernel, Py_ssize_t given) {
  PyObject* plain = as_kernel(kernel).plain;
  if (!PyObject_TypeCheck(plain, binder_type)) return nullptr;
  BinderObject& binder = as_binder(plain);
  if (binder.call == 0 || binder.number_places == nullptr ||
      !PyBytes_Check(binder.number_places)) {
    return nullptr;
  }
  return reinterpret_cast<const BindPlan*>(binder.call)->arity == given ? &binder : nullptr;
}

// As `bind`, of a call that may be given arrays of other libraries.
Owned bind_arrays(const BinderObject& binder, PyObject* arguments, PyObject* known) {
  const auto& plan = *reinterpret_cast<const BindPlan*>(binder.call);
  Owned regions = regions_of_arrays(plan, arguments);
  if (!regions || regions.get() == Py_None) return regions;
  return Owned(bind(plan, arguments, known, regions.get()));
}

bool has_op_for_number(const BinderObject& binder, PyObject* arguments) {
  for (int64_t i = 0; i < number_count(binder); ++i) {
    if (is_op(number_at(binder, arguments, i))) return true;
  }
  return false;
}

// The numbers of a call, if it is sure that their parameters take them. Null without an error: it
// is not.
PyObject* sure_numbers(const BinderObject& binder, PyObject* arguments, PyObject* known) {
  const int64_t count = number_count(binder);
  PyObject* ranges = ranges_in(known);
  if (ranges == nullptr || !PyBytes_Check(ranges) ||
      PyBytes_GET_SIZE(ranges) != count * static_cast<int64_t>(sizeof(NumberRange))) {
    return nullptr;
  }
  const auto* each = reinterpret_cast<const NumberRange*>(PyBytes_AS_STRING(ranges));
  Owned numbers(PyTuple_New(count));
  if (!numbers) return nullptr;
  for (int64_t i = 0; i < count; ++i) {
    PyObject* number = accept(each[i], number_at(binder, arguments, i));
    if (number == nullptr) return nullptr;
    PyTuple_SET_ITEM(numbers.get(), i, number);
  }
  return numbers.release();
}

// The same of any numbers; what is wrong with one that is refused, the slow path says.
Owned numbers_of(BinderObject& binder, PyObject* arguments, PyObject* held) {
  if (number_count(binder) == 0) return Owned(PyTuple_New(0));
  Owned sure(sure_numbers(binder, arguments, known_in(held)));
  if (sure || PyErr_Occurred()) return sure;
  PyObject* given[] = {reinterpret_cast<PyObject*>(&binder), arguments, held};
  Owned found(out_of_turn(PyObject_VectorcallMethod, names_numbers, given, 3, nullptr));
  if (found || !PyErr_ExceptionMatches(PyExc_Exception)) return found;
  PyErr_Clear();
  return found;
}

// What was bound, if its tensors are of the kinds of the last call, with its numbers. None: it
// needs a closer look. Null: an error is set.
Owned with_numbers(BinderObject& binder, PyObject* values, Owned held, Owned& numbers) {
  if (!held || held.get() == Py_None) return held;
  if (!is_known(known_in(held.get()))) return Owned::borrowed(Py_None);
  numbers = numbers_of(binder, values, held.get());
  if (numbers) return held;
  return PyErr_Occurred() ? Owned() : Owned::borrowed(Py_None);
}

// The op of a launch that was bound. Null: an error is set.
Owned new_bound(const EntryObject& entry, const KernelCall& call, PyObject* request, PyObject* held,
                PyObject* numbers) {
  Owned op = new_launch(reinterpret_cast<PyTypeObject*>(entry.launch_class), call.kernel.get(),
                        call.arguments.get(), request, PyTuple_GET_ITEM(use_in(held), 1));
  if (!op) return op;
  set_field(as_launch(op.get()).held, held);
  set_field(as_launch(op.get()).numbers, numbers);
  return op;
}

// The op of a launch that waits for ops among its arguments. Null: an error is set.
Owned new_deferred(const EntryObject& entry, const KernelCall& call, PyObject* request,
                   PyObject* known) {
  const Caller stands = caller(known);
  if (!stands) return Owned();
  Owned op = new_launch(reinterpret_cast<PyTypeObject*>(entry.launch_class), call.kernel.get(),
                        call.arguments.get(), request, stands.location.get());
  if (!op) return op;
  if (call.keywords) set_field(as_launch(op.get()).keywords, call.keywords.get());
  if (defer(op.get())) return op;
  const SavedError saved;
  const Owned refused(out_of_turn(PyObject_CallMethodNoArgs, op.get(), names_refuse));
  return Owned();
}

// The launch of a call, for a program that stands at `known`. Null: an error is set. None: the call
// needs a closer look, and nothing was done that this would not do again.
Owned build(PyObject* entry, PyObject* arguments, PyObject* keywords, PyObject* known) {
  const auto slow_path = [] { return Owned::borrowed(Py_None); };
  if (!EntryFields::are_set(entry)) return slow_path();
  KernelCall call;
  if (!arrange(as_entry(entry).kernel, arguments, keywords, call)) {
    return PyErr_Occurred() ? Owned() : slow_path();
  }
  if (!is_allowed(as_kernel(call.kernel.get()))) return PyErr_Occurred() ? Owned() : slow_path();
  PyObject* values = call.values.get();
  BinderObject* binder = binder_of(call.kernel.get(), PyTuple_GET_SIZE(values));
  if (binder == nullptr) return slow_path();
  const Owned kept_alive = Owned::borrowed(reinterpret_cast<PyObject*>(binder));
  const Owned request = request_of(call.kernel.get(), call.constants.get());
  if (!request) return Owned();
  if (request.get() == Py_None) return slow_path();
  Owned held = Owned::borrowed(Py_None);
  if (!has_op_for_number(*binder, values)) {
    held = Owned(bind(*reinterpret_cast<const BindPlan*>(binder->call), values, known));
    if (!held) return Owned();
  }
  if (held.get() == Py_None) {
    if (has_op(values)) return new_deferred(as_entry(entry), call, request.get(), known);
    held = bind_arrays(*binder, values, known);
    if (!held) return Owned();
  }
  Owned numbers;
  held = with_numbers(*binder, values, std::move(held), numbers);
  if (!held || held.get() == Py_None) return held;
  return new_bound(as_entry(entry), call, request.get(), held.get(), numbers.get());
}

PyObject* call(PyObject* self, PyObject* arguments, PyObject* keywords) {
  Owned op = build(self, arguments, keywords, zero);
  if (!op || op.get() != Py_None) return leaving(op.release());
  const Owned method(PyObject_GetAttr(self, names_call));
  return leaving(method ? out_of_turn(PyObject_Call, method.get(), arguments, keywords) : nullptr);
}

PyObject* call_at(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* names) {
  if (count == 2 && names == nullptr && PyTuple_CheckExact(given[0]) &&
      PyTuple_CheckExact(given[1])) {
    Owned op = build(self, given[1], nullptr, given[0]);
    if (!op || op.get() != Py_None) return op.release();
  }
  return call_slowly(names_call_at, self, given, count, names);
}

PyMemberDef kEntryMembers[] = {
    {"kernel", T_OBJECT_EX, offsetof(EntryObject, kernel), 0, "What builds its launches."},
    {"_launch_class", T_OBJECT_EX, offsetof(EntryObject, launch_class), READONLY,
     "The class of its launches."},
    {nullptr, 0, 0, 0, nullptr},
};

// Checked here, as objects of that class are made without further look.
PyObject* set_launches(PyObject* self, PyObject* cls) {
  if (!PyType_Check(cls) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), launch_type)) {
    PyErr_SetString(PyExc_TypeError, "a class of launches is expected");
    return nullptr;
  }
  set_field(as_entry(self).launch_class, cls);
  Py_RETURN_NONE;
}

PyMethodDef kEntryMethods[] = {
    {"call_at", as_method(in_turn<call_at>), METH_FASTCALL | METH_KEYWORDS,
     "Call it with these arguments, for a program that stands there."},
    {"_set_launches", in_turn<set_launches>, METH_O, "Say of which class its launches are."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kEntrySlots[] = {
    {Py_tp_doc, const_cast<char*>("A kernel, as users call it.")},
    {Py_tp_call, as_slot(in_turn<call>)},
    {Py_tp_members, kEntryMembers},
    {Py_tp_methods, kEntryMethods},
    {Py_tp_traverse, as_slot(EntryFields::visit)},
    {Py_tp_clear, as_slot(in_turn<EntryFields::clear>)},
    {Py_tp_dealloc, as_slot(EntryFields::free)},
    {0, nullptr},
};

PyType_Spec kEntrySpec = {"tilewright._core.Entry", sizeof(EntryObject), 0, kBaseTypeFlags,
                          kEntrySlots};

PyMemberDef kBinderMembers[] = {
    {"call", T_LONGLONG, offsetof(BinderObject, call), 0,
     "The address of what binding takes, as `BindWord` says."},
    {"number_places", T_OBJECT_EX, offsetof(BinderObject, number_places), 0,
     "Which arguments are numbers, as bytes."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kBinderSlots[] = {
    {Py_tp_doc, const_cast<char*>("Binds plain calls of one kernel.")},
    {Py_tp_members, kBinderMembers},
    {Py_tp_traverse, as_slot(BinderFields::visit)},
    {Py_tp_clear, as_slot(in_turn<BinderFields::clear>)},
    {Py_tp_dealloc, as_slot(BinderFields::free)},
    {0, nullptr},
};

PyType_Spec kBinderSpec = {"tilewright._core.Binder", sizeof(BinderObject), 0, kBaseTypeFlags,
                           kBinderSlots};

}  // namespace

const BindPlan* bind_plan_of(PyObject* kernel, Py_ssize_t given) {
  const BinderObject* binder = is_whole_kernel(kernel) ? binder_of(kernel, given) : nullptr;
  return binder == nullptr ? nullptr : reinterpret_cast<const BindPlan*>(binder->call);
}

Owned bind_known(PyObject* kernel, PyObject* values, PyObject* known, Owned& numbers) {
  BinderObject* binder =
      is_whole_kernel(kernel) ? binder_of(kernel, PyTuple_GET_SIZE(values)) : nullptr;
  if (binder == nullptr) return Owned::borrowed(Py_None);
  const Owned kept_alive = Owned::borrowed(reinterpret_cast<PyObject*>(binder));
  const auto& plan = *reinterpret_cast<const BindPlan*>(binder->call);
  Owned held(bind(plan, values, known == Py_None ? zero : known));
  return with_numbers(*binder, values, std::move(held), numbers);
}

int add_entry(PyObject* module) {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  zero = PyLong_FromLong(0);
  names_call = name("_call_slowly");
  names_call_at = name("_call_at_slowly");
  names_numbers = name("numbers");
  names_refuse = name("_refuse");
  if (PyErr_Occurred()) return -1;
  binder_type = add_type(module, kBinderSpec);
  if (binder_type == nullptr) return -1;
  return add_type(module, kEntrySpec) == nullptr ? -1 : 0;
}

}  // namespace tw::py
