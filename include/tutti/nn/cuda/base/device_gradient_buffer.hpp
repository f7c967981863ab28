// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/device_span.hpp>

namespace tutti::inline v0_1_0::nn {

/// The gradient buffer of a replica on any kind of device.
class any_device_gradient_buffer {
 public:
  virtual ~any_device_gradient_buffer() = default;

  /// The gradient buffer with its stream, if that is of this type; else null.
  template <class Buffer>
  [[nodiscard]] Buffer const* get_if() const noexcept {
    return type() == &Buffer::tag ? static_cast<Buffer const*>(this) : nullptr;
  }

 protected:
  any_device_gradient_buffer() = default;
  /// Copies the address, not the numbers.
  any_device_gradient_buffer(any_device_gradient_buffer const&) = default;
  /// Copies the address, not the numbers.
  any_device_gradient_buffer& operator=(any_device_gradient_buffer const&) = default;

  /// Identifies the type of gradient buffer, for programs that are compiled without type information.
  [[nodiscard]] virtual void const* type() const noexcept = 0;
};

/// The gradient buffer of a replica on a device, for strategies that sum it there.
template <class Stream>
class device_gradient_buffer final : public any_device_gradient_buffer {
 public:
  /// @param stream a stream of the same device
  /// @param owner outlives this, as the stream does. Its `follow()` makes that stream wait for the computation so far,
  ///        its `precede()` makes later computation wait for that stream
  template <class Owner>
  device_gradient_buffer(device_span<float> numbers, Stream& stream, Owner& owner) noexcept
      : numbers_(numbers),
        stream_(&stream),
        owner_(&owner),
        follow_([](void* owner_address) { static_cast<Owner*>(owner_address)->follow(); }),
        precede_([](void* owner_address) { static_cast<Owner*>(owner_address)->precede(); }) {}

  /// The gradients, followed by the batch metrics, in device memory.
  [[nodiscard]] device_span<float> numbers() const noexcept { return numbers_; }
  /// The stream for work on them beside the computation.
  [[nodiscard]] Stream& stream() const noexcept { return *stream_; }
  /// Makes later work in the stream wait for all work in the computation's stream so far.
  void follow() const { follow_(owner_); }
  /// Makes later computation wait for all work in the stream so far.
  void precede() const { precede_(owner_); }

 private:
  friend any_device_gradient_buffer;
  static constexpr char tag = 0;  // its address identifies the type

  [[nodiscard]] void const* type() const noexcept override { return &tag; }

  device_span<float> numbers_;
  Stream* stream_;
  void* owner_;
  void (*follow_)(void*);
  void (*precede_)(void*);
};

}  // namespace tutti::nn
