// Data races of the threads of a launch, found by construction: no order of threads has to show them. Beside
// them, reads of shared memory that the block has not written, and accesses past the end of shared arrays; and
// if `simt_watch` says which bytes of memory a launch has, accesses of others, and reads of what nobody wrote.
//
// The compiler of the host calls a function before each load and store (-fsanitize=thread, without its library).
// Of each byte is kept who read it, wrote it, or changed it atomically of late. Two accesses race if one of
// them is a store, their threads differ, and neither a barrier nor a meeting of their whole warp lies between
// them: blocks wait for each other only at the end of a launch, and a shuffle does not order memory.
#ifndef SIMT_RACES_H
#define SIMT_RACES_H

namespace simt {

// Bytes that a launch may read, or also change; for each of them, if something was written there.
struct Extent { uintptr_t start, end; unsigned char* written; size_t changes; };

}  // namespace simt

#ifndef SIMT_RACES

namespace simt {
static inline void watch(const Extent*, size_t) {}
static inline void races_begin() {}
static inline void races_next_block(uint64_t) {}
static inline void races_after_block() {}
static inline void races_at_barrier() {}
static inline void races_in_warp(unsigned) {}
static inline void races_copy(const void*, const void*, unsigned, unsigned) {}
static inline void races_change(const void*, size_t) {}
}  // namespace simt

#else
#include <link.h>

namespace simt {

enum Access : unsigned { READ, CHANGE, WRITE };  // CHANGE is atomic

// The last ones, each by another thread than the first: one by another warp, and one by another block.
enum Rank : unsigned { LAST, OTHER_THREAD, OTHER_WARP, OTHER_BLOCK, RANKS };

// `code` is where in this library, and 0 if there was no access; `meetings` are those of the warp since the
// last barrier.
struct Past { unsigned code, block : 22, thread : 10, barriers, meetings; };
struct Place { Past reads[RANKS], changes[RANKS], write; };

constexpr size_t LINE = 16;  // bytes that are looked up together
// Places have `grain` bytes each: four, until bytes are accessed.
struct Line { uintptr_t address; uint64_t owner; size_t grain; Place* places; };

static Line** lines;  // a hash table whose places follow each other
static size_t room, used;
static unsigned now_block, now_barriers, meetings[MOST_THREADS / WARP];
static uintptr_t image_start, image_end, stack_end;
static char first_misuse[MESSAGE];  // of shared memory, in this launch
static const Extent* extents;
static size_t extent_count;

SIMT_UNSEEN static int find_image(dl_phdr_info* info, size_t, void*) {
  const uintptr_t here = reinterpret_cast<uintptr_t>(&lines);
  uintptr_t end = 0;
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, to = from + info->dlpi_phdr[i].p_memsz;
    inside = inside || (from <= here && here < to);
    end = to > end ? to : end;
  }
  if (inside) image_start = info->dlpi_addr, image_end = end;
  return inside;
}

SIMT_UNSEEN static void watch(const Extent* those, size_t count) {
  if (!image_end) dl_iterate_phdr(find_image, nullptr);
  extents = those, extent_count = count;
}

SIMT_UNSEEN static void races_begin() {
  if (!image_end) dl_iterate_phdr(find_image, nullptr);
  stack_end = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  first_misuse[0] = 0;
}

SIMT_UNSEEN static void races_at_barrier() {
  now_barriers++;
  memset(meetings, 0, sizeof meetings);
}

SIMT_UNSEEN static void races_next_block(uint64_t number) {
  now_block = unsigned(number);
  now_barriers = 0;
  memset(meetings, 0, sizeof meetings);
}

SIMT_UNSEEN static void races_in_warp(unsigned warp) { meetings[warp]++; }

SIMT_UNSEEN static Line** line_place(uintptr_t address) {
  size_t at = (address * 0x9E3779B97F4A7C15u) >> 20;
  while (lines[at & (room - 1)] && lines[at & (room - 1)]->address != address) at++;
  return &lines[at & (room - 1)];
}

SIMT_UNSEEN static Line* new_line(uintptr_t address) {
  if (2 * ++used > room) {
    Line** const before = lines;
    const size_t count = room;
    room = count ? 2 * count : 1 << 14;
    lines = static_cast<Line**>(calloc(room, sizeof(Line*)));
    for (size_t i = 0; i < count; i++)
      if (before[i]) *line_place(before[i]->address) = before[i];
    free(before);
  }
  Line* const made = static_cast<Line*>(calloc(1, sizeof(Line)));
  *made = {address, 0, 4, static_cast<Place*>(calloc(LINE / 4, sizeof(Place)))};
  return *line_place(address) = made;
}

