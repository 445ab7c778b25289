#include "core/timeline.hpp"

#include <algorithm>

namespace tw {

void issue(Timeline& timeline, int64_t number, bool listed) {
  timeline.issued = number;
  ++timeline.unsubmitted;
  int64_t& first = listed ? timeline.first_listed : timeline.first_unlisted;
  if (first == 0) first = number;
  if (listed) timeline.last_listed = number;
}

void pass(Timeline& timeline, int64_t number) {
  // None is under way, or none of these: somebody was told sooner of later work.
  if (timeline.first_unlisted == 0 || timeline.first_unlisted > number) return;
  timeline.first_unlisted = number >= timeline.issued ? 0 : number + 1;
  reap(timeline);
}

int64_t reap(Timeline& timeline) {
  const int64_t behind_all = timeline.issued + 1;
  const auto or_behind_all = [&](int64_t first) { return first == 0 ? behind_all : first; };
  const int64_t first_under_way =
      std::min(or_behind_all(timeline.first_listed), or_behind_all(timeline.first_unlisted));
  timeline.over = first_under_way - 1;
  return timeline.over;
}

bool is_ordered(const Mark& mark, const Timeline& timeline) {
  if (mark.timeline == nullptr || mark.timeline->over >= mark.number) return true;
  return mark.timeline == &timeline && timeline.unsubmitted == 0;
}

bool reads_are_ordered(const StorageRecord& storage, const Timeline& timeline) {
  return std::ranges::all_of(storage.reads,
                             [&](const Mark& read) { return is_ordered(read, timeline); });
}

Mark* read_place(StorageRecord& storage, const Timeline& timeline) {
  Mark* free = nullptr;
  for (Mark& read : storage.reads) {
    if (!is_ordered(read, timeline)) continue;
    if (read.timeline == &timeline) return &read;
    free = &read;
  }
  return free;
}

void note(StorageRecord& storage, bool writes, Timeline& timeline, int64_t number) {
  Mark* place = writes ? &storage.write : read_place(storage, timeline);
  // There was a place for it. If there is none, the same launch has it: it reads this twice.
  if (place != nullptr) *place = Mark{&timeline, number};
}

}  // namespace tw
