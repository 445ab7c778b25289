#include "cpu/block_cache.hpp"

#include <algorithm>
#include <bit>

namespace tw::cpu {

int64_t BlockCache::size_class(int64_t bytes) {
  if (bytes <= kAlignment) return kAlignment;
  const int bits = std::bit_width(static_cast<uint64_t>(bytes - 1));
  const int64_t step = std::max<int64_t>(kAlignment, bits > 4 ? int64_t{1} << (bits - 4) : 1);
  if (bytes > INT64_MAX - step) return INT64_MAX;  // nobody has as much
  return (bytes + step - 1) / step * step;
}

bool BlockCache::take(int64_t size, Block& found) {
  const auto known = kept_.find(size);
  if (known == kept_.end() || known->second.empty()) return false;
  found = known->second.back();
  known->second.pop_back();
  unused_ -= size;
  add(size);
  return true;
}

void BlockCache::add(int64_t size) {
  used_ += size;
  used_high_ = std::max(used_high_, used_);
  reserved_high_ = std::max(reserved_high_, used_ + unused_);
}

void BlockCache::give_back(Block block) {
  used_ -= block.size;
  unused_ += block.size;
  block.turn = ++turn_;
  kept_[block.size].push_back(block);
}

bool BlockCache::drop_oldest(Block& found) {
  std::deque<Block>* oldest = nullptr;
  for (auto& [size, kept] : kept_) {
    if (kept.empty()) continue;
    if (oldest == nullptr || kept.front().turn < oldest->front().turn) oldest = &kept;
  }
  if (oldest == nullptr) return false;
  found = oldest->front();
  oldest->pop_front();
  unused_ -= found.size;
  return true;
}

}  // namespace tw::cpu