SIMT_UNSEEN static void split(Line& line) {
  Place* const bytes = static_cast<Place*>(calloc(LINE, sizeof(Place)));
  for (size_t i = 0; i < LINE; i++) bytes[i] = line.places[i / 4];
  free(line.places);
  line.places = bytes;
  line.grain = 1;
}

// The line as its present owner knows it: a launch, or for shared memory a block of it.
SIMT_UNSEEN static Line& line_of(uintptr_t address, bool shared, bool whole) {
  const uint64_t owner = uint64_t(launch_number) << 32 | (shared ? now_block + 1 : 0);
  Line* line = room ? *line_place(address) : nullptr;
  if (!line) line = new_line(address);
  else if (line->owner != owner) memset(line->places, 0, LINE / line->grain * sizeof(Place));
  line->owner = owner;
  if (!whole && line->grain > 1) split(*line);
  return *line;
}

SIMT_UNSEEN static bool is_before(const Past& a, const Past& b) {
  if (a.block != b.block) return false;
  if (a.thread == b.thread || a.barriers < b.barriers) return true;
  return a.thread / WARP == b.thread / WARP && a.meetings < b.meetings;
}

SIMT_UNSEEN static const Past* unordered(const Past* past, unsigned count, const Past& now) {
  for (unsigned i = 0; i < count; i++)
    if (past[i].code && !is_before(past[i], now)) return &past[i];
  return nullptr;
}

SIMT_UNSEEN static void keep(Past* past, const Past& now) {
  const Past a = past[LAST];
  const bool other_block = a.block != now.block;
  if (a.code && other_block) past[OTHER_BLOCK] = a;
  if (a.code && (other_block || a.thread / WARP != now.thread / WARP)) past[OTHER_WARP] = a;
  if (a.code && (other_block || a.thread != now.thread)) past[OTHER_THREAD] = a;
  past[LAST] = now;
}

// What lies at an address, in words.
SIMT_UNSEEN static void describe_place(uintptr_t address, char* where, size_t room) {
  snprintf(where, room, "byte 0x%zx of no argument", size_t(address));
  const uintptr_t shared = address - reinterpret_cast<uintptr_t>(shared_memory);
  for (unsigned i = 0; i < shared_count; i++)
    if (shared >= shared_arrays[i].start && shared < shared_arrays[i].end)
      snprintf(where, room, "byte %zu of `%s`", size_t(shared - shared_arrays[i].start), shared_arrays[i].name);
  uintptr_t nearest = 0;
  for (unsigned i = 0; i < argument_count && shared >= sizeof shared_memory; i++) {
    const uintptr_t start = reinterpret_cast<uintptr_t>(arguments[i]);
    if (start > address || start < nearest) continue;
    nearest = start;
    snprintf(where, room, "byte %zu of argument %u", size_t(address - start), i);
  }
}

static const char* const does[] = {"reads", "changes", "writes"};

SIMT_UNSEEN static void describe_race(uintptr_t address, Access kind, const Past& past, const char* did, const Past& now) {
  char where[96];
  describe_place(address, where, sizeof where);
  fail("a race: thread %u of block %u %s %s at +0x%x, and thread %u of block %u %s it at +0x%x before: nothing orders them",
       now.thread, now.block, does[kind], where, now.code, past.thread, past.block, did, past.code);
}

// An access of memory that the launch does not have, or of what nobody has written.
SIMT_UNSEEN static void check_extent(uintptr_t first, size_t size, Access kind, const Past& now) {
  bool inside = false;
  for (size_t i = 0; i < extent_count; i++) {
    const Extent& e = extents[i];
    if (first < e.start || first + size > e.end || (kind != READ && !e.changes)) continue;
    inside = true;
    if (kind == WRITE) memset(e.written + (first - e.start), 1, size);
    if (!memchr(e.written + (first - e.start), 0, size)) return;
  }
  char where[96];
  describe_place(first, where, sizeof where);
  fail("thread %u of block %u %s %zu bytes from %s at +0x%x, %s", now.thread, now.block, does[kind], size, where,
       now.code, inside ? "where nobody has written" : kind == READ ? "which are not its own" : "which are not its own to change");
}

// The shared array with a byte; null between two of them.
SIMT_UNSEEN static const char* shared_array_at(size_t place) {
  for (unsigned i = 0; i < shared_count; i++)
    if (place >= shared_arrays[i].start && place < shared_arrays[i].end) return shared_arrays[i].name;
  return nullptr;
}

