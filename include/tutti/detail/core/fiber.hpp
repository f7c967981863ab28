// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/progress_list.hpp>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <cxxabi.h>
#include <sys/mman.h>
#include <system_error>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define TUTTI_FIBER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TUTTI_FIBER_SANITIZED 1
#endif
#endif
#if defined(TUTTI_FIBER_SANITIZED)
#include <sanitizer/common_interface_defs.h>
#endif

// Itanium C++ ABI; libc++ has this function without declaring it.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1

namespace tutti::inline v0_1_0::detail::inline core {

/// A function with its own stack, which can suspend and resume. `resume` returns when the function suspends itself or
/// ends. Not thread-safe; always resumed by one thread.
///
/// The page below the stack is protected, so an overflow is a segmentation fault; only used pages take memory. A switch
/// costs two system calls, 0.3 us.
class fiber {
 public:
  /// Prepares `run(argument)`, which the first `resume` calls and which must not throw.
  /// @throws std::system_error if there is no memory
  fiber(std::size_t stack_bytes, void (*run)(void*), void* argument)
      : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        bytes_((stack_bytes + page_ - 1) / page_ * page_ + page_),
        memory_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        run_(run),
        argument_(argument) {
    if (memory_ == MAP_FAILED || ::mprotect(memory_, page_, PROT_NONE) != 0) {
      std::system_error const cause(errno, std::generic_category(), "no memory for the stack of a simulated rank");
      unmap();
      throw cause;
    }
    ::getcontext(&inner_context_);
    inner_context_.uc_stack.ss_sp = stack();
    inner_context_.uc_stack.ss_size = bytes_ - page_;
    inner_context_.uc_link = nullptr;
    auto const self = reinterpret_cast<std::uintptr_t>(this);
    ::makecontext(&inner_context_, reinterpret_cast<void (*)()>(&enter), 2, static_cast<unsigned>(self >> 32),
                  static_cast<unsigned>(self));
  }
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;
  /// @pre it has not begun, or has ended: objects on its stack are not destroyed
  ~fiber() { unmap(); }

  /// Runs the function until it suspends itself or ends. @pre !ended()
  void resume() {
    exceptions_.swap();
    progress_list* const outer = progress_list::exchange_current(&progress_list_);
    begin_switch(&outer_fake_stack_, stack(), bytes_ - page_);
    ::swapcontext(&outer_context_, &inner_context_);
    end_switch(outer_fake_stack_, nullptr, nullptr);
    progress_list::exchange_current(outer);
    exceptions_.swap();
  }

  /// Suspends the function that calls this; returns when it is resumed.
  void suspend() {
    begin_switch(&inner_fake_stack_, outer_stack_, outer_bytes_);
    ::swapcontext(&inner_context_, &outer_context_);
    end_switch(inner_fake_stack_, &outer_stack_, &outer_bytes_);
  }

  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }

 private:
  /// The C++ run-time's state of exceptions being handled. It belongs to the thread, so each fiber saves its own.
  class exceptions {
   public:
    void swap() noexcept {
      state active;
      void* const current = abi::__cxa_get_globals();
      std::memcpy(&active, current, sizeof active);
      std::memcpy(current, &saved_state_, sizeof saved_state_);
      saved_state_ = active;
    }

   private:
    struct state {  // layout of the Itanium C++ ABI
      void* caught = nullptr;
      unsigned uncaught = 0;
    };
    state saved_state_;
  };

  [[nodiscard]] char* stack() const noexcept { return static_cast<char*>(memory_) + page_; }
  void unmap() noexcept {
    if (memory_ != MAP_FAILED) {
      ::munmap(memory_, bytes_);
    }
  }

  static void enter(unsigned high, unsigned low) {
    auto* const self = reinterpret_cast<fiber*>(static_cast<std::uintptr_t>(high) << 32 | low);
    end_switch(nullptr, &self->outer_stack_, &self->outer_bytes_);
    self->run_(self->argument_);
    self->has_ended_ = true;
    begin_switch(nullptr, self->outer_stack_, self->outer_bytes_);
    ::setcontext(&self->outer_context_);
  }

  // The address sanitizer must know the stack in use.
  static void begin_switch([[maybe_unused]] void** fake, [[maybe_unused]] void const* stack,
                           [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(TUTTI_FIBER_SANITIZED)
    __sanitizer_start_switch_fiber(fake, stack, bytes);
#endif
  }
  static void end_switch([[maybe_unused]] void* fake, [[maybe_unused]] void const** stack,
                         [[maybe_unused]] std::size_t* bytes) noexcept {
#if defined(TUTTI_FIBER_SANITIZED)
    __sanitizer_finish_switch_fiber(fake, stack, bytes);
#endif
  }

  std::size_t page_;
  std::size_t bytes_;
  void* memory_;
  void (*run_)(void*);
  void* argument_;
  bool has_ended_ = false;
  ::ucontext_t inner_context_{};
  ::ucontext_t outer_context_{};
  exceptions exceptions_;
  progress_list progress_list_;  ///< progress list of operations that it started
  void* outer_fake_stack_ = nullptr;
  void* inner_fake_stack_ = nullptr;
  void const* outer_stack_ = nullptr;
  std::size_t outer_bytes_ = 0;
};

}  // namespace tutti::detail::core
