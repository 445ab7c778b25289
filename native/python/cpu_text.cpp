// What LLVM text in Python calls of the streams. Goes with the last such text.
#include "cpu/pool.hpp"
#include "cpu/stream.hpp"
#include "python/module.hpp"

namespace tw::py {

namespace {

using cpu::Job;
using cpu::Stream;

std::int64_t put(Stream* stream, Job* job) { return stream->enqueue(*job); }

std::int64_t seize(Stream* stream) { return stream->reserve_idle().release(); }

void occupy(Stream* stream, Job* job) { Stream::Reservation::adopt(*stream).occupy(*job); }

void let_go(Stream* stream) { Stream::Reservation::adopt(*stream); }

std::int64_t resume(Stream* stream, Job* job, void* scratch, std::int64_t budget) {
  return static_cast<std::int64_t>(stream->resume(*job, scratch, budget));
}

PyObject* text_addresses(PyObject*, PyObject*) {
  return Py_BuildValue(
      "{s:K,s:K,s:K,s:K,s:K}", "put", reinterpret_cast<std::uintptr_t>(put), "seize",
      reinterpret_cast<std::uintptr_t>(seize), "occupy", reinterpret_cast<std::uintptr_t>(occupy),
      "let_go", reinterpret_cast<std::uintptr_t>(let_go), "resume",
      reinterpret_cast<std::uintptr_t>(resume));
}

PyObject* text_resume(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("text_resume", given, count, 4);
  auto* stream = arguments.address<Stream>();
  auto* job = arguments.address<Job>();
  void* scratch = arguments.address<void>();
  const std::int64_t budget = arguments.number();
  if (!arguments.ok()) return nullptr;
  std::int64_t status;
  {
    const Unlocked given_up;
    status = resume(stream, job, scratch, budget);
  }
  return PyErr_Occurred() ? nullptr : PyLong_FromLongLong(status);
}

PyMethodDef kMethods[] = {
    {"text_addresses", text_addresses, METH_NOARGS, "Where text finds functions of streams."},
    {"text_resume", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(text_resume)),
     METH_FASTCALL, "As `CpuStream.resume`, with the address of a stream."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_cpu_text(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace tw::py