// An access of shared memory that is of no array, or of what the block has not written.
SIMT_UNSEEN static void note_misuse(uintptr_t address, Access kind, const Place& place, const Past& now) {
  const char* const name = shared_array_at(address - reinterpret_cast<uintptr_t>(shared_memory));
  const bool is_written = kind == WRITE || place.write.code || place.changes[LAST].code;
  if (first_misuse[0] || (name && is_written)) return;
  snprintf(first_misuse, MESSAGE, "thread %u of block %u %s %s%s%s at +0x%x%s", now.thread, now.block, does[kind],
           name ? "`" : "shared memory", name ? name : " of no array", name ? "`" : "", now.code,
           name ? ", where its block has not written" : "");
}

// A race is the better message: who writes too late has not written before.
SIMT_UNSEEN static void races_after_block() {
  if (first_misuse[0]) fail("%s", first_misuse);
}

SIMT_UNSEEN static bool is_of_fiber(uintptr_t address) {
  return stacks && address - reinterpret_cast<uintptr_t>(stacks) < MOST_THREADS * STACK;
}

SIMT_UNSEEN static bool is_shared(uintptr_t address) {
  return address - reinterpret_cast<uintptr_t>(shared_memory) < sizeof shared_memory;
}

// Whether memory is that of the kernel: not a stack, not its list of arguments, and not this library's own.
SIMT_UNSEEN static bool is_watched(uintptr_t address) {
  if (is_shared(address)) return true;
  if (address - reinterpret_cast<uintptr_t>(arguments) < argument_count * sizeof *arguments) return false;
  if (address >= image_start && address < image_end) return false;
  const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (is_of_fiber(address)) return false;
  return is_of_fiber(here) || address >= stack_end || address < here;
}

SIMT_UNSEEN static void look(const void* memory, size_t size, Access kind, void* code) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(memory);
  if (message[0] || !is_watched(first)) return;
  const unsigned number = thread->number, offset = unsigned(reinterpret_cast<uintptr_t>(code) - image_start);
  const Past now{offset, now_block, number, now_barriers, meetings[number / WARP]};
  if (extent_count && size && !is_shared(first)) check_extent(first, size, kind, now);
  for (uintptr_t address = first; address < first + size;) {
    Line& line = line_of(address / LINE, is_shared(address), (first | size) % 4 == 0);
    do {
      Place& place = line.places[address % LINE / line.grain];
      const Past* past = unordered(&place.write, 1, now);
      const char* did = "wrote";
      if (!past && kind != CHANGE) past = unordered(place.changes, RANKS, now), did = "changed";
      if (!past && kind != READ) past = unordered(place.reads, RANKS, now), did = "read";
      if (past) return describe_race(address, kind, *past, did, now);
      if (is_shared(address)) note_misuse(address, kind, place, now);
      if (kind == WRITE) place.write = now;
      else keep(kind == READ ? place.reads : place.changes, now);
      address += line.grain;
    } while (address % LINE && address < first + size);
  }
}

SIMT_UNSEEN static void races_copy(const void* to, const void* from, unsigned size, unsigned zeros) {
  look(from, size - zeros, READ, __builtin_return_address(0));
  look(to, size, WRITE, __builtin_return_address(0));
}

SIMT_UNSEEN static inline void races_change(const void* memory, size_t size) {
  look(memory, size, CHANGE, __builtin_return_address(0));
}

}  // namespace simt

#define SIMT_HOOK extern "C" __attribute__((visibility("hidden"), no_sanitize("thread"))) void
#define SIMT_SEES(name, size, kind) \
  SIMT_HOOK __tsan_##name(void* p) { simt::look(p, size, simt::kind, __builtin_return_address(0)); }
#define SIMT_SEES_BOTH(size) SIMT_SEES(read##size, size, READ) SIMT_SEES(write##size, size, WRITE)
#define SIMT_SEES_ALL(size) \
  SIMT_SEES_BOTH(size) SIMT_SEES(unaligned_read##size, size, READ) SIMT_SEES(unaligned_write##size, size, WRITE)
SIMT_SEES_BOTH(1) SIMT_SEES_ALL(2) SIMT_SEES_ALL(4) SIMT_SEES_ALL(8) SIMT_SEES_ALL(16)
SIMT_HOOK __tsan_read_range(void* p, size_t size) { simt::look(p, size, simt::READ, __builtin_return_address(0)); }
SIMT_HOOK __tsan_write_range(void* p, size_t size) { simt::look(p, size, simt::WRITE, __builtin_return_address(0)); }
SIMT_HOOK __tsan_vptr_update(void**, void*) {}
SIMT_HOOK __tsan_func_entry(void*) {}
SIMT_HOOK __tsan_func_exit(void*) {}
SIMT_HOOK __tsan_init() {}

#endif
#endif
