// CUDA's device dialect on a processor: what a compiler of C++ needs before the text of our functions.
//
// A launch runs one block after the other. The threads of a block are fibers with stacks of their own; they give
// way at barriers and shuffles, and a schedule decides who goes on, so that the same launch in several schedules
// shows what depends on the order of threads. Functions whose threads never wait for each other are plain loops.
// Shared memory holds NaN at the start of each block. What no card would forgive is an error: threads at different
// barriers, a shuffle with a thread that is elsewhere or gone, a store past the end of a shared array.
#ifndef SIMT_SIMT_H
#define SIMT_SIMT_H
#include <climits>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <type_traits>
#include <utility>

#include "dialect.h"
#include "fiber.h"

#define SG_HOST 1
#define __global__
#define __device__
#define __host__
#define __constant__ const
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline
#define __launch_bounds__(...)

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
static uint3 blockIdx;  // no macro: a function may have a parameter of this name

namespace simt {

constexpr unsigned WARP = 32, WHOLE = 0xFFFFFFFF, MOST_THREADS = 1024;
constexpr size_t GIVEN = 227 << 10;  // of shared memory that a function may ask for, on an H200
constexpr size_t STACK = 64 << 10, SHARED = 48 << 10, GUARD = 64, MESSAGE = 512, MOST_COPIES = 256;
constexpr unsigned char UNSET = 0xFF;  // a byte of NaN

enum State : unsigned char { RUNS, AT_BARRIER, IN_WARP, DONE };

struct Copy { void* to; const void* from; unsigned size, zeros; };

struct Thread {
  uint3 index;              // threadIdx
  unsigned number, lane;    // in the block, in its warp
  State state = DONE;
  bool orders = false;      // the meeting in its warp orders memory
  bool vote = false;        // what it brings to a meeting where votes are counted
  unsigned mask = 0;        // whom it waits for, in its warp
  unsigned from = 0;        // the lane whose value it asks for
  unsigned votes = 0;       // the votes of the last meeting: a bit for each lane, or their number at a barrier
  const char* site = "";    // where it waits
  void* stack = nullptr;    // its stack pointer, while others run
  alignas(16) unsigned char brought[16], received[16];
  unsigned copies = 0, groups = 0;         // that it has asked for and not awaited
};

// Of each thread; apart from it, as most kernels copy nothing, and memory that nobody touches is none.
struct Copies {
  unsigned ends[MOST_COPIES];  // the copies before the end of each group
  Copy copy[MOST_COPIES];
};

struct SharedSite { unsigned launch = 0; unsigned char* start = nullptr; };

static Thread threads[MOST_THREADS];
static Copies copies_of[MOST_THREADS];
static Thread* thread = threads;  // the one that runs
static dim3 block_extents, grid_extents;
static unsigned count;            // threads of a block
static bool meets;                // they are fibers
static int schedule;
static unsigned launch_number;
static void* scheduler = first_stack();  // its stack pointer, while threads run
static bool backward;             // the order of lanes in this turn
static unsigned turn_end;         // the lane after the last of this turn, or the one before the first
static void (*body)(void* const*);
static void* const* arguments;
static unsigned argument_count;
static char message[MESSAGE];

SIMT_UNSEEN static void fail(const char* format, ...) {
  if (message[0]) return;  // the first one is the cause of the others
  va_list rest;
  va_start(rest, format);
  vsnprintf(message, MESSAGE, format, rest);
  va_end(rest);
}

alignas(256) static unsigned char shared_memory[GIVEN + 64 * GUARD];
static size_t shared_used, shared_declared;
static struct { size_t start, end; const char* name; } shared_arrays[64];
static unsigned shared_count;

// What is past the end of a shared array: a NaN that nobody computes.
static unsigned char guard_byte(size_t place) { return 0xFFFFA55Au >> place % 4 * 8; }

SIMT_UNSEEN static unsigned char* shared_place(SharedSite& site, size_t size, size_t alignment, const char* name, size_t most) {
  if (site.launch == launch_number) return site.start;
  const size_t start = (shared_used + alignment - 1) / alignment * alignment;
  shared_declared += size;
  if (shared_declared > most || shared_count == 64) {
    fail("%zu bytes of shared memory at `%s`: a function may declare at most %zu", shared_declared, name, most);
    site.start = static_cast<unsigned char*>(malloc(size));  // until all threads have stopped
  } else {
    shared_arrays[shared_count++] = {start, start + size, name};
    shared_used = start + size + GUARD;
    memset(shared_memory + start, UNSET, size);
    for (size_t i = 0; i < GUARD; i++) shared_memory[start + size + i] = guard_byte(i);
    site.start = shared_memory + start;
  }
  site.launch = launch_number;
  return site.start;
}

SIMT_UNSEEN static void clear_shared() {
  for (unsigned i = 0; i < shared_count; i++)
    memset(shared_memory + shared_arrays[i].start, UNSET, shared_arrays[i].end - shared_arrays[i].start);
}

SIMT_UNSEEN static void check_shared() {
  for (unsigned i = 0; i < shared_count; i++)
    for (size_t k = 0; k < GUARD; k++)
      if (shared_memory[shared_arrays[i].end + k] != guard_byte(k)) {
        fail("a store past the end of the shared array `%s`", shared_arrays[i].name);
        return;
      }
}

static char* stacks;
static unsigned fibers;  // threads that have one, at the start of the function

}  // namespace simt

