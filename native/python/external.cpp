// Launches on memory that another library keeps for a call: nobody here knows it, so there is
// nobody to borrow it from, and nothing to keep or to wait for.
#include <vector>

#include "cpu/pool.hpp"
#include "python/borrowing.hpp"
#include "python/cpu_launching.hpp"
#include "python/memory.hpp"
#include "python/module.hpp"
#include "python/run_inline.hpp"

namespace tw::py {

namespace {

PyObject* name_hear = nullptr;

// The addresses in a list. False: an error is set.
bool read_addresses(PyObject* given, std::vector<int64_t>& addresses) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(given); ++i) {
    addresses.push_back(reinterpret_cast<int64_t>(PyLong_AsVoidPtr(PyList_GET_ITEM(given, i))));
    if (PyErr_Occurred()) return false;
  }
  return true;
}

struct Span {
  int64_t start;
  int64_t end;

  bool meets(const Span& other) const { return start < other.end && other.start < end; }
};

// Whether memory that is written is used once, and nobody here knows any of it.
bool are_apart(const std::vector<Span>& spans, size_t written) {
  for (size_t i = 0; i < spans.size(); ++i) {
    if (meets_import(spans[i].start, spans[i].end)) return false;
    for (size_t k = i + 1; i < written && k < spans.size(); ++k) {
      if (spans[i].meets(spans[k])) return false;
    }
  }
  return true;
}

// `(addresses, extents, written)`; of extents, the bytes before and behind each address.
PyObject* are_apart_function(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("are_apart", given, count, 3);
  PyObject* list = arguments.object();
  PyObject* bytes = arguments.bytes_object();
  const int64_t written = arguments.number();
  if (!arguments.ok()) return nullptr;
  std::vector<int64_t> addresses;
  if (!PyList_Check(list) || written < 0 ||
      PyBytes_GET_SIZE(bytes) != PyList_GET_SIZE(list) * Py_ssize_t(2 * sizeof(int64_t))) {
    PyErr_SetString(PyExc_TypeError, "a list of addresses, and two words for each, are expected");
    return nullptr;
  }
  if (!read_addresses(list, addresses)) return nullptr;
  const int64_t* extents = words_in(bytes);
  std::vector<Span> spans;
  for (size_t i = 0; i < addresses.size(); ++i) {
    spans.push_back({addresses[i] + extents[2 * i], addresses[i] + extents[2 * i + 1]});
  }
  return PyBool_FromLong(are_apart(spans, size_t(written)));
}

// A launch of a plan of the CPU, with the addresses of its tensors.
struct ExternalLaunch {
  PyObject* plan_object;
  const LaunchPlan& plan;
  const std::vector<int64_t>& addresses;
  const int64_t* numbers;
};

void write_parameters(const ExternalLaunch& launch, cpu::Job& job) {
  auto* words = reinterpret_cast<int64_t*>(&job);
  for (int64_t i = 0; i < launch.plan.tensors; ++i) {
    words[launch.plan.tensor_places[i]] = launch.addresses[size_t(i)];
  }
  for (int64_t i = 0; i < launch.plan.numbers; ++i) {
    words[launch.plan.number_places[i]] = launch.numbers[i];
  }
}

// Adds a job to an idle stream, for this thread to run it; its number, or 0: the stream is busy.
int64_t occupy(const CpuQueue& queue, cpu::Job& job) {
  cpu::Stream::Reservation reservation = queue.stream->reserve_idle();
  if (!reservation) return 0;
  const int64_t number = begin(TensorUses(nullptr, 0, 0), *queue.timeline, 0, Waits());
  reservation.occupy(job);
  submitted(*queue.timeline);
  return number;
}

// Runs a launch on the calling thread; it is over then.
Ending run(const ExternalLaunch& launch, const CpuQueue& queue) {
  RunMemory memory(take_record(launch.plan_object));
  if (memory.record() == nullptr || !memory.prepare(queue)) {
    return PyErr_Occurred() ? Ending::kError : Ending::kSlowPath;
  }
  write_parameters(launch, memory.job());
  const int64_t budget = spread(queue, memory.job());
  if (budget < 0) return Ending::kError;
  int64_t number;
  {
    const BorrowLock lock;
    number = occupy(queue, memory.job());
  }
  if (number == 0) {
    return put_back(launch.plan_object, memory.record()) ? Ending::kSlowPath : Ending::kError;
  }
  if (!run_to_end(queue, memory, number, budget) || !memory.release(queue)) return Ending::kError;
  if (!memory.job().has_report()) {
    return put_back(launch.plan_object, memory.record()) ? Ending::kDone : Ending::kError;
  }
  const Owned heard(
      out_of_turn(PyObject_CallMethodOneArg, launch.plan_object, name_hear, memory.record()));
  return heard ? Ending::kDone : Ending::kError;
}

Ending run_external(PyObject* its_plan, PyObject* list, PyObject* numbers, PyObject* stream) {
  const LaunchPlan* plan = cpu_plan_of(its_plan);
  const CpuQueue queue = cpu_queue_of(stream);
  if (plan == nullptr || !queue || PyList_GET_SIZE(list) != plan->tensors) return Ending::kSlowPath;
  const cpu::Pool& pool = queue.stream->pool();
  if (pool.is_stopped() || pool.is_lost()) return Ending::kSlowPath;
  if (!is_fresh(*plan)) return leave_to_python() == kFailed ? Ending::kError : Ending::kSlowPath;
  PackedNumbers packed;
  const Ending ending = packed.pack_for_cpu(*plan, its_plan, numbers);
  if (ending != Ending::kDone) return ending;
  std::vector<int64_t> addresses;
  if (!read_addresses(list, addresses)) return Ending::kError;
  return run({its_plan, *plan, addresses, packed.words()}, queue);
}

// `(plan, addresses, numbers, stream)`: whether it ran, and is over.
PyObject* run_external_function(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("run_external", given, count, 4);
  PyObject* plan = arguments.object();
  PyObject* addresses = arguments.object();
  PyObject* numbers = arguments.tuple();
  PyObject* stream = arguments.object();
  if (!arguments.ok()) return nullptr;
  if (!PyList_Check(addresses)) {
    PyErr_SetString(PyExc_TypeError, "a list of addresses is expected");
    return nullptr;
  }
  switch (run_external(plan, addresses, numbers, stream)) {
    case Ending::kDone:
      Py_RETURN_TRUE;
    case Ending::kSlowPath:
      Py_RETURN_FALSE;
    case Ending::kError:
      break;
  }
  return nullptr;
}

PyMethodDef kFunctions[] = {
    fast_method("are_apart", in_turn<are_apart_function>,
                "Tell whether what is written is used once, and nobody here knows any of it."),
    fast_method("run_external", in_turn<run_external_function>,
                "Run a launch of the CPU on memory of another library, if its stream is idle."),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_external(PyObject* module) {
  name_hear = PyUnicode_InternFromString("hear");
  return name_hear == nullptr ? -1 : PyModule_AddFunctions(module, kFunctions);
}

}  // namespace tw::py
