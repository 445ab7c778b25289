// The functions of the CUDA driver that launches and waits call, as a table: tests give another.
//
// Python finds their addresses (cuGetProcAddress gives each in the version that is asked for).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tw::cuda {

using Status = int;  // CUresult
inline constexpr Status kSuccess = 0;
inline constexpr Status kNotReady = 600;

// Handles of the driver's, none of which is looked into.
using Context = struct OpaqueContext*;
using Function = struct OpaqueFunction*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using GraphExec = struct OpaqueGraphExec*;

// Fields have the names by which the driver knows its functions.
struct Driver {
  Status (*cuCtxGetCurrent)(Context*);
  Status (*cuCtxPushCurrent)(Context);
  Status (*cuCtxPopCurrent)(Context*);
  Status (*cuLaunchKernel)(Function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                           unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                           Stream, void** parameters, void** extra);
  Status (*cuGraphLaunch)(GraphExec, Stream);
  Status (*cuEventRecord)(Event, Stream);
  Status (*cuEventQuery)(Event);
  Status (*cuStreamQuery)(Stream);
  Status (*cuStreamWaitEvent)(Stream, Event, unsigned flags);
  Status (*cuEventCreate)(Event*, unsigned flags);
  Status (*cuEventDestroy)(Event);
  Status (*cuMemcpyHtoDAsync)(uint64_t target, const void* source, size_t bytes, Stream);
};

// Where the table has a function of the driver.
struct DriverFunction {
  const char* name;
  size_t offset;
};

std::span<const DriverFunction> driver_functions();
void set_function(Driver& driver, const DriverFunction& which, void* address);

// Makes a context current for a scope, and leaves the thread as it was.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, Context context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  // Not kSuccess: the context is not current, so nothing may be called.
  Status status() const { return status_; }

 private:
  const Driver& driver_;
  Status status_;
  bool pushed_ = false;
};

// What a call of the driver gives that is made with a context current; or why that cannot be.
template <typename Call>
Status within(const Driver& driver, Context context, const Call& call) {
  const CurrentContext current(driver, context);
  return current.status() == kSuccess ? call() : current.status();
}

}  // namespace tw::cuda
