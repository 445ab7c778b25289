#include "python/link.hpp"

#include <cstring>

#include "python/calling.hpp"
#include "python/location.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

PyTypeObject* link_type = nullptr;

namespace {

// What Python has for links.
struct LinkClasses {
  PyTypeObject* linked = nullptr;       // op.core.Linked
  PyObject* pledge = nullptr;           // borrows extra arguments
  PyObject* refuse_function = nullptr;  // raises for what cannot be called
};

LinkClasses classes;

struct Names {
  PyObject* check;
  PyObject* effect;
  PyObject* entrust;
  PyObject* home;
  PyObject* host_data;
  PyObject* joint;
  PyObject* name;
  PyObject* nothing;  // the empty tuple
};

Names names;

bool name_all() {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {.check = name("check"),
           .effect = name("effect"),
           .entrust = name("entrust"),
           .home = name("home"),
           .host_data = name("host_data"),
           .joint = name("joint"),
           .name = name("name"),
           .nothing = PyTuple_New(0)};
  return !PyErr_Occurred();
}

// Characters of a name, beyond which only its beginning and its end are told.
constexpr Py_ssize_t kLongestName = 60;

// The name of a longer chain; of a very long one, only where it begins and how it ends.
Owned joined_name(PyObject* name, PyObject* verb) {
  const Py_ssize_t length = PyUnicode_GET_LENGTH(name);
  if (length > kLongestName) {
    const Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, length, 1);
    if (dot == -2) return Owned();
    const Owned first(PyUnicode_Substring(name, 0, dot < 0 ? length : dot));
    constexpr int kEllipsis = 0x2026;
    return Owned(
        first ? PyUnicode_FromFormat("%U. %c .%U", first.get(), kEllipsis, verb) : nullptr);
  }
  if (!PyUnicode_IS_COMPACT_ASCII(name) || !PyUnicode_IS_COMPACT_ASCII(verb)) {
    return Owned(PyUnicode_FromFormat("%U.%U", name, verb));
  }
  const Py_ssize_t more = PyUnicode_GET_LENGTH(verb);
  Owned made(PyUnicode_New(length + 1 + more, 127));
  if (!made) return made;
  auto* text = static_cast<char*>(PyUnicode_DATA(made.get()));
  std::memcpy(text, PyUnicode_DATA(name), static_cast<size_t>(length));
  text[length] = '.';
  std::memcpy(text + length + 1, PyUnicode_DATA(verb), static_cast<size_t>(more));
  return made;
}

// What a link has of the op that it follows.
struct Inherited {
  Owned name;
  Owned home;
  bool effect = false;
  bool host_data = false;
};

// False: an error is set.
bool inherit(PyObject* source, Inherited& found) {
  if (as_op(source).is_link) {
    const LinkObject& link = as_link(source);
    found.name = Owned::borrowed(link.name);
    found.home = Owned::borrowed(link.home);
    found.effect = link.effect;
    found.host_data = link.host_data;
  } else {
    found.name = Owned(PyObject_GetAttr(source, names.name));
    if (!found.name) return false;
    found.home = Owned(PyObject_GetAttr(source, names.home));
    if (!found.home) return false;
    const int effect = flag_of(source, names.effect);
    const int host_data = effect < 0 ? -1 : flag_of(source, names.host_data);
    if (host_data < 0) return false;
    found.effect = effect > 0;
    found.host_data = host_data > 0;
  }
  if (found.name && found.home && PyUnicode_Check(found.name.get())) return true;
  PyErr_SetString(PyExc_TypeError, "an op has a name, which is a str, and a home");
  return false;
}

bool takes_name(Recipe recipe) {
  return recipe == Recipe::kMethod || recipe == Recipe::kMethodOp;
}

bool check_function(Recipe recipe, PyObject* verb, PyObject* function) {
  if (takes_name(recipe) ? PyUnicode_Check(function) : PyCallable_Check(function)) return true;
  return call_python(classes.refuse_function, {verb, function}) && false;
}

// Makes a link of an op that was claimed for it.
Owned new_link(PyObject* source, Recipe recipe, PyObject* verb, PyObject* function,
               PyObject* extra, Inherited& inherited, PyObject* built) {
  PyTypeObject* type = classes.linked == nullptr ? link_type : classes.linked;
  Owned made(type->tp_alloc(type, 0));
  if (!made) return made;
  LinkObject& link = as_link(made.get());
  link.recipe = recipe;
  link.waits = 1;
  link.host_data = inherited.host_data;
  // What a function would have built is unknown, so assume that it matters.
  link.effect =
      inherited.effect || recipe == Recipe::kThen || recipe == Recipe::kThenUnchecked;
  link.source = Py_NewRef(source);
  link.name = inherited.name.release();
  link.home = inherited.home.release();
  link.verb = Py_NewRef(verb);
  link.function = Py_NewRef(function);
  link.extra = Py_NewRef(extra);
  link.pledges = Py_NewRef(names.nothing);
  link.op.is_link = true;
  link.op.built = Py_NewRef(built);
  link.op.used = unused();
  return made;
}

