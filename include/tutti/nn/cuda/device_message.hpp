// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/device_span.hpp>

namespace tutti::inline v0_1_0::nn {

/// The message of a replica on a device, for strategies that sum it there.
template <class Stream>
class device_message {
 public:
  /// @param beside a stream of the same device
  /// @param owner has `follow()`, which makes that stream wait for what has been computed so far, and `precede()`,
  ///        which makes what is computed from now on wait for that stream; outlives this, as the stream does
  template <class Owner>
  device_message(device_span<float> numbers, Stream& beside, Owner& owner) noexcept
      : numbers_(numbers),
        stream_(&beside),
        owner_(&owner),
        follow_([](void* at) { static_cast<Owner*>(at)->follow(); }),
        precede_([](void* at) { static_cast<Owner*>(at)->precede(); }) {}

  /// Gradients, and what is attached to them, in device memory.
  [[nodiscard]] device_span<float> numbers() const noexcept { return numbers_; }
  /// For what is done with them beside the computation.
  [[nodiscard]] Stream& stream() const noexcept { return *stream_; }
  /// What is put into the stream from now on waits for what has been put into that of the computation so far.
  void follow() const { follow_(owner_); }
  /// What is computed from now on waits for what has been put into the stream so far.
  void precede() const { precede_(owner_); }

 private:
  device_span<float> numbers_;
  Stream* stream_;
  void* owner_;
  void (*follow_)(void*);
  void (*precede_)(void*);
};

}  // namespace tutti::nn
