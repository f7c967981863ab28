// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/driver.hpp>
#include <tutti/cuda/detail/device/kernels.hpp>
#include <tutti/cuda/detail/runtime/block.hpp>
#include <tutti/cuda/detail/runtime/current_device.hpp>
#include <tutti/cuda/detail/runtime/memory_handle.hpp>
#include <tutti/cuda/detail/runtime/unused_memory.hpp>
#include <tutti/cuda/extend/devices.hpp>
#include <tutti/cuda/extend/error.hpp>
#include <tutti/cuda/extend/stream.hpp>
#include <tutti/extend/expects.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::runtime {

/// Threads per block. With the registers of these kernels, one block fits a multiprocessor, whichever kernel it runs.
inline constexpr std::uint32_t block_threads = 512;

/// The CUDA kernel that runs one of tutti's kernels.
template <class Kernel>
__global__ void __launch_bounds__(block_threads, 1)
    run_groups(Kernel const __grid_constant__ kernel, std::uint64_t const limit) {
  block const threads(limit);
  device::run_group(threads, kernel, blockIdx.x);
}

/// Orders launches one after the other, even in different streams.
class launch_order {
 public:
  /// The place of a launch: a capture, or 0, and the id of a stream, which is never reused; 0 in a capture.
  struct place {
    unsigned long long capture = 0;
    unsigned long long stream = 0;
  };

  launch_order() {
    examine(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming),
            [] { return std::string("making an event of CUDA"); });
  }
  launch_order(launch_order const&) = delete;
  launch_order& operator=(launch_order const&) = delete;
  ~launch_order() { static_cast<void>(cudaEventDestroy(event_)); }

  /// Orders the next launch after the last one. In the same stream no event is needed, and waiting for one would
  /// deadlock: a hardware queue blocks until the event occurs, and kernels of other streams in that queue with it.
  /// Kernels of several ranks on one device would then wait for each other forever.
  void wait_for_last(cudaStream_t stream, place const& position) {
    bool const is_ordered = position.stream != 0 && position.stream == last_.stream;
    if (has_launched_ && position.capture == last_.capture && !is_ordered) {
      examine(cudaStreamWaitEvent(stream, event_, 0),
              [] { return std::string("putting an event into a stream of CUDA"); });
    }
  }
  void record(cudaStream_t stream, place const& position) {
    examine(cudaEventRecord(event_, stream), [] { return std::string("recording an event in a stream of CUDA"); });
    has_launched_ = true;
    last_ = position;
  }
  /// True if the last launch has run or never will.
  [[nodiscard]] bool is_over() const noexcept {
    relaxed_capture const capture_guard;
    bool const runs = has_launched_ && cudaEventQuery(event_) == cudaErrorNotReady;
    if (runs) {
      static_cast<void>(cudaGetLastError());
    }
    return !runs;
  }

 private:
  cudaEvent_t event_ = nullptr;
  place last_;
  bool has_launched_ = false;
};

/// A CUDA device; see `device::driver`.
class driver {
 public:
  static constexpr std::string_view name = "cuda_peers";
  using stream_type = tutti::cuda::stream;

  [[nodiscard]] static int devices() { return tutti::cuda::devices(); }
  explicit driver(int number) : number_(make_current(number)) {}

  [[nodiscard]] std::byte* allocate(std::size_t bytes) const {
    current_device const guard(number_);
    relaxed_capture const capture_guard;
    std::byte* const memory = unused_memory::take(number_, bytes, [bytes] {
      void* p = nullptr;
      examine(cudaMalloc(&p, bytes), [=] { return "allocating " + std::to_string(bytes) + " bytes of device memory"; });
      return static_cast<std::byte*>(p);
    });
    examine(cudaMemsetAsync(memory, 0, bytes, copy_stream_.native()),
            [] { return std::string("clearing device memory"); });
    copy_stream_.wait();
    return memory;
  }
  [[nodiscard]] static std::byte* allocate_for_all(std::size_t bytes) { return pinned_memory(bytes); }
  static void free(std::byte* p) noexcept { unused_memory::give_back(p); }
  /// CUDA exports memory in pieces of 2 MiB, including other allocations there.
  [[nodiscard]] std::byte* allocate_to_export(std::size_t bytes) const {
    constexpr std::size_t piece = std::size_t{2} << 20;
    return allocate((bytes + piece - 1) / piece * piece);
  }
  [[nodiscard]] std::string export_memory(std::byte* p) const {
    current_device const guard(number_);
    cudaIpcMemHandle_t handle;
    examine(cudaIpcGetMemHandle(&handle, p), [] { return std::string("letting other processes map device memory"); });
    return memory_handle::text(handle);
  }
  [[nodiscard]] std::byte* import_memory(std::string_view text) const {
    current_device const guard(number_);
    relaxed_capture const capture_guard;
    void* p = nullptr;
    examine(cudaIpcOpenMemHandle(&p, memory_handle::parse(text), cudaIpcMemLazyEnablePeerAccess), [] {
      return std::string(
          "mapping device memory of another process (ranks are processes of one host, whose devices reach each other)");
    });
    return static_cast<std::byte*>(p);
  }
  void unmap(std::byte* p) const noexcept {
    try {
      current_device const guard(number_);
      static_cast<void>(cudaIpcCloseMemHandle(p));
    } catch (tutti::cuda::error const&) {  // a device that has failed has nothing mapped
    }
  }
  static void free_for_all(std::byte* p) noexcept { unused_memory::give_back(p); }