#include "races.h"

namespace simt {

// The next lane of this turn that can go on, else the scheduler.
static void give_way() {
  Thread* me = thread;
  const int step = backward ? -1 : 1;
  for (unsigned next = me->number + step; next != turn_end; next += step)
    if (threads[next].state == RUNS) {
      thread = &threads[next];
      switch_stacks(&me->stack, thread->stack);
      return;
    }
  switch_stacks(&me->stack, scheduler);
}

static void fiber() {
  for (;;) {
    body(arguments);
    thread->state = DONE;
    give_way();
  }
}

static void make_fibers() {
  if (!stacks) {
    void* memory = mmap(nullptr, MOST_THREADS * STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) { fail("no memory for the stacks of %u threads", MOST_THREADS); return; }
    stacks = static_cast<char*>(memory);
  }
  for (unsigned i = fibers; i < count; i++) threads[i].stack = new_stack(stacks + (i + 1) * STACK, STACK, fiber);
  if (fibers < count) fibers = count;
}

static const char* whereabouts(const Thread& t, char* text) {
  const uint3 i = t.index;
  const char* does = t.state == AT_BARRIER ? "at the barrier" : t.state == IN_WARP ? "in its warp at" : "running";
  if (t.state == DONE) snprintf(text, 160, "thread (%u, %u, %u) has returned", i.x, i.y, i.z);
  else snprintf(text, 160, "thread (%u, %u, %u) waits %s %s", i.x, i.y, i.z, does, t.site);
  return text;
}

static void check_mask() {
  char mine[160];
  const Thread& t = *thread;
  const unsigned first = t.number - t.lane, lanes = count - first;
  if (!(t.mask >> t.lane & 1))
    fail("%s, but its mask 0x%08x leaves itself out", whereabouts(t, mine), t.mask);
  else if (lanes < WARP && t.mask >> lanes)
    fail("%s: its mask 0x%08x names lanes beyond the block's %u threads", whereabouts(t, mine), t.mask, count);
}

static void wait(State state, unsigned mask, const char* site) {
  if (!meets) {
    fail("threads meet at %s, in a function that says that they do not", site);
    return;
  }
  thread->state = state;
  thread->mask = mask;
  thread->site = site;
  if (state == IN_WARP) check_mask();
  give_way();
}

static uint64_t dice;
static unsigned roll(unsigned below) {
  dice = dice * 6364136223846793005u + 1442695040888963407u;
  return unsigned((dice >> 33) % below);
}

// Let the lanes of a warp go on whose meeting is complete.
static bool complete_warp(unsigned first, unsigned end) {
  if (message[0]) return false;
  bool released = false;
  char mine[160], other[160];
  for (unsigned i = first; i < end; i++) {
    Thread& t = threads[i];
    if (t.state != IN_WARP) continue;
    bool complete = true;
    for (unsigned j = first; j < end && complete; j++) {
      if (!(t.mask >> (j - first) & 1)) continue;
      const Thread& o = threads[j];
      if (o.state == DONE) {
        fail("%s, but %s", whereabouts(t, mine), whereabouts(o, other));
        return false;
      }
      complete = o.state == IN_WARP && o.mask == t.mask && (o.site == t.site || !strcmp(o.site, t.site));
    }
    if (!complete) continue;
    const unsigned mask = t.mask;
    unsigned votes = 0;
    for (unsigned j = first; j < end; j++)
      if (mask >> (j - first) & 1) votes |= unsigned(threads[j].vote) << (j - first);
    for (unsigned j = first; j < end; j++) {
      if (!(mask >> (j - first) & 1)) continue;
      Thread& o = threads[j];
      if (!(mask >> o.from & 1)) fail("%s, and reads lane %u, which its mask leaves out", whereabouts(o, mine), o.from);
      memcpy(o.received, threads[first + o.from].brought, 16);
      o.votes = votes;
      o.state = RUNS;
    }
    if (t.orders && mask == WHOLE >> (WARP - (end - first))) races_in_warp(first / WARP);
    released = true;
  }
  return released;
}

// A turn of a warp: each lane that can runs until it waits or returns. Whether any did, or may now.
static bool run_warp(unsigned warp) {
  const unsigned first = warp * WARP, end = first + WARP < count ? first + WARP : count;
  bool ran = false;
  if (schedule >= 4) backward = roll(2);
  turn_end = backward ? first - 1 : end;
  const int step = backward ? -1 : 1;
  for (unsigned i = backward ? end - 1 : first; i != turn_end; i += step)
    if (threads[i].state == RUNS) {
      ran = true;
      thread = &threads[i];
      switch_stacks(&scheduler, thread->stack);  // comes back when the whole turn is over
      break;
    }
  return complete_warp(first, end) || ran;
}

// All that are left wait at one barrier: let them go on. Whether any did.
static bool complete_barrier() {
  const Thread* at = nullptr;
  char one[160], other[160];
  unsigned votes = 0;
  for (unsigned i = 0; i < count; i++) {
    const Thread& t = threads[i];
    if (t.state == DONE) continue;
    if (t.state != AT_BARRIER) return false;
    if (!at) at = &t;
    else if (at->site != t.site && strcmp(at->site, t.site)) {
      fail("%s, but %s", whereabouts(*at, one), whereabouts(t, other));
      return false;
    }
    votes += t.vote;
  }
  races_at_barrier();
  for (unsigned i = 0; i < count; i++)
    if (threads[i].state == AT_BARRIER) {
      threads[i].state = RUNS;
      threads[i].votes = votes;
    }
  return at != nullptr;
}

static void report_deadlock() {
  char one[160], other[160];
  const Thread *in_warp = nullptr, *elsewhere = nullptr;
  for (unsigned i = 0; i < count; i++)
    if (!in_warp && threads[i].state == IN_WARP) in_warp = &threads[i];
  for (unsigned i = 0; in_warp && i < count; i++) {
    const Thread& t = threads[i];
    if (t.number / WARP == in_warp->number / WARP && in_warp->mask >> t.lane & 1)
      if (t.state != IN_WARP || t.mask != in_warp->mask || strcmp(t.site, in_warp->site)) elsewhere = &t;
  }
  if (elsewhere) fail("deadlock: %s, but %s", whereabouts(*in_warp, one), whereabouts(*elsewhere, other));
  else fail("deadlock: no thread can go on");
}

static void run_block() {
  unsigned warps = (count + WARP - 1) / WARP, order[MOST_THREADS / WARP];
  for (unsigned i = 0; i < count; i++) {
    threads[i].state = RUNS;
    threads[i].copies = threads[i].groups = 0;
  }
  for (unsigned w = 0; w < warps; w++) order[w] = schedule & 1 && schedule < 4 ? warps - 1 - w : w;
  backward = schedule & 1;
  for (;;) {
    bool ran = false, left = false;
    if (schedule >= 4)
      for (unsigned w = warps; w > 1; w--) {
        unsigned other = roll(w), kept = order[w - 1];
        order[w - 1] = order[other];
        order[other] = kept;
      }
    for (unsigned w = 0; w < warps && !message[0]; w++)
      while (run_warp(order[w])) {
        ran = true;
        const bool goes_on = schedule >= 4 ? roll(2) : schedule & 2;
        if (!goes_on || message[0]) break;
      }
    for (unsigned i = 0; i < count && !left; i++) left = threads[i].state != DONE;
    if (!left || message[0]) return;
    if (!complete_barrier() && !ran) report_deadlock();
  }
}

struct Launcher { void (*once)(void* const*); void (*all_of_block)(void* const*); unsigned parameters; };

template <auto function>
struct Entry;

// A pointer, or a size.
template <class P>
static P argument(void* given) {
  if constexpr (std::is_pointer_v<P>) return static_cast<P>(given);
  else return P(reinterpret_cast<intptr_t>(given));
}

template <class... P, void (*function)(P...)>
struct Entry<function> {
  template <size_t... I>
  static void call(void* const* given, std::index_sequence<I...>) {
    function(argument<P>(given[I])...);
  }
  static void once(void* const* given) { call(given, std::index_sequence_for<P...>()); }
  static void all_of_block(void* const* given) {
    for (unsigned i = 0; i < count; i++) {
      thread = &threads[schedule & 1 ? count - 1 - i : i];
      call(given, std::index_sequence_for<P...>());
    }
  }
  static constexpr Launcher launcher{once, all_of_block, sizeof...(P)};
};

SIMT_UNSEEN static const char* launch(const Launcher& what, const unsigned* grid, const unsigned* block, bool they_meet,
                          int order, void* const* given) {
  message[0] = 0;
  grid_extents = {grid[0], grid[1], grid[2]};
  block_extents = {block[0], block[1], block[2]};
  count = block[0] * block[1] * block[2];
  if (count == 0 || count > MOST_THREADS || block[2] > 64) {
    fail("a block of (%u, %u, %u) threads", block[0], block[1], block[2]);
    return message;
  }
  if (grid[0] == 0 || grid[0] > INT_MAX || grid[1] == 0 || grid[1] > 65535 || grid[2] == 0 || grid[2] > 65535) {
    fail("a grid of (%u, %u, %u) blocks", grid[0], grid[1], grid[2]);
    return message;
  }
  for (unsigned i = 0; i < count; i++) {
    Thread& t = threads[i];
    t.index = {i % block[0], i / block[0] % block[1], i / (block[0] * block[1])};
    t.number = i;
    t.lane = i % WARP;
  }
  meets = they_meet;
  schedule = order;
  dice = order;
  body = what.once;
  arguments = given;
  argument_count = what.parameters;
  launch_number++;
  races_begin();
  shared_used = shared_declared = shared_count = 0;
  if (meets) make_fibers();
  const uint64_t blocks = uint64_t(grid[0]) * grid[1] * grid[2];
  for (uint64_t k = 0; k < blocks && !message[0]; k++) {
    const uint64_t b = order & 1 ? blocks - 1 - k : k;
    blockIdx = {unsigned(b % grid[0]), unsigned(b / grid[0] % grid[1]), unsigned(b / grid[0] / grid[1])};
    races_next_block(b);
    if (k) clear_shared();
    if (meets) run_block();
    else what.all_of_block(given);
    check_shared();
    races_after_block();
  }
  if (!message[0]) return nullptr;
  fibers = 0;  // some are in the middle of the function
  return message;
}

template <class T> static T* shared_array(SharedSite& site, size_t n, const char* name, size_t most = SHARED) {
  return reinterpret_cast<T*>(shared_place(site, n * sizeof(T), alignof(T) > 16 ? alignof(T) : 16, name, most));
}

static inline void barrier(const char* site) { wait(AT_BARRIER, 0, site); }

static inline void meet_in_warp(unsigned mask, const char* site, bool orders = false) {
  thread->from = thread->lane;
  thread->orders = orders;
  wait(IN_WARP, mask, site);
}

static inline int count_at_barrier(bool vote, const char* site) {
  thread->vote = vote;
  wait(AT_BARRIER, 0, site);
  return int(thread->votes);
}

static inline unsigned ballot(unsigned mask, bool vote, const char* site) {
  thread->vote = vote;
  meet_in_warp(mask, site);
  return thread->votes;
}

// The value that lane `from` of the warp brings to this meeting.
template <class T>
static inline T exchange(unsigned mask, T value, unsigned from, const char* site) {
  static_assert(sizeof(T) <= 16, "a value of at most 16 bytes");
  memcpy(thread->brought, &value, sizeof(T));
  thread->from = from;
  thread->orders = false;
  wait(IN_WARP, mask, site);
  memcpy(&value, thread->received, sizeof(T));
  return value;
}

template <class T>
static inline T shuffle(unsigned mask, T v, unsigned from, unsigned width, const char* site) {
  const unsigned start = thread->lane & ~(width - 1);
  return exchange(mask, v, start + from % width, site);
}

template <class T>
static inline T shuffle_xor(unsigned mask, T v, unsigned with, unsigned width, const char* site) {
  const unsigned from = thread->lane ^ with, end = (thread->lane & ~(width - 1)) + width;
  return exchange(mask, v, from < end ? from : thread->lane, site);
}

template <class T>
static inline T shuffle_down(unsigned mask, T v, unsigned by, unsigned width, const char* site) {
  const unsigned from = thread->lane + by, end = (thread->lane & ~(width - 1)) + width;
  return exchange(mask, v, from < end ? from : thread->lane, site);
}

template <class T>
static inline T shuffle_up(unsigned mask, T v, unsigned by, unsigned width, const char* site) {
  const unsigned start = thread->lane & ~(width - 1);
  return exchange(mask, v, thread->lane >= start + by ? thread->lane - by : thread->lane, site);
}

// Copies to shared memory that a thread asks for: done when it awaits them, or at once in odd schedules.
SIMT_UNSEEN static void do_copy(const Copy& c) {
  races_copy(c.to, c.from, c.size, c.zeros);
  memcpy(c.to, c.from, c.size - c.zeros);
  memset(static_cast<char*>(c.to) + c.size - c.zeros, 0, c.zeros);
}

static inline void copy_later(void* to, const void* from, unsigned size, unsigned zeros) {
  Thread& t = *thread;
  if (size != 4 && size != 8 && size != 16) return fail("a copy of %u bytes: there are those of 4, 8 and 16", size);
  if (uintptr_t(to) % size || (zeros < size && uintptr_t(from) % size))
    return fail("a copy of %u bytes that does not begin at a multiple of them", size);
  const Copy c{to, from, size, zeros};
  if (schedule & 1) return do_copy(c);
  if (t.copies == MOST_COPIES) return fail("a thread has more than %zu copies on their way", MOST_COPIES);
  copies_of[t.number].copy[t.copies++] = c;
}

static inline void close_copies() {
  Thread& t = *thread;
  if (t.groups == MOST_COPIES) return fail("a thread has more than %zu groups of copies on their way", MOST_COPIES);
  copies_of[t.number].ends[t.groups++] = t.copies;
}

static inline void await_copies(unsigned but) {
  Thread& t = *thread;
  if (t.groups <= but) return;
  auto& [ends, copy] = copies_of[t.number];
  const unsigned groups = t.groups - but, done = ends[groups - 1];
  for (unsigned i = 0; i < done; i++) do_copy(copy[i]);
  memmove(copy, copy + done, (t.copies - done) * sizeof(Copy));
  for (unsigned i = 0; i < but; i++) ends[i] = ends[groups + i] - done;
  t.copies -= done;
  t.groups = but;
}

}  // namespace simt

