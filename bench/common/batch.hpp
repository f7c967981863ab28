// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "expectation.hpp"
#include "meeting.hpp"
#include "pattern.hpp"
#include "record.hpp"
#include "work.hpp"

#include <algorithm>
#include <concepts>
#include <cstdlib>
#include <new>
#include <span>

namespace bench {

/// Vectors of a rank, input and output; in place they are one.
struct vectors {
  std::span<float> input;
  std::span<float> output;
};

/// One rank of a measured implementation.
///
/// `prepare(work, vectors, use)` prepares the operation, which is not timed, and calls `use(operate)`. There,
/// `operate()` performs it once. Throws, alike on every rank, if the contender cannot do this work.
template <class C>
concept contender = requires(C& c, C const& k, work const& w, vectors const& v) {
  { k.rank() } -> std::convertible_to<unsigned>;
  { k.size() } -> std::convertible_to<unsigned>;
  { C::ranks_are_threads } -> std::convertible_to<bool>;
  c.barrier();  // all ranks have finished earlier work
  c.prepare(w, v, [](auto&&) {});
  { c.messages() } -> std::convertible_to<std::int64_t>;  // sent since the start; negative: not counted
};

/// The memory of a rank's vectors: ordinary, and aligned alike for all contenders, unless the contender has memory of
/// its own to `take` and `give`.
template <class Contender>
class memory {
 public:
  explicit memory(Contender& contender) : contender_(&contender) {}
  memory(memory const&) = delete;
  memory& operator=(memory const&) = delete;
  ~memory() { give_back(); }

  std::span<float> floats(std::size_t count) {
    std::size_t const bytes = std::max((count * sizeof(float) + page - 1) / page, std::size_t{1}) * page;
    if (bytes > bytes_ || bytes < bytes_ / 2) {
      give_back();
      data_ = static_cast<float*>(take(bytes));
      if (data_ == nullptr) {
        throw std::bad_alloc();
      }
      bytes_ = bytes;
    }
    return {data_, count};
  }
  void give_back() noexcept {
    if (data_ != nullptr) {
      give(data_, bytes_);
    }
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  static constexpr std::size_t page = 4096;

  void* take(std::size_t bytes) {
    if constexpr (requires { contender_->take(bytes); }) {
      return contender_->take(bytes);
    } else {
      return std::aligned_alloc(page, bytes);
    }
  }
  void give(void* data, std::size_t bytes) noexcept {
    if constexpr (requires { contender_->give(data, bytes); }) {
      contender_->give(data, bytes);
    } else {
      std::free(data);
    }
  }

  Contender* contender_;
  float* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Runs batches on one rank. Contains the timed loop, which is the same code for all contenders.
template <contender Contender>
class batches {
 public:
  batches(Contender& contender, meeting& meet)
      : contender_(&contender), meet_(&meet), input_(contender), output_(contender), contribution_(contender.rank()) {}

  record run(work const& w) {
    vectors v;
    expectation const expected(w, contender_->rank(), contender_->size());
    v.output = output_.floats(expected.output_count());
    v.input = (w.input == inputs::rewritten && is_in_place(w.op)) || w.op == operation::broadcast
                  ? v.output
                  : input_.floats(expected.input_count());
    record r;
    contender_->prepare(w, v, [&](auto&& operate) { r = measure(w, v, expected, operate); });
    if (w.bytes * contender_->size() > kept_bytes) {  // leaves the memory to other contenders
      input_.give_back();
      output_.give_back();
    }
    return r;
  }

 private:
  static constexpr std::size_t kept_bytes = std::size_t{128} << 20;  ///< bytes of all ranks, kept between batches

  template <class Operate>
  record measure(work const& w, vectors const& v, expectation const& expected, Operate& operate) {
    record r{.rank = contender_->rank(), .iterations = w.iterations};
    bool const contributes = w.op != operation::broadcast || contender_->rank() == 0;
    bool const writes = w.input == inputs::rewritten && contributes;

    // Performs one checked operation, into memory that holds nothing of the result, and some more to warm up.
    std::fill(v.output.begin(), v.output.end(), -1.F);
    if (contributes) {
      contribution_.write(v.input, 0);
    }
    contender_->barrier();
    operate();
    if (!expected.is_met(v.output, 0)) {
      r.error = "the first result is wrong";
    }
    auto const step = [&](std::size_t turn) {
      if (writes) {
        contribution_.write(v.input, turn);
      }
    };
    for (std::size_t i = 1; i <= w.iterations / 8; ++i) {
      step(i);
      operate();
    }
    contender_->barrier();

    r.writing = time([&] {
      for (std::size_t i = 1; i <= w.iterations; ++i) {
        step(i);
        asm volatile("" : : "r"(v.input.data()) : "memory");
      }
    });
    std::int64_t const messages_before = contender_->messages();
    if (w.timing == pace::back_to_back) {
      r.loop = time([&] {
        for (std::size_t i = 1; i <= w.iterations; ++i) {
          step(i);
          operate();
        }
      });
    } else {
      r.loop = time([&] {
        for (std::size_t i = 1; i <= w.iterations; ++i) {
          step(i);
          contender_->barrier();
          meet_->wait();
          std::int64_t const begin = now();
          operate();
          r.operation_time += now() - begin;
        }
      });
    }
    std::int64_t const messages_after = contender_->messages();
    r.messages = messages_after < 0 ? -1 : messages_after - messages_before;
    contender_->barrier();
    if (r.error.empty() && !expected.is_met(v.output, w.input == inputs::rewritten ? w.iterations : 0)) {
      r.error = "the last result is wrong";
    }
    return r;
  }

  template <class Body>
  interval time(Body const& body) {
    interval i;
    meet_->wait();
    resource_usage const usage_before = resource_usage::total(Contender::ranks_are_threads);
    i.begin = now();
    body();
    i.end = now();
    i.usage = resource_usage::total(Contender::ranks_are_threads) - usage_before;
    return i;
  }

  Contender* contender_;
  meeting* meet_;
  memory<Contender> input_;
  memory<Contender> output_;
  pattern contribution_;
};

}  // namespace bench
