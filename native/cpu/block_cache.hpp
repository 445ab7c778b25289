// Blocks of memory that are unused, kept by size for the next allocation.
//
// What the system gives anew must be mapped page by page when it is first touched, which takes
// longer than most kernels; what is kept is there. Sizes are rounded up by an eighth at most, so
// that nearly equal ones share what is kept. Whoever calls holds the interpreter's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "core/records.hpp"

namespace tw::cpu {

struct Block {
  Object keeper;  // keeps the memory
  int64_t address;
  int64_t size;
  int64_t turn;  // the smaller, the longer it was not used
};

class BlockCache {
 public:
  static constexpr int64_t kAlignment = 64;

  // The size that is allocated for a size that is asked for: 8 steps to each power of two.
  static int64_t size_class(int64_t bytes);

  // Takes the block of a size that was used last. False: there is none.
  bool take(int64_t size, Block& found);
  // Counts a new block, which is in use.
  void add(int64_t size);
  // Keeps a block that is not used any more.
  void give_back(Block block);
  // Lets go of the block that was not used for longest. False: there is none.
  bool drop_oldest(Block& found);

  int64_t used() const { return used_; }
  int64_t unused() const { return unused_; }
  int64_t used_high() const { return used_high_; }
  int64_t reserved_high() const { return reserved_high_; }

 private:
  std::map<int64_t, std::deque<Block>> kept_;
  int64_t turn_ = 0;
  int64_t used_ = 0;
  int64_t unused_ = 0;
  int64_t used_high_ = 0;
  int64_t reserved_high_ = 0;
};

}  // namespace tw::cpu
