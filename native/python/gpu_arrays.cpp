#include "python/gpu_arrays.hpp"

#include "core/timeline.hpp"
#include "python/array_memory.hpp"
#include "python/borrowing.hpp"
#include "python/cuda.hpp"
#include "python/exported.hpp"
#include "python/memory.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

PyObject* name_dlpack_device = nullptr;
PyObject* name_ordinal = nullptr;

// The stream that is meant where a library names none: as CU_STREAM_LEGACY.
void* const kLegacyStream = reinterpret_cast<void*>(1);

bool is_on_gpu(int32_t type) { return type == kGpu || type == kManagedGpu; }

// The stream that is likely to read the next array: where arrays are made ready, one stream need
// not wait for another.
struct Reader {
  const PyObject* stream = nullptr;  // to be compared alone: it may be gone
  Owned reference;                   // a weak one
  bool is_awaited = false;  // an array was made ready, and the launch that reads it comes next
};

Reader& reader() {
  static auto* kept = new Reader();  // not destroyed: Python is gone then
  return *kept;
}

// A stream on which others can wait, with its timeline. Not ok without an error: look closer.
struct Readied {
  Owned stream;
  StreamPoint point;

  explicit Readied(Owned found) : stream(std::move(found)) {
    if (stream && is_cuda_stream(stream.get())) point = point_of(stream.get());
  }

  bool ok() const { return point.ok() && point.timeline->domain != 0; }
};

// The stream for which an array of a device is made ready.
Readied readied_stream(PyObject* device) {
  Readied last(target_of(reader().reference.get()));
  if (last.ok() && device_of_cuda_stream(last.stream.get()) == device) return last;
  if (PyErr_Occurred()) return Readied(Owned());
  return Readied(call_python(array_classes.import_stream, {device}));
}

// None: whoever looks closer meets the error that is set, too. Null: it is an interrupt.
Owned look_closer_unless_interrupted() {
  return clear_unless_interrupted() ? Owned::borrowed(Py_None) : Owned();
}

// The number of a GPU in DLPack; below 0: an error is set.
int64_t ordinal_of(PyObject* device) {
  const Owned number(PyObject_GetAttr(device, name_ordinal));
  return number ? PyLong_AsLongLong(number.get()) : -1;
}

// Where an array says that it is; false: it does not, or an error is set.
bool find_device(PyObject* array, int32_t& type, int32_t& number) {
  if (!PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(array)), name_dlpack_device)) {
    return false;
  }
  const Owned told(out_of_turn(PyObject_CallMethodNoArgs, array, name_dlpack_device));
  return told && PyTuple_Check(told.get()) && PyArg_ParseTuple(told.get(), "ii", &type, &number);
}

// Notes that what another library does with memory comes before what is on a stream from now on:
// as if the stream wrote it now. False: there is no place for that, or an error is set.
bool note_on_stream(const RegionObject& region, Timeline& timeline) {
  const BorrowLock lock;
  StorageRecord& storage = *region.record.storage;
  if ((storage.slow_path & slow_path::kPendingWork) != 0 || storage.marked == kMarks) return false;
  const int64_t number = timeline.issued + 1;
  note(storage, {region.record.start, region.record.end, 1}, timeline, number, Waits());
  issue(timeline, number, false);
  submitted(timeline);
  ++timeline.submitted;
  return true;
}

// Exports an array by functions of C, and has a stream of ours wait for that on which its library
// works now. Nothing without an error: look closer.
Exported export_in_order(const ExchangeApi& api, PyObject* array, int64_t ordinal,
                         const Readied& ours) {
  Exported exported = export_by(api, array);
  if (exported.tensor == nullptr) return exported;
  const DLTensor& tensor = *exported.tensor;
  void* theirs = nullptr;
  if (tensor.device_type != kGpu || tensor.device_id != ordinal) return Exported();
  if (api.current_stream(tensor.device_type, tensor.device_id, &theirs) != 0) {
    clear_unless_interrupted();
    return Exported();
  }
  Timeline& timeline = *ours.point.timeline;
  const auto& driver = *driver_at(reinterpret_cast<const void*>(timeline.domain));
  auto& queue = *static_cast<cuda::Queue*>(timeline.queue);
  const auto stream = static_cast<cuda::Stream>(theirs == nullptr ? kLegacyStream : theirs);
  if (cuda::follow(driver, queue, stream) != cuda::kSuccess) return Exported();
  return exported;
}

// The same by `__dlpack__`, which is told of our stream.
Exported export_for(PyObject* array, int64_t ordinal, const Readied& ours) {
  int32_t type = 0, number = 0;
  const bool is_there = find_device(array, type, number) && is_on_gpu(type) && number == ordinal;
  if (!is_there || needs_gradient(array)) {
    clear_unless_interrupted();
    return Exported();
  }
  const Owned handle(PyLong_FromVoidPtr(ours.point.handle));
  return handle ? export_by_method(array, handle.get()) : Exported();
}

// The region of what was exported. None: look closer. Null: an error is set.
Owned region_of_export(Exported exported, PyObject* array, PyObject* device, int64_t ordinal,
                       Timeline& timeline) {
  ArrayDescription description;
  if (!is_on_gpu(exported.tensor->device_type) || exported.tensor->device_id != ordinal ||
      !describe(*exported.tensor, description)) {
    return Owned::borrowed(Py_None);
  }
  const int is_readonly = is_read_only(array, exported.versioned);
  if (is_readonly < 0) return Owned();
  description.is_readonly = is_readonly != 0;
  if (!makes_sense(description)) return Owned::borrowed(Py_None);
  const Owned owner = exported.owner();
  Owned region = owner ? region_of(description, device, owner.get()) : Owned();
  if (!region || region.get() == Py_None) return region;
  if (note_on_stream(as<RegionObject>(region.get()), timeline)) return region;
  return PyErr_Occurred() ? Owned() : Owned::borrowed(Py_None);
}

}  // namespace

Owned region_on_gpu(PyObject* array, PyObject* device) {
  const int64_t ordinal = ordinal_of(device);
  if (ordinal < 0) return look_closer_unless_interrupted();
  sweep_imports();
  const Readied ours = readied_stream(device);
  if (!ours.ok()) return PyErr_Occurred() ? Owned() : Owned::borrowed(Py_None);
  const int negated = is_negated(array);
  if (negated != 0) return negated > 0 ? Owned::borrowed(Py_None) : Owned();
  const ExchangeApi* api = exchange_api_of(array);
  Exported exported = api != nullptr ? export_in_order(*api, array, ordinal, ours)
                                     : export_for(array, ordinal, ours);
  if (exported.tensor == nullptr) return PyErr_Occurred() ? Owned() : Owned::borrowed(Py_None);
  reader().is_awaited = true;
  return region_of_export(std::move(exported), array, device, ordinal, *ours.point.timeline);
}

void note_reader(PyObject* stream) {
  Reader& last = reader();
  if (!last.is_awaited) return;
  last.is_awaited = false;
  if (last.stream == stream && is_alive(last.reference.get())) return;
  last.reference = Owned(PyWeakref_NewRef(stream, nullptr));
  last.stream = last.reference ? stream : nullptr;
  if (!last.reference) PyErr_Clear();  // there is no memory: the usual stream is as good
}

bool prepare_gpu_arrays() {
  name_dlpack_device = PyUnicode_InternFromString("__dlpack_device__");
  name_ordinal = PyUnicode_InternFromString("ordinal");
  return PyErr_Occurred() == nullptr;
}

}  // namespace tw::py