// `link(source, recipe, verb, function, extra, known)`
PyObject* link(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("link", given, count, 6);
  PyObject* source = arguments.object();
  const int64_t number = arguments.number();
  PyObject* verb = arguments.string();
  PyObject* function = arguments.object();
  PyObject* extra = arguments.tuple();
  PyObject* known = arguments.object();
  if (!arguments.ok()) return nullptr;
  if (!is_op(source) || number < 0 || number > static_cast<int64_t>(Recipe::kMethodOp)) {
    PyErr_SetString(PyExc_TypeError, "link() takes an op, and one of the recipes");
    return nullptr;
  }
  const auto recipe = static_cast<Recipe>(number);
  if (!check_function(recipe, verb, function)) return nullptr;
  Inherited inherited;
  if (!inherit(source, inherited)) return nullptr;
  inherited.name = joined_name(inherited.name.get(), verb);
  if (!inherited.name) return nullptr;
  const Caller stands = caller(known);
  if (!stands || !claim_at(source, inherited.name.get(), stands.location.get())) return nullptr;
  const Owned name = Owned::borrowed(inherited.name.get());
  Owned made =
      new_link(source, recipe, verb, function, extra, inherited, stands.location.get());
  if (!made || takes_name(recipe) || PyTuple_GET_SIZE(extra) == 0) return made.release();
  const Owned pledges =
      call_python(classes.pledge, {extra, name.get(), stands.location.get()});
  if (!pledges) return nullptr;
  set_field(as_link(made.get()).pledges, pledges.get());
  return made.release();
}

PyObject* join_names(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("join_names", given, count, 2);
  PyObject* name = arguments.string();
  PyObject* verb = arguments.string();
  return arguments.ok() ? joined_name(name, verb).release() : nullptr;
}

// Checks that the borrows of extra arguments stand, and passes them on. False: an error is set.
bool entrust(PyObject* pledges, PyObject* context) {
  if (PyTuple_CheckExact(pledges) && PyTuple_GET_SIZE(pledges) == 0) return true;
  const Owned each(PyObject_GetIter(pledges));
  if (!each) return false;
  while (true) {
    const Owned pledge(out_of_turn(PyIter_Next, each.get()));
    if (!pledge) return !PyErr_Occurred();
    const Owned checked(out_of_turn(PyObject_CallMethodNoArgs, pledge.get(), names.check));
    const Owned entrusted(
        checked ? out_of_turn(PyObject_CallMethodOneArg, pledge.get(), names.entrust, context)
                : nullptr);
    if (!entrusted) return false;
  }
}

// The op before it has run: of what many share, the last one to use it may be the only one. False:
// an error is set.
bool leave_source(LinkObject& link) {
  link.waits = 0;
  if (link.source == nullptr || as_op(link.source).is_link) return true;
  const int joint = flag_of(link.source, names.joint);
  if (joint > 0) Py_CLEAR(link.source);
  return joint >= 0;
}

PyObject* spend_link(PyObject* self, PyObject*) {
  LinkObject& link = as_link(self);
  link.waits = 0;
  link.spent = 1;
  set_field(link.function, Py_None);
  set_field(link.extra, names.nothing);
  set_field(link.pledges, names.nothing);
  Py_RETURN_NONE;
}

PyObject* made_of(PyObject* self, void*) {
  PyObject* source = as_link(self).source;
  return source == nullptr ? PyTuple_New(0) : PyTuple_Pack(1, source);
}

