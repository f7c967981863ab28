// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline communicator {

/// A function that is called once, when an operation has ended. One of up to three words is held without an allocation.
class end_function {
 public:
  end_function() = default;
  end_function(end_function const&) = delete;
  end_function& operator=(end_function const&) = delete;
  ~end_function() { drop(); }

  [[nodiscard]] explicit operator bool() const noexcept { return run_ != nullptr; }

  /// Takes over a function. @pre there is none. @throws std::bad_alloc if it is larger than three words
  template <class F>
  void set(F&& f) {
    using function = std::remove_cvref_t<F>;
    if constexpr (sizeof(function) <= sizeof storage_ && alignof(function) <= alignof(void*) &&
                  std::is_nothrow_move_constructible_v<function>) {
      ::new (static_cast<void*>(storage_)) function(std::forward<F>(f));
      run_ = [](void* storage, std::exception_ptr const* cause) noexcept {
        auto& source = *static_cast<function*>(storage);
        function call(std::move(source));  // may own the operation's request, and so end the storage
        source.~function();
        if (cause != nullptr) {
          call(*cause);
        }
      };
    } else {
      set([large = std::make_unique<function>(std::forward<F>(f))](std::exception_ptr const& cause) noexcept {
        (*large)(cause);
      });
    }
  }

  /// Calls the function, and destroys it. @pre there is one
  void operator()(std::exception_ptr const& cause) noexcept { std::exchange(run_, nullptr)(storage_, &cause); }
  /// Destroys the function, if there is one.
  void drop() noexcept {
    if (run_ != nullptr) {
      std::exchange(run_, nullptr)(storage_, nullptr);
    }
  }

 private:
  void (*run_)(void* storage,
               std::exception_ptr const* cause) noexcept = nullptr;  ///< a null cause: destroys it without a call
  alignas(void*) std::byte storage_[3 * sizeof(void*)];
};

}  // namespace tutti::detail::communicator
