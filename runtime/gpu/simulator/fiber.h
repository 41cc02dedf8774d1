// Stacks of one thread of the processor that take turns: what is left continues where it was.
#ifndef SIMT_FIBER_H
#define SIMT_FIBER_H
#include <cstring>

#define SIMT_TEXT_(x) #x
#define SIMT_TEXT(x) SIMT_TEXT_(x)

#if defined(__x86_64__) && !defined(SIMT_UCONTEXT)

// Keep the registers that a function may not change on this stack, note where it ends, and take up another.
extern "C" void simt_switch(void** leave, void* enter);
asm(".text\n" SIMT_TEXT(__USER_LABEL_PREFIX__) "simt_switch:\n"
    "pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
    "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
    "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");

namespace simt {
static inline void switch_stacks(void** leave, void* enter) { simt_switch(leave, enter); }
static inline void* first_stack() { return nullptr; }
// A stack that begins with `start` when it is taken up. `end`: the address after it.
static void* new_stack(char* end, size_t, void (*start)()) {
  void** top = reinterpret_cast<void**>(end) - 2;
  *top = reinterpret_cast<void*>(start);  // where `ret` goes, with the stack as after a call
  for (int i = 0; i < 6; i++) *--top = nullptr;
  return top;
}
}  // namespace simt

#elif defined(__aarch64__) && !defined(SIMT_UCONTEXT)

extern "C" void simt_switch(void** leave, void* enter);
asm(".text\n" SIMT_TEXT(__USER_LABEL_PREFIX__) "simt_switch:\n"
    "sub sp, sp, #160\n"
    "stp x19, x20, [sp]\n stp x21, x22, [sp, #16]\n stp x23, x24, [sp, #32]\n stp x25, x26, [sp, #48]\n"
    "stp x27, x28, [sp, #64]\n stp x29, x30, [sp, #80]\n"
    "stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n stp d12, d13, [sp, #128]\n stp d14, d15, [sp, #144]\n"
    "mov x9, sp\n str x9, [x0]\n mov sp, x1\n"
    "ldp x19, x20, [sp]\n ldp x21, x22, [sp, #16]\n ldp x23, x24, [sp, #32]\n ldp x25, x26, [sp, #48]\n"
    "ldp x27, x28, [sp, #64]\n ldp x29, x30, [sp, #80]\n"
    "ldp d8, d9, [sp, #96]\n ldp d10, d11, [sp, #112]\n ldp d12, d13, [sp, #128]\n ldp d14, d15, [sp, #144]\n"
    "add sp, sp, #160\n ret\n");

namespace simt {
static inline void switch_stacks(void** leave, void* enter) { simt_switch(leave, enter); }
static inline void* first_stack() { return nullptr; }
static void* new_stack(char* end, size_t, void (*start)()) {
  void** top = reinterpret_cast<void**>(end) - 20;
  memset(top, 0, 160);
  top[11] = reinterpret_cast<void*>(start);  // the link register
  return top;
}
}  // namespace simt

#else  // any other processor: the system's own way, which is slower by two system calls

#include <ucontext.h>
namespace simt {
static inline void switch_stacks(void** leave, void* enter) {
  swapcontext(static_cast<ucontext_t*>(*leave), static_cast<ucontext_t*>(enter));
}
static inline void* first_stack() {
  static ucontext_t first;
  return &first;
}
static void* new_stack(char* end, size_t size, void (*start)()) {
  const size_t own = (sizeof(ucontext_t) + 63) / 64 * 64;  // the context itself is at the end
  ucontext_t* context = reinterpret_cast<ucontext_t*>(end - own);
  getcontext(context);
  context->uc_stack.ss_sp = end - size;
  context->uc_stack.ss_size = size - own;
  context->uc_link = nullptr;
  makecontext(context, start, 0);
  return context;
}
}  // namespace simt

#endif

#endif
