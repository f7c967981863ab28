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

/// Ranks that have a GPU, or share one, and whose kernels work in each other's memory. Host does everything else:
/// bootstrap, faults, operations on host memory. Ranks are threads of one process (`loopback`), or processes of one
/// host (`shared_memory`).
///
/// Ranks that share a GPU need their kernels to run at the same time, which CUDA does not promise: an operation can
/// then stand still until its deadline. Such ranks are for trying a program out; a rank with a GPU of its own needs no
/// promise.
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
/// Ranks take the devices in turns, or as `options::device` says; joining makes a rank's device current in its thread.
/// An operation is one kernel, in a stream or in a graph that captures it: `enqueue` allocates nothing and does not
/// block. The order of `enqueue` calls is the order of operations, even in different streams; the caller orders graphs
/// relative to other work. The bits are those of the same operation on host memory.
///
/// A rank that is late, has left or calls something else is named in the error that `wait` and later calls of
/// `enqueue` throw, as are the ranks of a fault of Host. `cuda::stream::wait` does not report them.
///
/// The device owns the memory of an operation until it has run. The memory is from cudaMalloc or cuda::array on the
/// rank's device; other memory is refused. In a world of several devices these need peer access.
///
/// Processes do not map users' memory: an operation copies it through a window of its rank, part by part. Each process
/// may see only one GPU (CUDA_VISIBLE_DEVICES). Processes on one GPU take turns on it, which is correct but slow.
/// `spawn` forks, so its caller must not have called CUDA before. A rank whose process was killed is reported like one
/// that has left; running kernels may still read its window until their host ends them.
///
/// Kernels of all ranks wait for each other, so all must run at the same time. For ranks that share a GPU this means:
/// - Streams do not wait for the default stream. With more than 8 of them in total, the environment sets
///   CUDA_DEVICE_MAX_CONNECTIONS=32.
/// - Memory is allocated and freed, and operators and communicators are made, while no rank has operations under way
///   (use a barrier of the host before the first one): CUDA may wait for all kernels.
/// - With several communicators, all ranks enqueue on them in the same order and in one stream, or the groups of all
///   (`options::groups`) fit the GPU together.
///
/// A violation ends at the deadline. Graphs are captured with cudaStreamCaptureModeThreadLocal, and end before their
/// world. A rank that leaves waits for its enqueued operations, and ends them where `wait` would throw.
///
/// @pre at most 16 ranks, on one host
/// @pre no class in a reduction, or in its function, has a [[no_unique_address]] member: nvcc (13.0) places members
///      after an object of such a class at another offset in kernels than on the host
///
/// Cost: on the device 1 MiB (`options::scratch_bytes`), and 200 bytes per rank, for each of at most 64 thread groups
/// of each communicator, also of those of `split` and `dup`. Processes: two more descriptors, and the memory of a
/// communicator that has ended stays until all its ranks have left. Thread safety: one thread at a time; instances are
/// independent.
template <transport Host>
  requires detail::device::meets_windows<Host, detail::runtime::driver>
using peers = detail::device::peers<Host, detail::runtime::driver>;

/// Blocks until everything in the stream has run, or the communicator's deadline passes. Meanwhile the operations that
/// this rank has started on host memory advance.
///
/// @pre the stream is not being captured
/// @throws error if an operation that this rank has enqueued on any stream has failed: names the operation and the
///         ranks. Later operations end at once, and `wait` throws again.
/// @throws cuda::error if something else in the stream has failed
///
/// Cost: keeps a core busy, like cudaStreamSynchronize.
/// Thread safety: that of the communicator.
template <class Communicator>
  requires std::same_as<typename Communicator::transport_type::stream_type, stream>
void wait(Communicator const& world, cuda::stream const& stream) {
  detail::device::stream_wait(world, stream).run();
}

}  // namespace tutti::cuda
