#include "cpu/processor.hpp"

#ifdef __linux__
#include <sched.h>
#endif

namespace tw::cpu {

#ifdef __linux__

std::int64_t current_processor() { return sched_getcpu(); }

void leave_processor(std::int64_t processor) {
  if (processor < 0 || processor >= CPU_SETSIZE) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<int>(processor), &others);
  // Fails where no other processor is allowed, which changes nothing.
  sched_setaffinity(0, sizeof others, &others);
  sched_setaffinity(0, sizeof allowed, &allowed);
}

#else

std::int64_t current_processor() { return -1; }

void leave_processor(std::int64_t) {}

#endif

}  // namespace tw::cpu
