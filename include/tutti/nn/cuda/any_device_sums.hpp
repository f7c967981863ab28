// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/device_span.hpp>
#include <tutti/extend/types.hpp>

#include <memory>
#include <span>

namespace tutti::inline v0_1_0::nn {

/// `device_sums` of a world that is not known here: a unit without kernels, such as one with the trainer, uses what
/// another unit made. It refers to those sums, which outlive it.
template <class Stream>
class any_device_sums {
 public:
  /// What kernels are put into.
  using stream_type = Stream;

  /// Stands for these, which must outlive it.
  template <class Sums>
  explicit any_device_sums(Sums& sums) : held_(std::make_unique<holding<Sums>>(sums)) {}

  [[nodiscard]] rank_type rank() const { return held_->rank(); }
  /// The number of ranks.
  [[nodiscard]] rank_type size() const { return held_->size(); }
  /// Replaces the numbers, in host memory, by those of rank 0. Collective.
  void share(std::span<float> numbers) { held_->share(numbers); }
  /// Replaces the numbers, in host memory, by their sums over all ranks. Collective.
  void sum(std::span<float> numbers) { held_->sum(numbers); }
  /// Puts into the stream that these become their sums over all ranks. Collective.
  void enqueue(device_span<float> numbers, Stream& in) { held_->enqueue(numbers, in); }
  /// Waits until all has run that is in the stream.
  void wait(Stream& in) { held_->wait(in); }

 private:
  struct holder {
    holder() = default;
    holder(holder const&) = delete;
    holder& operator=(holder const&) = delete;
    virtual ~holder() = default;
    [[nodiscard]] virtual rank_type rank() const = 0;
    [[nodiscard]] virtual rank_type size() const = 0;
    virtual void share(std::span<float>) = 0;
    virtual void sum(std::span<float>) = 0;
    virtual void enqueue(device_span<float>, Stream&) = 0;
    virtual void wait(Stream&) = 0;
  };
  template <class Sums>
  struct holding final : holder {
    explicit holding(Sums& one) : inner(one) {}
    [[nodiscard]] rank_type rank() const override { return inner.rank(); }
    [[nodiscard]] rank_type size() const override { return inner.size(); }
    void share(std::span<float> numbers) override { inner.share(numbers); }
    void sum(std::span<float> numbers) override { inner.sum(numbers); }
    void enqueue(device_span<float> numbers, Stream& in) override { inner.enqueue(numbers, in); }
    void wait(Stream& in) override { inner.wait(in); }
    Sums& inner;
  };

  std::unique_ptr<holder> held_;
};

}  // namespace tutti::nn
