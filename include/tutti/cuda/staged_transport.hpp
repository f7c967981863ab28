// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/cuda/detail/device/staged_launcher.hpp>
#include <tutti/cuda/detail/device/staged_transport.hpp>
#include <tutti/cuda/detail/device/staged_wait.hpp>
#include <tutti/cuda/detail/runtime/stager.hpp>
#include <tutti/cuda/extend/stream.hpp>
#include <tutti/extend/transport.hpp>

#include <concepts>

namespace tutti::inline v0_1_0::cuda {

/// Ranks that have a GPU, or share one, over any transport between hosts or processes. The elements of an operation
/// are copied to pinned host memory, sent and combined there by Host, and copied back.
///
///     auto world = tutti::join<tutti::cuda::staged_transport<tutti::tcp>>();
///     tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
///     tutti::cuda::stream stream;
///     sum.enqueue(gradients, stream);      // in place; (input, output, stream) out of place
///     tutti::cuda::wait(world, stream);    // throws what other operations throw
///
/// A word of memory holds the stream until the operation has ended. No thread waits, and later work in the stream sees
/// the result. Long vectors pass through slots (`options::slot_bytes`, `options::slot_count`) part by part: some parts
/// are copied while others are sent. The bits are those of the same operation on host memory, without segments.
///
/// **The host does the work, so it has to be called.** Operations advance in `cuda::wait`, in any other call that
/// waits or asks for progress on a communicator of the same thread, and in a `progress_thread`. In a program without
/// these calls the stream stays held, and `cudaStreamSynchronize`, `cudaDeviceSynchronize`, `cudaFree` (with it the
/// destructor of a cuda::array) and the end of the program block forever: call `wait` before.
///
/// An operation cannot be captured in a graph, as the host takes part in it: `enqueue` refuses such a stream with a
/// precondition_error. Operations on host memory may run at the same time; the order of all calls is the order of
/// operations. Streams continue in the order of `enqueue`, even different ones.
///
/// A rank that is late, has left or calls something else ends all operations: each stream continues, device memory is
/// no longer written to, and `wait` and later calls of `enqueue` throw the error, which names ranks. The deadline
/// counts from the time when the host notices that the stream has reached the operation.
///
/// The destructor of an operator waits until its enqueued operations have ended, or failed by their deadline, and
/// until the streams have passed them. Held streams share the GPU's queues with others: with more than 8 of them, the
/// environment sets CUDA_DEVICE_MAX_CONNECTIONS=32.
///
/// For ranks that share a GPU: memory is allocated and freed, and operators and communicators are made, while no rank
/// has operations under way (use a barrier of the host before the first one). CUDA may wait for held streams, and a
/// rank that waits in CUDA makes no progress.
///
/// Ranks take the devices in turns, or as `options::device` says; joining makes a rank's device current in its thread.
///
/// @pre `options::slot_bytes` is equal on all ranks; a program that forks ranks (`spawn`) has not used CUDA before
///
/// Cost: `slot_count` times `slot_bytes` of pinned host memory, 8 MiB by default; two streams; two events per
/// operation under way.
/// Thread safety: one thread at a time; instances are independent.
template <transport Host>
  requires(!waits_for_work<Host>)
using staged_transport = detail::device::staged_transport<Host, detail::runtime::stager>;

/// Blocks until everything in the stream has run, or the deadlines of this rank's enqueued operations pass. Meanwhile
/// everything that this thread has started advances.
///
/// @throws error if an operation that this rank has enqueued on any stream has failed: names the operation and the
///         ranks. Later calls of `enqueue` and `wait` throw, too.
/// @throws cuda::error if something else in the stream has failed
///
/// Cost: keeps a core busy, like cudaStreamSynchronize.
/// Thread safety: that of the communicator.
template <class Communicator>
  requires std::same_as<typename Communicator::transport_type::stream_type, stream> &&
           stages_devices<typename Communicator::transport_type>
void wait(Communicator const& world, cuda::stream const& stream) {
  detail::device::wait_for_staged(world, stream);
}

}  // namespace tutti::cuda
