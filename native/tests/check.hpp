// A test framework of the size these tests need: named cases, checks that say what differs.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace tw::test {

struct Case {
  const char* name;
  void (*run)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Register {
  Register(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

inline int failures = 0;

inline int run_all() {
  for (const Case& each : cases()) {
    const int before = failures;
    each.run();
    std::printf("%s %s\n", failures == before ? "ok    " : "FAILED", each.name);
  }
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace tw::test

#define TW_TEST(name)                                              \
  static void name();                                              \
  static const tw::test::Register register_##name{#name, &(name)}; \
  static void name()

#define TW_CHECK(condition)                                                         \
  do {                                                                              \
    if (!(condition)) {                                                             \
      ++tw::test::failures;                                                         \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);  \
    }                                                                               \
  } while (false)

#define TW_EQUAL(got, expected)                                                          \
  do {                                                                                   \
    const auto tw_got = (got);                                                           \
    const auto tw_expected = (expected);                                                 \
    if (!(tw_got == tw_expected)) {                                                      \
      ++tw::test::failures;                                                              \
      std::cerr << __FILE__ << ":" << __LINE__ << ": " << #got << " is " << tw_got       \
                << ", expected " << tw_expected << "\n";                                 \
    }                                                                                    \
  } while (false)

#define TW_TEST_MAIN \
  int main() { return tw::test::run_all(); }
