// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/device_span.hpp>

namespace tutti::nn {

/// The message of a replica on a device, for strategies that sum it there, in streams of their own.
template <class Stream>
class device_message {
 public:
  /// @param owner has `follow(Stream&)`, which makes a stream wait for what has been computed so far, and
  ///        `precede(Stream&)`, which makes what is computed from now on wait for that stream; outlives this
  template <class Owner>
  device_message(device_span<float> numbers, Owner& owner) noexcept
      : numbers_(numbers),
        owner_(&owner),
        follow_([](void* at, Stream& s) { static_cast<Owner*>(at)->follow(s); }),
        precede_([](void* at, Stream& s) { static_cast<Owner*>(at)->precede(s); }) {}

  /// Gradients, and what is attached to them, in device memory.
  [[nodiscard]] device_span<float> numbers() const noexcept { return numbers_; }
  /// What is put into the stream from now on waits for what has been put into that of the computation so far.
  void follow(Stream& by) const { follow_(owner_, by); }
  /// What is computed from now on waits for what has been put into the stream so far.
  void precede(Stream& by) const { precede_(owner_, by); }

 private:
  device_span<float> numbers_;
  void* owner_;
  void (*follow_)(void*, Stream&);
  void (*precede_)(void*, Stream&);
};

}  // namespace tutti::nn