  void upload(std::byte* destination, std::byte const* source, std::size_t bytes) const {
    copy(destination, source, bytes, cudaMemcpyHostToDevice);
  }
  void download(std::byte* destination, std::byte const* source, std::size_t bytes) const {
    copy(destination, source, bytes, cudaMemcpyDeviceToHost);
  }

  [[nodiscard]] bool has(std::byte const* p) const {
    relaxed_capture const capture_guard;
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, p) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    return attributes.type == cudaMemoryTypeDevice && attributes.device == number_;
  }

  /// The device's PCI bus address, as device numbers may differ between programs.
  [[nodiscard]] std::string device() const {
    char id[32] = {};
    examine(cudaDeviceGetPCIBusId(id, sizeof id, number_),
            [] { return std::string("asking for the address of a device of CUDA"); });
    return id;
  }
  [[nodiscard]] std::uint32_t groups() const {
    int multiprocessors = 0;
    examine(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, number_),
            [] { return std::string("asking how many multiprocessors a device of CUDA has"); });
    return static_cast<std::uint32_t>(multiprocessors);
  }
  void reach(std::string const& other) {
    int other_number = 0;
    examine(cudaDeviceGetByPCIBusId(&other_number, other.c_str()), [&] { return "looking for device " + other; });
    if (other_number == number_) {
      ++ranks_here_;
      return;
    }
    int can_reach = 0;
    examine(cudaDeviceCanAccessPeer(&can_reach, number_, other_number),
            [&] { return "asking whether device " + other + " is reached"; });
    if (can_reach == 0) {
      throw std::runtime_error("device " + device() + " cannot reach the memory of device " + other +
                               "; nvidia-smi topo -p2p r shows which can");
    }
    current_device const guard(number_);
    if (cudaError_t const code = cudaDeviceEnablePeerAccess(other_number, 0);
        code != cudaErrorPeerAccessAlreadyEnabled) {
      examine(code, [&] { return "reaching the memory of device " + other; });
    } else {
      static_cast<void>(cudaGetLastError());
    }
  }

  template <class Kernel>
  void load() const {
    current_device const guard(number_);
    cudaFuncAttributes attributes;
    examine(cudaFuncGetAttributes(&attributes, run_groups<Kernel>),
            [] { return std::string("loading a kernel of tutti"); });
  }
  template <class Kernel>
  void launch(stream_type const& stream, std::uint32_t groups, Kernel const& kernel, std::uint64_t limit) {
    current_device const guard(number_);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    launch_order::place place;
    examine(cudaStreamGetCaptureInfo(stream.native(), &status, &place.capture),
            [] { return std::string("asking whether a stream of CUDA is captured"); });
    bool const is_captured = status == cudaStreamCaptureStatusActive;
    if (!is_captured) {  // the capture's number is undefined here, and the stream in which a graph will run is unknown
      place.capture = 0;
      expect_own_queue(stream.native());
      examine(cudaStreamGetId(stream.native(), &place.stream),
              [] { return std::string("asking for the number of a stream of CUDA"); });
    }
    launch_order& order = is_captured ? graph_order_ : stream_order_;
    order.wait_for_last(stream.native(), place);
    run_groups<<<groups, block_threads, 0, stream.native()>>>(kernel, limit);
    examine(cudaGetLastError(), [] { return std::string("launching a kernel of tutti"); });
    order.record(stream.native(), place);
  }
  [[nodiscard]] bool is_done(stream_type const& stream) const {
    relaxed_capture const capture_guard;
    cudaError_t const code = cudaStreamQuery(stream.native());
    if (code == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    examine(code, [] { return std::string("asking whether a stream of CUDA has run"); });
    return true;
  }
  [[nodiscard]] bool is_idle() const noexcept { return stream_order_.is_over(); }

 private:
  /// Selects the device before its streams and events are made.
  [[nodiscard]] static int make_current(int number) {
    examine(cudaSetDevice(number), [=] { return "taking device " + std::to_string(number) + " of CUDA"; });
    return number;
  }
  /// Requires that a stream does not wait for the default stream: kernels of ranks that share a device wait for each
  /// other.
  void expect_own_queue(cudaStream_t stream) const {
    if (ranks_here_ > 1) {
      unsigned flags = 0;
      examine(cudaStreamGetFlags(stream, &flags), [] { return std::string("asking what kind a stream of CUDA is"); });
      expects((flags & cudaStreamNonBlocking) != 0,
              "enqueue: this stream waits for the default stream of CUDA, so ranks that share a device would wait for "
              "each other; take a tutti::cuda::stream, or one made with cudaStreamNonBlocking");
    }
  }
  void copy(std::byte* destination, std::byte const* source, std::size_t bytes, cudaMemcpyKind direction) const {
    relaxed_capture const capture_guard;
    examine(cudaMemcpyAsync(destination, source, bytes, direction, copy_stream_.native()),
            [=] { return "copying " + std::to_string(bytes) + " bytes between host and device"; });
    copy_stream_.wait();
  }

  unused_memory::user user_;  ///< declared first, so that it outlives all other members
  int number_;
  std::uint32_t ranks_here_ = 0;  ///< ranks of this world on this device, itself included
  tutti::cuda::stream copy_stream_;
  launch_order stream_order_;
  launch_order graph_order_;
};
static_assert(device::exports_memory<driver>);

}  // namespace tutti::detail::runtime
