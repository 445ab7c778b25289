#include "cuda/driver.hpp"

#include <cstring>

namespace tw::cuda {

namespace {

#define TW_DRIVER_FUNCTION(name) DriverFunction{#name, offsetof(Driver, name)}

constexpr DriverFunction kFunctions[] = {
    TW_DRIVER_FUNCTION(cuCtxGetCurrent), TW_DRIVER_FUNCTION(cuCtxPushCurrent),
    TW_DRIVER_FUNCTION(cuCtxPopCurrent), TW_DRIVER_FUNCTION(cuLaunchKernel),
    TW_DRIVER_FUNCTION(cuGraphLaunch),   TW_DRIVER_FUNCTION(cuEventRecord),
    TW_DRIVER_FUNCTION(cuEventQuery),    TW_DRIVER_FUNCTION(cuStreamQuery),
    TW_DRIVER_FUNCTION(cuStreamWaitEvent), TW_DRIVER_FUNCTION(cuEventCreate),
    TW_DRIVER_FUNCTION(cuEventDestroy), TW_DRIVER_FUNCTION(cuMemcpyHtoDAsync),
};

#undef TW_DRIVER_FUNCTION

static_assert(sizeof(Driver) == std::size(kFunctions) * sizeof(void*),
              "every function of the table can be set by its name");

}  // namespace

std::span<const DriverFunction> driver_functions() { return kFunctions; }

void set_function(Driver& driver, const DriverFunction& which, void* address) {
  std::memcpy(reinterpret_cast<char*>(&driver) + which.offset, &address, sizeof address);
}

CurrentContext::CurrentContext(const Driver& driver, Context context) : driver_(driver) {
  Context current = nullptr;
  status_ = driver.cuCtxGetCurrent(&current);
  if (status_ != kSuccess || current == context) return;
  status_ = driver.cuCtxPushCurrent(context);
  pushed_ = status_ == kSuccess;
}

CurrentContext::~CurrentContext() {
  Context popped = nullptr;
  if (pushed_) driver_.cuCtxPopCurrent(&popped);
}

}  // namespace tw::cuda
