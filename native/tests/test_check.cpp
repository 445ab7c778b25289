// The checks that all other tests are made of: those that fail are counted, the others are not.
#include "check.hpp"

namespace {

// How many failures a function adds; they are taken back, since they are meant.
int failures_of(void (*run)()) {
  const int before = tw::test::failures;
  run();
  const int added = tw::test::failures - before;
  tw::test::failures = before;
  return added;
}

TW_TEST(what_holds_is_no_failure) {
  TW_CHECK(failures_of([] { TW_CHECK(1 + 1 == 2); }) == 0);
  TW_CHECK(failures_of([] { TW_EQUAL(1 + 1, 2); }) == 0);
}

TW_TEST(what_does_not_hold_is_one) {
  std::puts("two failures are meant:");
  TW_CHECK(failures_of([] { TW_CHECK(1 + 1 == 3); }) == 1);
  TW_CHECK(failures_of([] { TW_EQUAL(1 + 1, 3); }) == 1);
}

}  // namespace

TW_TEST_MAIN
