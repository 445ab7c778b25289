// Lets a helper leave the processor of the thread it helps.
//
// Schedulers wake a helper on the owner's own processor at times, in virtual machines even while
// another one idles. There it would wait, so the owner yields for a moment, and the helper moves.
#pragma once

#include <cstdint>

namespace tw::cpu {

// Where this thread runs; -1: that is not known.
std::int64_t current_processor();

// Runs this thread somewhere else, if that is allowed.
void leave_processor(std::int64_t processor);

}  // namespace tw::cpu
