// What loops of kernels call every few iterations, so that a block that lasts can be stopped.
//
// Between blocks Python looks for signals itself. Here that is done only where a block lasts, and
// handlers run in the middle of it: those that raise, as that of Ctrl-C does, cancel the launch.
#pragma once

#include <cstdint>

#include "cpu/job.hpp"

namespace tw::cpu {

// Runs the handlers of signals that have come, if this thread is the one that does so; whether one
// of them has raised an error, which stays set for whoever called native code.
using SignalCheck = bool (*)();

void set_signal_check(SignalCheck check);

// After how many iterations to call it again; 0: leave at once, the launch was cancelled.
std::int64_t poll(LaunchRecord* launch);

}  // namespace tw::cpu