PyMethodDef kMethods[] = {
    {"spend", in_turn<spend_link>, METH_NOARGS, "Let go of its function: it has run."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef kProperties[] = {
    {"made_of", in_turn<made_of>, nullptr, "The op that it follows.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef kMembers[] = {
    {"name", T_OBJECT_EX, offsetof(LinkObject, name), READONLY,
     "The name of what it follows and its own verb: `neg.map`."},
    {"home", T_OBJECT, offsetof(LinkObject, home), READONLY, "Where what it follows must run."},
    {"effect", T_BOOL, offsetof(LinkObject, effect), 0,
     "Whether dropping it unused is a mistake."},
    {"host_data", T_BOOL, offsetof(LinkObject, host_data), 0,
     "Whether the host must wait for the device before the result is there."},
    {"spent", T_BOOL, offsetof(LinkObject, spent), READONLY, "Whether it has run."},
    {"_recipe", T_BYTE, offsetof(LinkObject, recipe), READONLY, "What it does with a result."},
    {"_function", T_OBJECT, offsetof(LinkObject, function), READONLY, "What it calls."},
    {"_pledges", T_OBJECT_EX, offsetof(LinkObject, pledges), READONLY,
     "Borrows of the extra arguments."},
    {"_result_count", T_OBJECT, offsetof(LinkObject, result_count), 0,
     "How many results it gives, where that was told."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kTypeSlots[] = {
    {Py_tp_doc, const_cast<char*>("A link of a chain: goes on with the result of an op.")},
    {Py_tp_getset, kProperties},
    {Py_tp_members, kMembers},
    {Py_tp_methods, kMethods},
    {Py_tp_traverse, as_slot(LinkFields::visit)},
    {Py_tp_clear, as_slot(in_turn<LinkFields::clear>)},
    {Py_tp_dealloc, as_slot(LinkFields::free)},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.Link", sizeof(LinkObject), 0, kBaseTypeFlags, kTypeSlots};

PyObject* set_link_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  LinkClasses found;
  found.linked = setup.type("Linked");
  found.pledge = setup.object("pledge");
  found.refuse_function = setup.object("refuse_function");
  if (setup.ok() && !PyType_IsSubtype(found.linked, link_type)) {
    PyErr_SetString(PyExc_TypeError, "a class of links is expected");
    return nullptr;
  }
  if (!setup.ok()) return nullptr;
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    fast_method("link", in_turn<link>,
                "Make a link that goes on with the result of an op, by a recipe."),
    fast_method("join_names", in_turn<join_names>,
                "Join the name of an op and that of a link behind it."),
    {"set_link_classes", in_turn<set_link_classes>, METH_O, "Say what Python has for links."},
    {nullptr, nullptr, 0, nullptr},
};

constexpr Constant kRecipes[] = {
    {"LINK_MAP", static_cast<int64_t>(Recipe::kMap)},
    {"LINK_INSPECT", static_cast<int64_t>(Recipe::kInspect)},
    {"LINK_THEN", static_cast<int64_t>(Recipe::kThen)},
    {"LINK_THEN_UNCHECKED", static_cast<int64_t>(Recipe::kThenUnchecked)},
    {"LINK_METHOD", static_cast<int64_t>(Recipe::kMethod)},
    {"LINK_METHOD_OP", static_cast<int64_t>(Recipe::kMethodOp)},
};

// What its recipe makes of a result.
Owned cook(LinkObject& link, PyObject* value, PyObject* context) {
  ContextObject& fields = as_context(context);
  const Owned verb = Owned::borrowed(link.verb);
  const Owned function = Owned::borrowed(link.function);
  const Owned extra = Owned::borrowed(link.extra);
  if (!verb || !function || !extra || !PyTuple_Check(extra.get())) {
    PyErr_SetString(PyExc_AttributeError, "a link that was never initialized");
    return Owned();
  }
  switch (link.recipe) {
    case Recipe::kMap:
    case Recipe::kInspect:
    case Recipe::kThen: {
      Owned made = call_with(verb.get(), function.get(), value, extra.get(), fields);
      if (!made || link.recipe == Recipe::kMap) return made;
      if (link.recipe == Recipe::kInspect) return Owned::borrowed(value);
      return admit(made.get(), verb.get(), fields, value) ? std::move(made) : Owned();
    }
    case Recipe::kThenUnchecked: {
      Owned made = call_unlocked(verb.get(), function.get(), value, extra.get(), context);
      return made && admit(made.get(), verb.get(), fields, value) ? std::move(made) : Owned();
    }
    case Recipe::kMethod:
      return call_method(verb.get(), function.get(), value, extra.get());
    case Recipe::kMethodOp:
      break;
  }
  Owned made = call_method(verb.get(), function.get(), value, extra.get());
  return made && claim_made(made.get(), verb.get(), fields) ? std::move(made) : Owned();
}

}  // namespace

Owned go_on(PyObject* self, Owned value, PyObject* context) {
  LinkObject& link = as_link(self);
  const Owned pledges = Owned::borrowed(link.pledges);
  if (!leave_source(link) || (pledges && !entrust(pledges.get(), context))) return Owned();
  return cook(link, value.get(), context);
}

int add_link(PyObject* module) {
  if (!name_all() || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  if (add_constants(module, kRecipes) < 0) return -1;
  link_type = add_type(module, kSpec, op_type);
  return link_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
