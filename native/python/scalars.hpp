// Numbers given to kernels: which are accepted for a type, and their bits as parameters. What is
// not sure here is left to launch/scalars.py, which makes the tables that this reads.
#pragma once

#include "python/py.hpp"

namespace tw::py {

// Numbers that a parameter takes for certain.
struct NumberRange {
  enum Kind : int64_t { kUnsure, kBool, kInt, kUnsigned, kFloat };
  Kind kind;
  union {
    int64_t integer;
    uint64_t natural;
    double real;
  } low, high;
};

// A number for a parameter as Python takes it, a new reference. Null without an error: look closer.
PyObject* accept(const NumberRange& range, PyObject* given);

// How one of the numbers of a launch becomes a parameter.
struct NumberPacking {
  enum Format : int64_t { kOther, kWord, kHalf, kSingle, kDouble };
  int64_t which;
  Format format;
};

// How many numbers are packed here at most.
inline constexpr int64_t kMostPacked = 32;

// Makes words of so many numbers of a tuple, as bytes of `NumberPacking` say. False without an
// error: look closer.
bool pack(PyObject* packing, PyObject* numbers, int64_t count, int64_t* words);

}  // namespace tw::py
