// SPDX-License-Identifier: Apache-2.0
#pragma once

#if !defined(__CUDACC__)
#error "tutti/cuda/peers.hpp launches kernels: include it in a .cu file, which nvcc compiles"
#endif

#include <tutti/collective/communicator.hpp>
#include <tutti/cuda/detail/device/launcher.hpp>
#include <tutti/cuda/detail/device/peers.hpp>
#include <tutti/cuda/detail/device/wait.hpp>
#include <tutti/cuda/detail/runtime/driver.hpp>
#include <tutti/cuda/extend/stream.hpp>
#include <tutti/extend/transport.hpp>

#include <concepts>

namespace tutti::inline v0_1_0::cuda {

/// Ranks with a GPU each, or a share of one, whose kernels work in each other's memory. Host does all else: meeting,
/// faults, operations on host memory. Ranks are threads of one process (`loopback`), or processes of one host
/// (`shared_memory`).
///
///     auto const run = [](auto& world) {
///       tutti::allreduce sum{world, tutti::direct{}, tutti::sum<float>{}};
///       tutti::cuda::stream stream;
///       tutti::barrier{world, tutti::ring{}}();  // once, when memory and operators have been made
///       sum.enqueue(gradients, stream);      // in place; (input, output, stream) out of place
///       tutti::cuda::wait(world, stream);    // throws what other operations throw
///     };
///     tutti::spawn<tutti::cuda::peers<tutti::loopback>>(2, run);
///
/// Ranks take the devices in turns, or as `options::device` says; joining makes it the current device of its thread.
/// An operation is one kernel, in a stream, or in a graph that captures it: enqueueing it allocates nothing and waits
/// for nothing. The order of `enqueue` is the order of operations, also in different streams; a caller orders graphs
/// and what is put into streams beside them. Bits are those of the same operation on host memory.
///
/// A rank that is late, has left or calls something else is named in the error that `wait` throws, and later calls of
/// `enqueue`; so are the ranks of a fault of Host. `cuda::stream::wait` knows nothing of these.
///
/// Memory of an operation is the device's until it has run: allocations of cudaMalloc or cuda::array on the rank's
/// device; other memory is refused. In a world of several devices these reach each other's memory (peer access).
///
/// Processes map no memory of users: an operation copies it through a window of its rank, part by part. They may see
/// one GPU each (CUDA_VISIBLE_DEVICES). Processes on one GPU take turns on it, which is right, and slow. `spawn` forks,
/// so its caller has not called CUDA before. A rank whose process was killed is named like one that has left; kernels
/// that are under way then may still look at its window, until their host ends them.
///
/// Kernels of all ranks wait for each other, so all must run at the same time. Of ranks that share a GPU:
///   - streams do not wait for the default stream, and with more than 8 of them in all the environment has
///     CUDA_DEVICE_MAX_CONNECTIONS=32;
///   - memory is allocated and freed, operators and communicators are made, when no rank has operations under way (a
///     barrier of the host comes before the first one): CUDA may wait for all kernels;
///   - if there are several communicators, all ranks enqueue on them in the same order and in one stream, or their
///     groups (`options::groups`) fit the GPU together.
/// What breaks that ends by the deadline. Graphs are captured with cudaStreamCaptureModeThreadLocal, and end before
/// their world does. A rank that leaves waits for what it has enqueued, and ends it where `wait` would throw.
///
/// @pre at most 16 ranks, on one host
/// @pre no class in a reduction, or in its function, has a [[no_unique_address]] member: what comes behind an object of
///      such a class nvcc (13.0) puts at another offset in kernels than on the host
///
/// Cost: on the device, 1 MiB (`options::scratch_bytes`) and 200 bytes a rank for each of at most 64 blocks, of each
/// communicator, also those of `split` and `dup`. Processes: two descriptors more, and memory of a communicator that
/// has ended stays until all its ranks have left. Thread safety: one thread at a time; instances are independent.
template <transport Host>
  requires detail::device::meets_windows<Host, detail::runtime::driver>
using peers = detail::device::peers<Host, detail::runtime::driver>;

/// Blocks until all has run that is in the stream, as long as the communicator's deadline allows; what this rank has
/// started on host memory moves on meanwhile.
///
/// @pre the stream is not being captured
/// @throws error if an operation has failed that this rank has enqueued, on this stream or on another one: it names the
///         operation and the ranks. Operations that are enqueued later end at once, and `wait` throws again.
/// @throws cuda::error if something else in the stream has failed
///
/// Cost: it keeps a core busy, as cudaStreamSynchronize does.
/// Thread safety: that of the communicator.
template <class Communicator>
  requires std::same_as<typename Communicator::transport_type::stream_type, stream>
void wait(Communicator const& world, stream const& in) {
  detail::device::stream_wait(world, in).run();
}

}  // namespace tutti::cuda
