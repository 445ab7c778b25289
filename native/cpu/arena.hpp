// The scratch memory of a worker: it grows when more is asked for.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace tw::cpu {

// Scratch beyond this size is given back after the job, by every thread.
inline constexpr std::int64_t kKeptScratch = 8 << 20;
inline constexpr std::size_t kScratchAlignment = 64;

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { trim(0); }

  // Has so many bytes ready; false: there is not enough memory.
  bool reserve(std::int64_t bytes) {
    if (bytes <= bytes_) return true;
    trim(0);  // so that there are never both at a time
    if (posix_memalign(&memory_, kScratchAlignment, static_cast<std::size_t>(bytes)) != 0) {
      memory_ = nullptr;
      return false;
    }
    bytes_ = bytes;
    return true;
  }

  // Gives the memory back if it is larger than that.
  void trim(std::int64_t limit) {
    if (bytes_ <= limit) return;
    std::free(memory_);
    memory_ = nullptr;
    bytes_ = 0;
  }

  void* memory() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace tw::cpu
