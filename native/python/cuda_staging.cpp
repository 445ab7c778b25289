#include "python/cuda_staging.hpp"

#include <cstring>

#include "python/launch.hpp"
#include "python/memory.hpp"

namespace tw::py {

namespace {

// More is copied in pieces, so that the device copies one while the host reads the next: as
// devices/cuda/copying.py does.
constexpr int64_t kMostAtOnce = 16 << 20;

const RegionObject& region_in(PyObject* held, int64_t i) {
  return as<RegionObject>(PyTuple_GET_ITEM(held, i));
}

PyObject* device_of(const RegionObject& region) {
  return as<StorageObject>(region.storage).device;
}

}  // namespace

Ending StagedArrays::prepare(PyObject* pools, PyObject* held, PyObject* home) {
  if (!PyTuple_Check(pools) || PyTuple_GET_SIZE(pools) != 2) return Ending::kSlowPath;
  memory_ = Owned(PyList_New(0));
  if (!memory_) return Ending::kError;
  const int64_t count = PyTuple_GET_SIZE(held) - kBehindRegions;
  for (int64_t i = 0; i < count; ++i) {
    const RegionObject& region = region_in(held, i);
    if (device_of(region) == home) continue;
    const Extent& extent = region.base.extent;
    const int64_t bytes = extent.end - extent.start;
    if (bytes > kMostAtOnce) return Ending::kSlowPath;
    const Owned target = allocate_from(PyTuple_GET_ITEM(pools, 0), bytes);
    if (!target || PyList_Append(memory_.get(), target.get()) < 0) return Ending::kError;
    const Owned pinned = allocate_from(PyTuple_GET_ITEM(pools, 1), bytes);
    if (!pinned || PyList_Append(memory_.get(), pinned.get()) < 0) return Ending::kError;
    const int64_t start = address_of_memory(target.get());
    arrays_.push_back({i, start + region.record.address - extent.start, extent.start,
                       address_of_memory(pinned.get()), start, bytes});
  }
  return Ending::kDone;
}

void StagedArrays::set_addresses(const LaunchPlan& plan, cuda::Parameters& parameters) const {
  for (const Array& each : arrays_) {
    parameters.set(plan.tensor_places[each.tensor], each.address);
  }
}

cuda::Status StagedArrays::put(const cuda::Driver& driver, cuda::Context context,
                               cuda::Stream stream) const {
  for (const Array& each : arrays_) {
    std::memcpy(reinterpret_cast<void*>(each.pinned), reinterpret_cast<const void*>(each.source),
                static_cast<size_t>(each.bytes));
    const cuda::Status status =
        cuda::copy_in(driver, context, each.target, each.pinned, each.bytes, stream);
    if (status != cuda::kSuccess) return status;
  }
  return cuda::kSuccess;
}

}  // namespace tw::py
