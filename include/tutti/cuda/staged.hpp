// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/cuda/detail/device/staged.hpp>
#include <tutti/cuda/detail/device/staged_launcher.hpp>
#include <tutti/cuda/detail/device/staged_wait.hpp>
#include <tutti/cuda/detail/runtime/stager.hpp>
#include <tutti/cuda/extend/stream.hpp>
#include <tutti/extend/transport.hpp>

#include <concepts>

namespace tutti::inline v0_1_0::cuda {

/// Ranks with a GPU each, or a share of one, over any transport between hosts or processes. What an operation takes is
/// copied to pinned memory of the host, sent and combined there as Host does it, and copied back.
///
///     auto world = tutti::join<tutti::cuda::staged<tutti::tcp>>();
///     tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
///     tutti::cuda::stream stream;
///     sum.enqueue(gradients, stream);      // in place; (input, output, stream) out of place
///     tutti::cuda::wait(world, stream);    // throws what other operations throw
///
/// The stream is held by a word of memory until the operation has ended; no thread waits in it, and what is put behind
/// the operation runs on its result. Long vectors go through slots (`options::slot_bytes`, `options::slot_count`) part
/// by part: some are copied while others are sent. Bits are those of the same operation on host memory, without
/// segments.
///
/// **The host does the work, so it has to be called.** Operations move on in `cuda::wait`, in any other call that waits
/// or asks for progress on a communicator of the same thread, and in a `progress_thread`. If a program makes none of
/// these calls, its stream stays held, and `cudaStreamSynchronize`, `cudaDeviceSynchronize`, `cudaFree` (with it the
/// end of a cuda::array) and the end of a program wait for it in vain: call `wait` before.
///
/// An operation cannot be captured in a graph, for the host takes part in it: `enqueue` refuses such a stream with a
/// precondition_error. Operations on host memory may be used beside; the order of all calls is the order of operations.
/// Streams go on in the order of `enqueue`, also different ones.
///
/// A rank that is late, has left, or calls something else ends all operations: each stream goes on, device memory is
/// not written to any more, and `wait` and later calls of `enqueue` throw the error, which names ranks. A deadline
/// counts from when the stream has come to the operation, and the host looks after it.
///
/// An operator that goes waits until what it has enqueued has ended, or failed by its deadline, and until the streams
/// have gone past that. Streams that are held share the GPU's queues with others: with more than 8 of them the
/// environment has CUDA_DEVICE_MAX_CONNECTIONS=32.
///
/// Of ranks that share a GPU: memory is allocated and freed, operators and communicators are made, when no rank has
/// operations under way (a barrier of the host comes before the first one). CUDA may wait for streams that are held,
/// and a rank that waits in CUDA moves nothing on.
///
/// Ranks take the devices in turns, or as `options::device` says; joining makes it the current device of its thread.
///
/// @pre `options::slot_bytes` is the same on all ranks; a program that forks ranks (`spawn`) has not used CUDA before
///
/// Cost: `slot_count` times `slot_bytes` of pinned memory of the host: 8 MiB; two streams; two events for each
/// operation under way. Thread safety: one thread at a time; instances are independent.
template <transport Host>
  requires(!rests<Host>)
using staged = detail::device::staged<Host, detail::runtime::stager>;

/// Blocks until all has run that is in the stream, as long as the deadlines of what this rank has enqueued allow, and
/// moves that on, with all else that this thread has started.
///
/// @throws error if an operation has failed that this rank has enqueued, on this stream or on another one: it names the
///         operation and the ranks. Operations that are enqueued later throw, too, and `wait` throws again.
/// @throws cuda::error if something else in the stream has failed
///
/// Cost: it keeps a core busy, as cudaStreamSynchronize does.
/// Thread safety: that of the communicator.
template <class Communicator>
  requires std::same_as<typename Communicator::transport_type::stream_type, stream> &&
           stages_devices<typename Communicator::transport_type>
void wait(Communicator const& world, stream const& in) {
  detail::device::wait_for_staged(world, in);
}

}  // namespace tutti::cuda
