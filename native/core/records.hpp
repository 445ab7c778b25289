// What the core knows of tensors, their memory and the work of streams, as structs of 64-bit words.
//
// Python makes these records and names their words in devices/native_records.py; the
// checks at the end hold the two together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tw {

// An object of Python's: the core passes it on, and never looks inside.
using Object = void*;

// The work of one stream that is known by its number; a stream passes it in the order of numbers.
// Some of it is *listed* in Python by number, of some Python knows no more than that it was
// submitted.
struct Timeline {
  int64_t issued;          // the number of the last one
  int64_t over;            // up to which number nobody needs to know of them any more
  int64_t unsubmitted;     // how many are about to be put on the stream
  int64_t submitted;       // how many were put there of which Python keeps no list
  int64_t first_listed;    // the first one that Python lists; 0: none
  int64_t first_unlisted;  // the first that is not listed and not known to be over; 0: none
  int64_t last_listed;     // the last that was given out to be listed
  void* queue;             // the stream itself: a cpu::Stream, or a cuda::Queue
  int64_t domain;          // streams of one domain can wait for each other; 0: Python sees to it
  int64_t last_unlisted;   // the last that was given out and is not listed
};

// Bytes that work uses, from `start` to before `end`, and how.
struct ByteUse {
  int64_t start;
  int64_t end;
  int64_t writes;  // 0: it reads them

  bool overlaps(const ByteUse& other) const { return start < other.end && other.start < end; }
  bool conflicts(const ByteUse& other) const {
    return (writes != 0 || other.writes != 0) && overlaps(other);
  }
  // Whether who comes after this need not know of the other one, which comes before this.
  bool covers(const ByteUse& other) const {
    return start <= other.start && other.end <= end && (writes != 0 || other.writes == 0);
  }
};

// A piece of work that uses memory: its timeline, and its number there.
struct Mark {
  Timeline* timeline;  // null: none
  int64_t number;
  ByteUse use;
};

// How many pieces of work that do not come after each other may use a piece of memory before Python
// must keep the account.
inline constexpr int kMarks = 8;

// Why a piece of memory cannot be judged by numbers alone, so that Python must: bits.
namespace slow_path {
inline constexpr int64_t kExclusive = 1;     // all of it is borrowed exclusively
inline constexpr int64_t kWriters = 2;       // parts of it are
inline constexpr int64_t kNeighbours = 4;    // it overlaps memory that is known by another name
inline constexpr int64_t kLeases = 8;        // others see it, so it must not be written
inline constexpr int64_t kUnwritten = 16;    // not all of it has been written
inline constexpr int64_t kNoMemory = 32;     // there is no memory
inline constexpr int64_t kPendingWork = 64;  // Python keeps an account of work that uses it
inline constexpr int64_t kReaders = 128;     // parts of it are borrowed for reading
inline constexpr int64_t kWriteLeases = 256;  // others may write it, so it must not be read
inline constexpr int64_t kAll = 511;
}  // namespace slow_path

// A piece of memory: who borrowed it, and the work under way that uses it.
struct StorageRecord {
  int64_t epoch;                   // how often it was borrowed exclusively: shared borrows stand
                                   // while it is the same
  int64_t slow_path;               // reasons; 0: there is none
  int64_t owner;                   // the exclusive borrow of all of it that stands; 0: none
  int64_t marked;                  // how many marks there are
  std::array<Mark, kMarks> marks;  // work that uses it; some may be over

  Mark* begin() { return marks.data(); }
  Mark* end() { return marks.data() + marked; }
  const Mark* begin() const { return marks.data(); }
  const Mark* end() const { return marks.data() + marked; }
};

// A tensor, as launches read it. It never changes.
struct TensorRecord {
  int64_t kind;     // equal for tensors of one layout on one device, aligned alike, and no others
  int64_t address;  // of its first element
  StorageRecord* storage;
  Object state;  // who may use the memory, as Python keeps it
  int64_t start;  // its bytes, or more
  int64_t end;
};

// The memory of work that is submitted again and again; each piece is all of its storage.
struct ReplayMemory {
  int64_t* row;  // as `TensorUses` takes it
  int64_t count;
  int64_t written;
  Object what;  // what is done to memory that is written, in words
};