#define __pipeline_memcpy_async(to, from, size, zeros) simt::copy_later((to), (from), (size), (zeros))
#define __pipeline_commit() simt::close_copies()
#define __pipeline_wait_prior(n) simt::await_copies(n)
#define threadIdx (simt::thread->index)
#define blockDim (simt::block_extents)
#define gridDim (simt::grid_extents)
#define warpSize 32
#define SIMT_HERE (__FILE__ ":" SIMT_TEXT(__LINE__))
#define SG_SHARED(type, name, n) \
  static simt::SharedSite name##_site; \
  type* const name = simt::shared_array<type>(name##_site, (n), #name)
#define SG_GIVEN(type, name, n, start) \
  static simt::SharedSite name##_site; \
  type* const name = simt::shared_array<type>(name##_site, (n), #name, simt::GIVEN)
#define __syncthreads() simt::barrier(SIMT_HERE)
#define __syncthreads_count(vote) simt::count_at_barrier((vote), SIMT_HERE)
#define __syncthreads_or(vote) (simt::count_at_barrier((vote), SIMT_HERE) != 0)
#define __syncthreads_and(vote) (simt::count_at_barrier(!(vote), SIMT_HERE) == 0)
#define SIMT_SYNCWARP(mask, ...) simt::meet_in_warp((mask), SIMT_HERE, true)
#define __syncwarp(...) SIMT_SYNCWARP(__VA_ARGS__ __VA_OPT__(,) 0xffffffffu, 0)
#define SIMT_FIRST(first, ...) (first)
#define SIMT_WIDTH(...) SIMT_FIRST(__VA_ARGS__ __VA_OPT__(,) 32, 0)
#define __shfl_sync(mask, v, from, ...) \
  simt::shuffle((mask), (v), unsigned(from), SIMT_WIDTH(__VA_ARGS__), SIMT_HERE)
#define __shfl_xor_sync(mask, v, with, ...) \
  simt::shuffle_xor((mask), (v), unsigned(with), SIMT_WIDTH(__VA_ARGS__), SIMT_HERE)
#define __shfl_down_sync(mask, v, by, ...) \
  simt::shuffle_down((mask), (v), unsigned(by), SIMT_WIDTH(__VA_ARGS__), SIMT_HERE)
#define __shfl_up_sync(mask, v, by, ...) \
  simt::shuffle_up((mask), (v), unsigned(by), SIMT_WIDTH(__VA_ARGS__), SIMT_HERE)
#define __ballot_sync(mask, vote) simt::ballot((mask), (vote), SIMT_HERE)
#define __any_sync(mask, vote) (simt::ballot((mask), (vote), SIMT_HERE) != 0)
#define __all_sync(mask, vote) (simt::ballot((mask), !(vote), SIMT_HERE) == 0)
#define __threadfence() ((void)0)
#define __threadfence_block() ((void)0)

#endif
