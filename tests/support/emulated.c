/* Runs a native kernel of Tilewright, as base/cpu_abi.py says, on arguments read from the standard
   input; writes what it left to the standard output. For machines that are emulated. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRID = 0, PRINT_BUFFER = 14, PRINT_CAPACITY = 15, LOOK = 18, WORDS = 22, ALIGNMENT = 64 };

extern void tilewright_kernel(const int64_t* args, int64_t* launch, int64_t begin, int64_t end,
                              void* scratch);

static int64_t launch[WORDS];
static int64_t* args;
static int64_t blocks, scratch_bytes;
static _Atomic int64_t next_block;

static void* allocate(int64_t bytes) {
  int64_t rounded = (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
  void* memory = aligned_alloc(ALIGNMENT, (size_t)rounded);
  if (memory == NULL) exit(3);
  memset(memory, 0xAB, (size_t)rounded);
  return memory;
}

static void take(void* to, size_t bytes) {
  if (bytes > 0 && fread(to, bytes, 1, stdin) != 1) exit(2);
}

static int64_t number(void) {
  int64_t found;
  take(&found, sizeof found);
  return found;
}

static int64_t look(void* unused) {
  (void)unused;
  return INT64_C(1) << 40;
}

static void* work(void* unused) {
  void* scratch = allocate(scratch_bytes);
  for (int64_t b; (b = atomic_fetch_add(&next_block, 1)) < blocks;) {
    tilewright_kernel(args, launch, b, b + 1, scratch);
  }
  free(scratch);
  return unused;
}

int main(void) {
  const int64_t threads = number();
  blocks = number();
  scratch_bytes = number();
  const int64_t capacity = number();
  take(launch, sizeof launch);
  char* printed = allocate(capacity);
  launch[PRINT_BUFFER] = (int64_t)(intptr_t)printed;
  launch[PRINT_CAPACITY] = capacity;
  launch[LOOK] = (int64_t)(intptr_t)look;
  const int64_t pieces = number();
  char** memory = allocate(pieces * (int64_t)sizeof *memory);
  int64_t* lengths = allocate(pieces * (int64_t)sizeof *lengths);
  for (int64_t i = 0; i < pieces; ++i) {
    lengths[i] = number();
    memory[i] = allocate(lengths[i]);
    take(memory[i], (size_t)lengths[i]);
  }
  const int64_t slots = number();
  args = allocate(slots * (int64_t)sizeof *args);
  for (int64_t i = 0; i < slots; ++i) { /* a word, or an offset in a piece of memory */
    const int64_t piece = number();
    args[i] = number();
    if (piece >= 0) args[i] += (int64_t)(intptr_t)memory[piece];
  }
  pthread_t others[16];
  for (int64_t i = 1; i < threads; ++i) {
    if (pthread_create(&others[i], NULL, work, NULL) != 0) exit(4);
  }
  work(NULL);
  for (int64_t i = 1; i < threads; ++i) pthread_join(others[i], NULL);
  fwrite(launch, sizeof launch, 1, stdout);
  fwrite(printed, (size_t)capacity, 1, stdout);
  for (int64_t i = 0; i < pieces; ++i) fwrite(memory[i], (size_t)lengths[i], 1, stdout);
  return 0;
}