// What binding the arguments of a kernel takes.
struct BindPlan {
  int64_t count;          // tensors,
  int64_t written;        // the first of which are written
  const int64_t* places;  // which arguments they are
  // Where their kinds are written: of all of them, then the tilings of those that are written.
  int64_t* found;
  const int64_t* kinds;   // those of the last launch
  Object known;           // what is known of launches of these kinds; null: nothing
  Object tensor_class;
  Object shared_class;     // of tensors with several owners
  Object partition_class;  // of what is written tile by tile,
  Object mapped_class;     // by whole rows of them,
  Object access_class;     // and as a whole
  int64_t arity;           // how many arguments there are
  Object what;             // what is done to memory that is written, in words
  Object what_is_read;     // and to memory that is read
  int64_t core_offset;     // of slots: where a shared tensor has what its owners share,
  int64_t inner_offset;    // and where that has the tensor
  const int64_t* whole;    // for each tensor that is written, whether it is so as a whole
  int64_t pointers;        // how many of those that are written, the last, are so by raw pointers
  Object pointer_class;
  int64_t pointer_offset;  // of the slot where a pointer has its memory

  // How many are written by borrows.
  int64_t outputs() const { return written - pointers; }
};

// A value that code was made for and that may have changed: a dictionary, a key and the value; a
// function that gives the value now, null and the value; or a function that the kernel calls, which
// of its attributes it is, and the value.
struct Watch {
  Object where;
  Object key;
  Object was;
};
// In place of a key: attributes of functions. No object lies at these addresses.
inline const Object kFunctionCode = reinterpret_cast<Object>(1);
inline const Object kFunctionDefaults = reinterpret_cast<Object>(2);
inline const Object kFunctionKeywordDefaults = reinterpret_cast<Object>(3);

// What all launches of one kernel over one grid have in common.
struct LaunchPlan {
  int64_t* record;      // parameters that are always the same; null: each launch has its own
  int64_t parameters;   // how many there are
  int64_t tensors;      // how many of them are addresses of tensors, and which
  const int64_t* tensor_places;
  int64_t numbers;      // how many are other numbers that differ, and which
  const int64_t* number_places;
  int64_t written;      // how many of the tensors are written: the first of them
  int64_t watched;      // how many values the code was made for that may have changed
  const Watch* watches;
  const void* driver;   // a table of functions of the device's driver; null: Python submits
  int64_t checks_numbers;  // not 0: the code may refuse numbers that it was not launched with yet
  int64_t report;       // which parameter says where the kernel reports; 0: it reports nothing
};

static_assert(sizeof(void*) == 8, "records are made of 64-bit words");

namespace layout {
constexpr bool is_word(size_t offset, size_t word) { return offset == 8 * word; }
}  // namespace layout

// As devices/native_records.py number them.
static_assert(sizeof(Timeline) == 10 * 8);
static_assert(layout::is_word(offsetof(Timeline, issued), 0));
static_assert(layout::is_word(offsetof(Timeline, over), 1));
static_assert(layout::is_word(offsetof(Timeline, unsubmitted), 2));
static_assert(layout::is_word(offsetof(Timeline, submitted), 3));
static_assert(layout::is_word(offsetof(Timeline, first_listed), 4));
static_assert(layout::is_word(offsetof(Timeline, first_unlisted), 5));
static_assert(layout::is_word(offsetof(Timeline, last_listed), 6));
static_assert(layout::is_word(offsetof(Timeline, queue), 7));
static_assert(layout::is_word(offsetof(Timeline, domain), 8));
static_assert(layout::is_word(offsetof(Timeline, last_unlisted), 9));
static_assert(sizeof(TensorRecord) == 6 * 8);
static_assert(sizeof(ReplayMemory) == 4 * 8);
static_assert(layout::is_word(offsetof(ReplayMemory, what), 3));
static_assert(sizeof(BindPlan) == 20 * 8);
static_assert(layout::is_word(offsetof(BindPlan, known), 5));
static_assert(layout::is_word(offsetof(BindPlan, whole), 16));
static_assert(layout::is_word(offsetof(BindPlan, pointer_offset), 19));
static_assert(sizeof(Watch) == 3 * 8);
static_assert(sizeof(LaunchPlan) == 12 * 8);
static_assert(layout::is_word(offsetof(LaunchPlan, watched), 7));
static_assert(layout::is_word(offsetof(LaunchPlan, driver), 9));
static_assert(layout::is_word(offsetof(LaunchPlan, checks_numbers), 10));
static_assert(layout::is_word(offsetof(LaunchPlan, report), 11));

}  // namespace tw
