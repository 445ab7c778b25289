// Steps of running jobs, for the pool.
#pragma once

#include <cstdint>

#include "cpu/job.hpp"
#include "cpu/stream.hpp"

namespace tw::cpu {

// Runs blocks of a job, in increasing order, until none is left (kDone) or time is up
// (kUnfinished). Any number of threads at a time; each takes pieces by an atomic counter.
RunStatus run_blocks(Job& job, void* scratch, std::int64_t budget);

// Makes a node of a list as good as new.
void renew(Job& node);

// Lets the launch record of a list show the first failure of its nodes.
void keep_failure(Job& list, const Job& node, std::int64_t number);

// As `cancel`, for an entry of a stream that nobody runs; it may be a wait.
void cancel_entry(Job& entry);

}  // namespace tw::cpu
