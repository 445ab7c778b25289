// Borrows of parts, first writes, and replays: who may begin, and what is borrowed then.
#include "core/borrow.hpp"

#include "tests/borrow_support.hpp"
#include "tests/check.hpp"

using namespace tw;

namespace {

TW_TEST(borrows_of_parts_stand_until_they_have_ended) {
  Memory memory(slow_path::kWriters | slow_path::kExclusive);
  Borrow borrow{};
  Timeline timeline{};
  Row row({&memory}, 1);
  row.uses.epoch(0) = kByTicket;
  row.uses.owner(0) = reinterpret_cast<int64_t>(&borrow);
  ++memory.storage.epoch;  // another part was written
  TW_EQUAL(reserve(row.uses, timeline), 1);
  borrow.has_ended = true;
  TW_EQUAL(reserve(row.uses, timeline), kSlowPath);
}

TW_TEST(what_borrows_of_parts_do_not_stand) {
  for (const int64_t reason : {slow_path::kNeighbours, slow_path::kLeases, slow_path::kNoMemory,
                               slow_path::kUnwritten}) {
    Memory memory(slow_path::kWriters | reason);
    Borrow borrow{};
    Timeline timeline{};
    Row row({&memory}, 1);
    row.uses.epoch(0) = kByTicket;
    row.uses.owner(0) = reinterpret_cast<int64_t>(&borrow);
    TW_EQUAL(reserve(row.uses, timeline), kSlowPath);
    memory.storage.slow_path &= ~reason;
    TW_EQUAL(reserve(row.uses, timeline), 1);
  }
}

TW_TEST(what_was_written_first_is_marked) {
  Memory one(slow_path::kUnwritten), two(slow_path::kUnwritten | slow_path::kReaders),
      read(slow_path::kUnwritten);
  mark_written(Row({&one, &two, &read}, 2).uses);
  TW_EQUAL(one.storage.slow_path, 0);
  TW_EQUAL(two.storage.slow_path, slow_path::kReaders);
  TW_EQUAL(read.storage.slow_path, slow_path::kUnwritten);
}

TW_TEST(replays_that_wait_borrow_again) {
  Timeline other = busy(), own{};
  other.domain = own.domain = 1;
  Memory written, read;
  written.note_work(other, 5, true);
  const Row row({&written, &read}, 1);
  Waits waits;
  TW_EQUAL(reborrow(row.uses, own, waits), 1);
  TW_CHECK(waits.contains(&other));
  TW_EQUAL(written.storage.epoch, 4);
  TW_EQUAL(row.uses.epoch(0), 4);
  TW_EQUAL(read.storage.epoch, 3);
  Memory leased(slow_path::kLeases);
  Waits none;
  TW_EQUAL(reborrow(Row({&leased}, 1).uses, own, none), kSlowPath);
  TW_EQUAL(leased.storage.epoch, 3);
  TW_EQUAL(own.issued, 1);
}

TW_TEST(a_tensor_may_be_read_twice) {
  Memory memory(slow_path::kExclusive), other;
  const Row row({&other, &memory, &memory}, 1);
  TW_CHECK(may_borrow(row.uses, 1) == Borrowable::kOnceExclusiveEnds);
  TW_CHECK(may_borrow(row.uses, 2) == Borrowable::kOnceExclusiveEnds);
  Row pointed({&memory, &memory}, 1);
  pointed.uses.epoch(0) = kByPointer;
  TW_CHECK(may_borrow(pointed.uses, 1) == Borrowable::kOnceExclusiveEnds);
}

TW_TEST(borrows_stand_whatever_work_is_under_way) {
  Memory one, other(slow_path::kPendingWork);
  Timeline timeline = tw::busy();
  one.note_work(timeline, 5, true);
  TW_CHECK(stand(Row({&one, &other}, 1).uses, 0));
  for (const int64_t reason : {slow_path::kLeases, slow_path::kNeighbours, slow_path::kNoMemory}) {
    Memory written(reason);
    const Row row({&written, &other}, 1);
    TW_CHECK(!stand(row.uses, 0));
    TW_EQUAL(stand(row.uses, kExamined), reason != slow_path::kNoMemory);
  }
  const Row ended({&other, &one}, 1);
  ++one.storage.epoch;
  TW_CHECK(!stand(ended.uses, kExamined));
}

}  // namespace

TW_TEST_MAIN
