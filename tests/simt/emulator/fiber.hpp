// Fibers: a stack each, switched by hand, with what the sanitizers must be told.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define MOTIFLUX_SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MOTIFLUX_SIMT_ASAN 1
#endif
#endif

#if defined(MOTIFLUX_SIMT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// Define MOTIFLUX_SIMT_UCONTEXT to have what other architectures get.
#if !defined(__x86_64__) && !defined(MOTIFLUX_SIMT_UCONTEXT)
#define MOTIFLUX_SIMT_UCONTEXT 1
#endif
#if defined(MOTIFLUX_SIMT_UCONTEXT)
#include <ucontext.h>
#endif

namespace motiflux_simt {

// A page without access lies below `base`, so that a fiber that runs out of stack is stopped there.
struct Stack {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

inline void poison(const Stack& stack) {
#if defined(MOTIFLUX_SIMT_ASAN)
  __asan_poison_memory_region(stack.base, stack.bytes);
#else
  static_cast<void>(stack);
#endif
}

inline void unpoison(const Stack& stack) {
#if defined(MOTIFLUX_SIMT_ASAN)
  __asan_unpoison_memory_region(stack.base, stack.bytes);
#else
  static_cast<void>(stack);
#endif
}

// Stacks of fibers that have ended, kept for the next blocks and launches. They stay poisoned meanwhile.
class StackPool {
 public:
  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool() {
    for (const Stack& stack : free_) unmap(stack);
  }

  Stack take(std::size_t bytes) {
    Stack stack;
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty() && free_.back().bytes == bytes) {
        stack = free_.back();
        free_.pop_back();
      }
    }
    if (stack.base == nullptr) stack = map(bytes);
    unpoison(stack);
    return stack;
  }

  void give(const Stack& stack) {
    poison(stack);
    const std::scoped_lock lock(mutex_);
    // Every stack takes two of the limited number of mappings that a process may have (65,530), and each
    // kernel that is loaded has a pool: with 1,024 stacks, thirty kernels had all of them.
    if (free_.size() < kKept && (free_.empty() || free_.back().bytes == stack.bytes)) {
      free_.push_back(stack);
    } else {
      unmap(stack);
    }
  }

  static void unmap(const Stack& stack) {
    unpoison(stack);
    munmap(stack.base - guard(), guard() + stack.bytes);
  }

 private:
  static constexpr std::size_t kKept = 256;

  static std::size_t guard() {
    static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
  }

  static Stack map(std::size_t bytes) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    void* const low = mmap(nullptr, guard() + bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (low == MAP_FAILED) throw std::bad_alloc();
    mprotect(low, guard(), PROT_NONE);
    return {static_cast<std::byte*>(low) + guard(), bytes};
  }

  std::mutex mutex_;
  std::vector<Stack> free_;
};

// Where a fiber, or the thread that runs them, goes on.
struct Context {
#if defined(MOTIFLUX_SIMT_UCONTEXT)
  ucontext_t machine;
#else
  void* stack_pointer = nullptr;
#endif
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* fake_stack = nullptr;
};

#if defined(MOTIFLUX_SIMT_UCONTEXT)

inline void prepare(Context& context, const Stack& stack, std::size_t, void (*entry)()) {
  getcontext(&context.machine);
  context.machine.uc_stack.ss_sp = stack.base;
  context.machine.uc_stack.ss_size = stack.bytes;
  context.machine.uc_link = nullptr;
  context.bottom = stack.base;
  context.bytes = stack.bytes;
  makecontext(&context.machine, entry, 0);
}

inline void switch_machine(Context& from, Context& to) {
  swapcontext(&from.machine, &to.machine);
}

#else

// Saves what the callee must keep by the System V ABI, and the place to return to, on the stack that is left.
__attribute__((naked, noinline)) static void switch_stacks(void** /*rdi: save*/, void* /*rsi: load*/) {
  __asm__(
      "pushq %rbp\n\t"
      "pushq %rbx\n\t"
      "pushq %r12\n\t"
      "pushq %r13\n\t"
      "pushq %r14\n\t"
      "pushq %r15\n\t"
      "movq %rsp, (%rdi)\n\t"
      "movq %rsi, %rsp\n\t"
      "popq %r15\n\t"
      "popq %r14\n\t"
      "popq %r13\n\t"
      "popq %r12\n\t"
      "popq %rbx\n\t"
      "popq %rbp\n\t"
      "ret");
}

// `color` shifts the top: with all stacks alike modulo the page, their hot ends would share a few cache sets.
inline void prepare(Context& context, const Stack& stack, std::size_t color, void (*entry)()) {
  std::byte* top = stack.base + stack.bytes - 64 * (1 + color * 7 % 61);
  // From below: six registers, the entry, and no return address for it; the ABI wants the stack 8 past 16
  // there.
  void* frame[8] = {};
  frame[6] = reinterpret_cast<void*>(entry);
  context.stack_pointer = std::memcpy(top - sizeof frame, frame, sizeof frame);
  context.bottom = stack.base;
  context.bytes = stack.bytes;
}

inline void switch_machine(Context& from, Context& to) {
  switch_stacks(&from.stack_pointer, to.stack_pointer);
}

#endif

// The first thing a fiber does, and the first after every switch. `came_from` gets its stack's bounds: only
// the sanitizer knows those of a thread's own stack.
inline void arrive([[maybe_unused]] Context& self, [[maybe_unused]] Context& came_from) {
#if defined(MOTIFLUX_SIMT_ASAN)
  __sanitizer_finish_switch_fiber(self.fake_stack, &came_from.bottom, &came_from.bytes);
#endif
}

inline void depart([[maybe_unused]] Context& self, [[maybe_unused]] Context& to,
                   [[maybe_unused]] bool forever) {
#if defined(MOTIFLUX_SIMT_ASAN)
  __sanitizer_start_switch_fiber(forever ? nullptr : &self.fake_stack, to.bottom, to.bytes);
#endif
}

// Calls a function that takes one structure by value, of which only the size is known.
//
// A structure of more than 16 bytes that is trivially copyable is passed in memory: x86-64 (System V) copies
// it to the stack, where the callee expects it right above the return address, aligned to 16 if it asks for
// no more; AArch64 passes the address of a copy in the first register.
#if defined(__x86_64__)
__attribute__((naked, noinline)) static void call_with_structure(void* /*rdi: function*/, const void* /*rsi*/,
                                                                 std::size_t /*rdx: bytes*/) {
  __asm__(
      "pushq %rbp\n\t"
      "movq %rsp, %rbp\n\t"
      "movq %rdi, %rax\n\t"
      "subq %rdx, %rsp\n\t"
      "andq $-16, %rsp\n\t"
      "movq %rsp, %rdi\n\t"
      "movq %rdx, %rcx\n\t"
      "rep movsb\n\t"
      "callq *%rax\n\t"
      "leave\n\t"
      "ret");
}
#elif defined(__aarch64__)
inline void call_with_structure(void* function, const void* structure, std::size_t bytes) {
  void* const copy = __builtin_alloca_with_align(bytes, 128);
  std::memcpy(copy, structure, bytes);
  reinterpret_cast<void (*)(void*)>(function)(copy);
}
#else
#error "how a structure is passed by value is known for x86-64 and AArch64 only"
#endif

}  // namespace motiflux_simt
