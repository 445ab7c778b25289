// Tells a child process from its parent.
#pragma once

#include <cstdint>

namespace tw::cpu {

// How many times this process, or one it comes from, was forked to become what it is; other in a
// child from its first instruction on, before any handler of Python has run.
std::int64_t fork_count();

}  // namespace tw::cpu
