// SPDX-License-Identifier: Apache-2.0
//
// Incorrect CUDA programs. The emulated GPU ends each of them, or returns the error that CUDA's documents name. On
// some GPUs, and on some days, a few of them work.
#include "cases.hpp"

#include <cstdint>
#include <thread>
#include <vector>

namespace {

// Incorrect kernels, and incorrect uses of kernels.

__global__ void read(int const* input, int* output) {
  *output = *input;
}
__global__ void read_four(float const* input, float* output) {
  float4 const values = *reinterpret_cast<float4 const*>(input);
  *output = values.x + values.y + values.z + values.w;
}
__global__ void reverse_without_barrier(int* numbers) {
  __shared__ int shared_numbers[64];
  shared_numbers[threadIdx.x] = numbers[threadIdx.x];
  numbers[threadIdx.x] = shared_numbers[63 - threadIdx.x];
}
__global__ void reverse_warp_without_barrier(int* numbers) {
  __shared__ int volatile shared_numbers[32];
  shared_numbers[threadIdx.x] = numbers[threadIdx.x];
  numbers[threadIdx.x] = shared_numbers[31 - threadIdx.x];
}
__global__ void barrier_of_half_a_warp(int* output) {
  if (threadIdx.x % 32 < 16) {
    __syncthreads();
    output[threadIdx.x] = 1;
  }
}
__global__ void two_barriers(int* output) {
  if (threadIdx.x < 32) {
    __syncthreads();
    output[0] = 1;
  } else {
    __syncthreads();
    output[1] = 1;
  }
}
__global__ void barrier_and_endless_loop(int volatile* flag) {
  if (threadIdx.x < 32) {
    __syncthreads();
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
    __syncthreads();
  }
}
__global__ void exchange_and_barrier(int* output) {
  int x = static_cast<int>(threadIdx.x);
  if (threadIdx.x < 16) {
    x = __shfl_xor_sync(0xffffffff, x, 1);
  } else {
    __syncthreads();
  }
  output[threadIdx.x] = x;
}
__global__ void exchange_with_absent(int volatile* numbers) {
  int const number = numbers[threadIdx.x];
  if (threadIdx.x < 16) {
    numbers[threadIdx.x] = __shfl_xor_sync(0xffff, number, 16);
  }
}
__global__ void register_without_value(int* output) {
  asm volatile("{ .reg .b32 t; mov.u32 %0, t; }" : "=r"(*output));
}
__global__ void exchange_without_itself(int* output) {
  output[threadIdx.x] = __shfl_xor_sync(0xffff, 1, 1);
}
__global__ void shared_out_of_range(int* output, int index) {
  __shared__ int shared_numbers[32];
  shared_numbers[threadIdx.x] = 1;
  __syncthreads();
  output[0] = shared_numbers[index];
}
__global__ void shared_without_value(int* output) {
  __shared__ int shared_numbers[32];
  if (output == nullptr) {
    shared_numbers[0] = 0;
  }
  __syncthreads();
  *output = shared_numbers[threadIdx.x];
}
/// Writes numbers, sets a flag, and waits for an answer.
__global__ void write_and_tell(int* numbers, int volatile* flag, int const volatile* answer, bool with_fence) {
  numbers[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    if (with_fence) {
      __threadfence_system();
    }
    *flag = 1;
    while (*answer == 0) {
      __nanosleep(20);
    }
  }
}
__global__ void hear_and_add(int const* numbers, int const volatile* flag, int volatile* answer, int* sum) {
  while (*flag == 0) {
    __nanosleep(20);
  }
  __threadfence_system();
  *sum = 0;
  for (int k = 0; k != 64; ++k) {
    *sum += numbers[k];
  }
  *answer = 1;
}
__global__ void __launch_bounds__(64) bounded_kernel(int* output) {
  output[threadIdx.x] = 1;
}
__global__ void read_clock(long long* output) {
  *output = clock64();
}
__global__ void shared_of_launch(int* output) {
  extern __shared__ int shared_numbers[];
  shared_numbers[0] = 1;
  *output = shared_numbers[0];
}
__global__ void wait_for(int const volatile* flag) {
  while (*flag == 0) {
    __nanosleep(20);
  }
}
__global__ void fill_and_wait(int volatile* arrivals, int const volatile* flag) {
  arrivals[blockIdx.x] = 1;
  while (*flag == 0) {
    __nanosleep(20);
  }
}
__global__ void wait_for_second(int volatile* count) {
  *count = *count + 1;
  while (*count < 2) {
    __nanosleep(20);
  }
}
__global__ void set(int volatile* flag) {
  *flag = 1;
}
__global__ void wait_for_block_before(int volatile* flags) {
  while (blockIdx.x != 0 && flags[blockIdx.x - 1] == 0) {
    __nanosleep(20);
  }
  flags[blockIdx.x] = 1;
}

void finish() {
  say(cudaGetLastError());
  say(cudaDeviceSynchronize());
}
template <class Kernel, class... Arguments>
void run(Kernel kernel, unsigned threads, Arguments... arguments) {
  kernel<<<1, threads>>>(arguments...);
  finish();
}
/// Reads a number from device memory.
template <class T>
[[nodiscard]] T fetch(T const* source) {
  T x{};
  WORKS(cudaMemcpyAsync(&x, source, sizeof x, cudaMemcpyDeviceToHost, nullptr));
  return x;
}
void say_number(int x) {
  char text[32];
  std::snprintf(text, sizeof text, "%x", static_cast<unsigned>(x));
  say(text);
}
/// Loads a kernel, so that its first launch does not wait.
template <class Kernel>
void load(Kernel kernel) {
  cudaFuncAttributes attributes;
  WORKS(cudaFuncGetAttributes(&attributes, kernel));
}
/// Blocks a stream. @returns the flag that releases it
[[nodiscard]] int* hold(cudaStream_t s) {
  int* const flag = pinned_array<int>(1);
  wait_for<<<1, 1, 0, s>>>(flag);
  WORKS(cudaGetLastError());
  return flag;
}

// Memory.

void reads_behind() {
  int* const p = device_array<int>(8);
  run(read, 1, p + 8, p);
}
void reads_before() {
  int* const p = device_array<int>(8);
  run(read, 1, p - 1, p);
}
void vector_not_aligned() {
  float* const p = device_array<float>(8);
  run(read_four, 1, p + 1, p);
}
void reads_freed() {
  int* const p = device_array<int>(8);
  int* const output = device_array<int>(1);
  WORKS(cudaFree(p));
  run(read, 1, p, output);
}
void kernel_reads_host() {
  int x = 1;
  run(read, 1, &x, device_array<int>(1));
}
void host_reads_device() {
  *static_cast<int volatile*>(device_array<int>(1)) = 1;
}
void reads_other_device() {
  WORKS(cudaSetDevice(1));
  int* const p = device_array<int>(1);
  WORKS(cudaSetDevice(0));
  run(read, 1, p, device_array<int>(1));
}
void global_without_value() {
  say_number(fetch(device_array<int>(1)));
}
void pinned_without_value() {
  void* p = nullptr;
  WORKS(cudaMallocHost(&p, sizeof(int)));
  say_number(*static_cast<int*>(p));
}
void aligned_to_512() {
  say(reinterpret_cast<std::uintptr_t>(device_array<int>(1)) % 512 == 256 ? "256" : "512");
}
void frees_twice() {
  int* const p = device_array<int>(1);
  WORKS(cudaFree(p));
  say(cudaFree(p));
}
void frees_inside() {
  say(cudaFree(device_array<int>(2) + 1));
}
void copies_too_much() {
  std::vector<int> const numbers(9);
  int* const p = device_array<int>(8);
  say(cudaMemcpyAsync(p, numbers.data(), 36, cudaMemcpyHostToDevice, nullptr));
}
void copies_wrong_way() {
  int x = 0;
  say(cudaMemcpyAsync(device_array<int>(1), &x, sizeof x, cudaMemcpyDeviceToDevice, nullptr));
}

// Kernels.

void no_barrier() {
  run(reverse_without_barrier, 64, device_array<int>(64));
}
/// A race between threads of one warp: it does not end the program, but some order of the threads gives wrong numbers.
void no_barrier_of_warp() {
  int* const p = device_array<int>(32);
  bool wrong = false;
  for (int n = 0; n != 64; ++n) {
    std::array<int, 32> numbers{};
    for (int k = 0; k != 32; ++k) {
      numbers[static_cast<std::size_t>(k)] = k;
    }
    WORKS(cudaMemcpyAsync(p, numbers.data(), sizeof numbers, cudaMemcpyHostToDevice, nullptr));
    reverse_warp_without_barrier<<<1, 32>>>(p);
    WORKS(cudaMemcpyAsync(numbers.data(), p, sizeof numbers, cudaMemcpyDeviceToHost, nullptr));
    for (int k = 0; k != 32; ++k) {
      wrong = wrong || numbers[static_cast<std::size_t>(k)] != 31 - k;
    }
  }
  say(wrong ? "wrong numbers" : "right numbers");
}
void tell(bool with_fence) {
  int* const numbers = device_array<int>(64);
  int* const words = pinned_array<int>(2);
  int* const sum = device_array<int>(1);
  load(write_and_tell);
  load(hear_and_add);
  write_and_tell<<<1, 64, 0, new_stream()>>>(numbers, words, words + 1, with_fence);
  hear_and_add<<<1, 1, 0, new_stream()>>>(numbers, words, words + 1, sum);
  WORKS(cudaDeviceSynchronize());
  say(fetch(sum) == 64 ? "right numbers" : "wrong numbers");
}
void tells_without_fence() {
  tell(false);
}
void tells_with_fence() {
  tell(true);
}
void half_a_warp_at_barrier() {
  run(barrier_of_half_a_warp, 64, device_array<int>(64));
}
void warps_at_two_barriers() {
  run(two_barriers, 64, device_array<int>(2));
}
void some_warps_at_barrier() {
  int* const flag = device_array<int>(1);
  WORKS(cudaMemsetAsync(flag, 0, sizeof(int), nullptr));
  run(barrier_and_endless_loop, 64, flag);
}
void some_at_exchange() {
  run(exchange_and_barrier, 32, device_array<int>(32));
}
void exchange_of_nothing() {
  int* const p = device_array<int>(32);
  WORKS(cudaMemsetAsync(p, 0, 32 * sizeof(int), nullptr));
  exchange_with_absent<<<1, 32>>>(p);
  say_number(fetch(p));
}
void not_in_its_mask() {
  run(exchange_without_itself, 32, device_array<int>(32));
}
void behind_shared() {
  run(shared_out_of_range, 32, device_array<int>(1), 32);
}
void shared_is_not_zero() {
  int* const p = device_array<int>(1);
  shared_without_value<<<1, 1>>>(p);
  say_number(fetch(p));
}
void register_is_not_zero() {
  int* const p = device_array<int>(1);
  WORKS(cudaMemsetAsync(p, 0, sizeof(int), nullptr));
  register_without_value<<<1, 1>>>(p);
  say_number(fetch(p));
}
void beyond_bounds() {
  run(bounded_kernel, 96, device_array<int>(96));
}
void too_many_threads() {
  run(read, 2048, device_array<int>(1), device_array<int>(1));
}
void no_blocks() {
  int* const p = device_array<int>(1);
  read<<<0, 1>>>(p, p);
  say(cudaGetLastError());
}
void instruction_not_known() {
  run(read_clock, 1, device_array<long long>(1));
}
void memory_of_launch() {
  shared_of_launch<<<1, 1, 64>>>(device_array<int>(1));
}

// Devices, streams and events.

void no_such_device() {
  say(cudaSetDevice(1));
}
void stream_of_other_device() {
  cudaStream_t const s = new_stream();
  WORKS(cudaSetDevice(1));
  read<<<1, 1, 0, s>>>(nullptr, nullptr);
  say(cudaGetLastError());
}
void event_of_other_device() {
  cudaEvent_t const e = new_event();
  WORKS(cudaSetDevice(1));
  say(cudaEventRecord(e, new_stream()));
}
void event_without_time() {
  cudaEvent_t const e = new_event();
  WORKS(cudaEventRecord(e, nullptr));
  WORKS(cudaEventSynchronize(e));
  float ms = 0;
  say(cudaEventElapsedTime(&ms, e, e));
}
void stream_that_is_gone() {
  cudaStream_t const s = new_stream();
  WORKS(cudaStreamDestroy(s));
  say(cudaStreamQuery(s));
}
void event_that_is_gone() {
  cudaEvent_t const e = new_event();
  WORKS(cudaEventDestroy(e));
  say(cudaEventQuery(e));
}
void cuda_in_host_function() {
  auto const f = [](void*) { say(cudaStreamQuery(nullptr)); };
  WORKS(cudaLaunchHostFunc(nullptr, f, nullptr));
  WORKS(cudaDeviceSynchronize());
}
void used_before_fork() {
  WORKS(cudaDeviceSynchronize());
  pid_t const child = fork();
  if (child == 0) {
    int count = 0;
    say(cudaGetDeviceCount(&count));
    say(cudaDeviceSynchronize());
    std::_Exit(0);
  }
  waitpid(child, nullptr, 0);
}

// Waits that never end.

void waits_for_kernel_without_room() {
  load(set);
  int* const flag = pinned_array<int>(1);
  int volatile* const arrivals = pinned_array<int>(16);
  fill_and_wait<<<16, 32, 0, new_stream()>>>(arrivals, flag);
  for (int b = 0; b != 16; ++b) {
    while (arrivals[b] == 0) {
    }
  }
  set<<<1, 1, 0, new_stream()>>>(flag);
  finish();
}
void waits_for_block_before() {
  int* const flags = device_array<int>(64);
  WORKS(cudaMemsetAsync(flags, 0, 64 * sizeof(int), nullptr));
  wait_for_block_before<<<64, 1>>>(flags);
  finish();
}
void first_launch_while_one_waits() {
  int* const flag = hold(new_stream());
  set<<<1, 1, 0, new_stream()>>>(flag);
  finish();
}
/// Blocks a stream by later work of another stream in the same hardware queue.
void streams_of_one_queue() {
  load(set);
  cudaStream_t const stream = new_stream();
  int* const flag = hold(stream);
  wait_for<<<1, 1, 0, stream>>>(flag);
  set<<<1, 1, 0, new_stream()>>>(flag);
  finish();
}
void stream_beside_default_one() {
  load(set);
  int* const flag = hold(nullptr);
  set<<<1, 1, 0, new_stream(cudaStreamDefault)>>>(flag);
  finish();
}
void default_stream_beside_other() {
  load(set);
  int* const flag = hold(new_stream(cudaStreamDefault));
  set<<<1, 1>>>(flag);
  finish();
}
void graph_waits_for_itself() {
  int* const count = pinned_array<int>(1);
  load(wait_for_second);
  cudaStream_t const s = new_stream();
  WORKS(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  wait_for_second<<<1, 1, 0, s>>>(count);
  cudaGraph_t graph = nullptr;
  WORKS(cudaStreamEndCapture(s, &graph));
  cudaGraphExec_t run = nullptr;
  WORKS(cudaGraphInstantiate(&run, graph, 0));
  WORKS(cudaGraphLaunch(run, s));
  while (*static_cast<int volatile*>(count) == 0) {
  }
  WORKS(cudaGraphLaunch(run, new_stream()));
  finish();
}
void frees_while_one_waits() {
  int* const p = device_array<int>(1);
  static_cast<void>(hold(new_stream()));
  say(cudaFree(p));
}
void allocates_while_one_waits() {
  static_cast<void>(hold(new_stream()));
  static_cast<void>(device_array<int>(1));
}
void copies_much_while_one_waits() {
  std::vector<int> const numbers(1 << 16);
  int* const p = device_array<int>(numbers.size());
  cudaStream_t const s = new_stream();
  static_cast<void>(hold(s));
  say(cudaMemcpyAsync(p, numbers.data(), numbers.size() * sizeof(int), cudaMemcpyHostToDevice, s));
}
void destroys_stream_that_waits() {
  cudaStream_t const s = new_stream();
  static_cast<void>(hold(s));
  WORKS(cudaStreamDestroy(s));
  say(cudaDeviceSynchronize());
}
void waits_for_event() {
  cudaStream_t const s = new_stream();
  static_cast<void>(hold(s));
  cudaEvent_t const e = new_event();
  WORKS(cudaEventRecord(e, s));
  say(cudaEventSynchronize(e));
}

// Captures.

[[nodiscard]] cudaStream_t begin_capture(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
  cudaStream_t const s = new_stream();
  WORKS(cudaStreamBeginCapture(s, mode));
  return s;
}
[[nodiscard]] cudaError_t end_capture(cudaStream_t s) {
  cudaGraph_t graph = nullptr;
  return cudaStreamEndCapture(s, &graph);
}
template <class F>
void call_in_capture(F const& f, cudaStream_t s = begin_capture()) {
  say(f(s));
  say(end_capture(s));
}
void asks_stream_of_capture() {
  call_in_capture([](cudaStream_t s) { return cudaStreamQuery(s); });
}
void asks_other_stream_in_capture() {
  cudaStream_t const other = new_stream();
  call_in_capture([other](cudaStream_t) { return cudaStreamQuery(other); });
}
void asks_stream_of_relaxed_capture() {
  call_in_capture([](cudaStream_t s) { return cudaStreamSynchronize(s); }, begin_capture(cudaStreamCaptureModeRelaxed));
}
void asks_kind_of_stream_of_capture() {
  unsigned kind = 0;
  call_in_capture([&](cudaStream_t s) { return cudaStreamGetFlags(s, &kind); },
                  begin_capture(cudaStreamCaptureModeRelaxed));
}
void allocates_in_capture() {
  void* p = nullptr;
  call_in_capture([&](cudaStream_t) { return cudaMalloc(&p, 1); });
}
void allocates_in_other_thread() {
  void* p = nullptr;
  call_in_capture([&](cudaStream_t) {
    cudaError_t code = cudaSuccess;
    std::thread([&] { code = cudaMalloc(&p, 1); }).join();
    return code;
  });
}
void copies_pageable_in_capture() {
  int x = 0;
  int* const p = device_array<int>(1);
  call_in_capture([&](cudaStream_t s) { return cudaMemcpyAsync(p, &x, sizeof x, cudaMemcpyHostToDevice, s); });
}
void default_stream_beside_capture() {
  cudaStream_t const s = new_stream(cudaStreamDefault);
  WORKS(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  call_in_capture([](cudaStream_t) { return cudaEventRecord(new_event(), nullptr); }, s);
}
void waits_for_event_of_before() {
  cudaEvent_t const e = new_event();
  WORKS(cudaEventRecord(e, nullptr));
  call_in_capture([e](cudaStream_t s) { return cudaStreamWaitEvent(s, e, 0); });
}
void asks_event_of_capture() {
  cudaEvent_t const e = new_event();
  call_in_capture(
      [e](cudaStream_t s) {
        WORKS(cudaEventRecord(e, s));
        return cudaEventQuery(e);
      },
      begin_capture(cudaStreamCaptureModeRelaxed));
}
void fork_without_join() {
  int* const flag = pinned_array<int>(1);
  cudaStream_t const other = new_stream();
  cudaEvent_t const e = new_event();
  cudaStream_t const s = begin_capture();
  WORKS(cudaEventRecord(e, s));
  WORKS(cudaStreamWaitEvent(other, e, 0));
  set<<<1, 1, 0, other>>>(flag);
  say(end_capture(s));
}
void ends_other_stream() {
  cudaStream_t const other = new_stream();
  cudaEvent_t const e = new_event();
  cudaStream_t const s = begin_capture();
  WORKS(cudaEventRecord(e, s));
  WORKS(cudaStreamWaitEvent(other, e, 0));
  say(end_capture(other));
}
void two_captures_become_one() {
  cudaEvent_t const e = new_event();
  cudaStream_t const other = begin_capture();
  WORKS(cudaEventRecord(e, other));
  call_in_capture([e](cudaStream_t s) { return cudaStreamWaitEvent(s, e, 0); });
  say(end_capture(other));
}
void ends_in_other_thread() {
  cudaStream_t const s = begin_capture();
  std::thread([s] { say(end_capture(s)); }).join();
}
void event_of_ended_capture() {
  cudaEvent_t const e = new_event();
  cudaStream_t const s = begin_capture();
  WORKS(cudaEventRecord(e, s));
  WORKS(end_capture(s));
  say(cudaStreamWaitEvent(s, e, 0));
}
void captures_default_stream() {
  say(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal));
}
void ends_what_is_not_captured() {
  say(end_capture(new_stream()));
}

constexpr char const* impatient = "EMULATED_GPU_PATIENCE=1 CUDA_DEVICE_MAX_CONNECTIONS=32";
constexpr char const* two_devices = "EMULATED_GPUS=2";
constexpr std::string_view endless = "waits for work that does not end";

constexpr small_program programs[] = {
    {"reads_behind", reads_behind, "block (0, 0, 0): thread (0, 0, 0) uses 4 bytes at 0x", "", SIGABRT},
    {"reads_before", reads_before, "where there is no memory of a device: ld.global", "", SIGABRT},
    {"vector_not_aligned", vector_not_aligned, "no multiple of 16", "", SIGABRT},
    {"reads_freed", reads_freed, "where there is no memory of a device", "", SIGABRT},
    {"kernel_reads_host", kernel_reads_host, "where there is no memory of a device", "", SIGABRT},
    {"host_reads_device", host_reads_device, "", "", SIGSEGV},
    {"reads_other_device", reads_other_device, "memory of device 1, which device 0 does not reach", two_devices,
     SIGABRT},
    {"global_without_value", global_without_value, "a5a5a5a5"},
    {"pinned_without_value", pinned_without_value, "a5a5a5a5"},
    {"aligned_to_512", aligned_to_512, "256"},
    {"frees_twice", frees_twice, "cudaErrorInvalidValue"},
    {"frees_inside", frees_inside, "cudaErrorInvalidValue"},
    {"copies_too_much", copies_too_much, "cudaErrorInvalidValue"},
    {"copies_wrong_way", copies_wrong_way, "cudaErrorInvalidValue"},
    {"no_barrier", no_barrier, "shared memory that another warp uses without a barrier in between", "", SIGABRT},
    {"no_barrier_of_warp", no_barrier_of_warp, "wrong numbers"},
    {"tells_without_fence", tells_without_fence, "wrong numbers"},
    {"tells_with_fence", tells_with_fence, "right numbers"},
    {"half_a_warp_at_barrier", half_a_warp_at_barrier, "a barrier for some threads of a warp only", "", SIGABRT},
    {"warps_at_two_barriers", warps_at_two_barriers, "wait at different barriers", "", SIGABRT},
    {"some_warps_at_barrier", some_warps_at_barrier, endless, impatient, SIGABRT},
    {"some_at_exchange", some_at_exchange, "threads of a warp wait for others of it", "", SIGABRT},
    {"exchange_of_nothing", exchange_of_nothing, "a5a5a5a5"},
    {"not_in_its_mask", not_in_its_mask, "a mask of threads in which it is not", "", SIGABRT},
    {"behind_shared", behind_shared, "bytes of shared memory", "", SIGABRT},
    {"shared_is_not_zero", shared_is_not_zero, "a5a5a5a5"},
    {"register_is_not_zero", register_is_not_zero, "a5a5a5a5"},
    {"beyond_bounds", beyond_bounds, "blocks of 96 threads, and is bounded to 64", "", SIGABRT},
    {"too_many_threads", too_many_threads, "cudaErrorInvalidConfiguration"},
    {"no_blocks", no_blocks, "cudaErrorInvalidConfiguration"},
    {"instruction_not_known", instruction_not_known, "has what is not known here", "", SIGABRT},
    {"memory_of_launch", memory_of_launch, "not known here", "", SIGABRT},
    {"no_device", no_such_device, "cudaErrorNoDevice", "EMULATED_GPUS=0"},
    {"no_such_device", no_such_device, "cudaErrorInvalidDevice"},
    {"stream_of_other_device", stream_of_other_device, "cudaErrorInvalidResourceHandle", two_devices},
    {"event_of_other_device", event_of_other_device, "cudaErrorInvalidResourceHandle", two_devices},
    {"event_without_time", event_without_time, "cudaErrorInvalidResourceHandle"},
    {"stream_that_is_gone", stream_that_is_gone, "a stream is used that does not exist", "", SIGABRT},
    {"event_that_is_gone", event_that_is_gone, "an event is used that does not exist", "", SIGABRT},
    {"cuda_in_host_function", cuda_in_host_function, "cudaErrorNotPermitted"},
    {"used_before_fork", used_before_fork, "cudaErrorInitializationError\ncudaErrorInitializationError"},
    {"waits_for_kernel_without_room", waits_for_kernel_without_room, endless, impatient, SIGABRT},
    {"waits_for_block_before", waits_for_block_before, endless, impatient, SIGABRT},
    {"first_launch_while_one_waits", first_launch_while_one_waits, "waits for kernels that do not end", impatient,
     SIGABRT},
    {"streams_of_one_queue", streams_of_one_queue, endless, "EMULATED_GPU_PATIENCE=1 CUDA_DEVICE_MAX_CONNECTIONS=1",
     SIGABRT},
    {"stream_beside_default_one", stream_beside_default_one, endless, impatient, SIGABRT},
    {"default_stream_beside_other", default_stream_beside_other, endless, impatient, SIGABRT},
    {"graph_waits_for_itself", graph_waits_for_itself, endless, impatient, SIGABRT},
    {"frees_while_one_waits", frees_while_one_waits, "cudaFree waits for work", impatient, SIGABRT},
    {"allocates_while_one_waits", allocates_while_one_waits, "cudaMalloc waits for work", impatient, SIGABRT},
    {"copies_much_while_one_waits", copies_much_while_one_waits, "cudaMemcpyAsync waits for work", impatient, SIGABRT},
    {"destroys_stream_that_waits", destroys_stream_that_waits, "cudaDeviceSynchronize waits for work", impatient,
     SIGABRT},
    {"waits_for_event", waits_for_event, "cudaEventSynchronize waits for work", impatient, SIGABRT},
    {"asks_stream_of_capture", asks_stream_of_capture,
     "cudaErrorStreamCaptureUnsupported\ncudaErrorStreamCaptureInvalidated"},
    {"asks_other_stream_in_capture", asks_other_stream_in_capture,
     "cudaErrorStreamCaptureUnsupported\ncudaErrorStreamCaptureInvalidated"},
    {"asks_stream_of_relaxed_capture", asks_stream_of_relaxed_capture,
     "cudaErrorStreamCaptureUnsupported\ncudaErrorStreamCaptureInvalidated"},
    {"asks_kind_of_stream_of_capture", asks_kind_of_stream_of_capture,
     "cudaErrorStreamCaptureUnsupported\ncudaErrorStreamCaptureInvalidated"},
    {"allocates_in_capture", allocates_in_capture,
     "cudaErrorStreamCaptureUnsupported\ncudaErrorStreamCaptureInvalidated"},
    {"allocates_in_other_thread", allocates_in_other_thread,
     "cudaErrorStreamCaptureUnsupported\ncudaErrorStreamCaptureInvalidated"},
    {"copies_pageable_in_capture", copies_pageable_in_capture,
     "cudaErrorStreamCaptureUnsupported\ncudaErrorStreamCaptureInvalidated"},
    {"default_stream_beside_capture", default_stream_beside_capture,
     "cudaErrorStreamCaptureImplicit\ncudaErrorStreamCaptureInvalidated"},
    {"waits_for_event_of_before", waits_for_event_of_before,
     "cudaErrorStreamCaptureIsolation\ncudaErrorStreamCaptureInvalidated"},
    {"asks_event_of_capture", asks_event_of_capture, "cudaErrorCapturedEvent\ncudaErrorStreamCaptureInvalidated"},
    {"fork_without_join", fork_without_join, "cudaErrorStreamCaptureUnjoined"},
    {"ends_other_stream", ends_other_stream, "cudaErrorStreamCaptureUnmatched"},
    {"two_captures_become_one", two_captures_become_one,
     "cudaErrorStreamCaptureMerge\ncudaErrorStreamCaptureInvalidated\ncudaErrorStreamCaptureInvalidated"},
    {"ends_in_other_thread", ends_in_other_thread, "cudaErrorStreamCaptureWrongThread"},
    {"event_of_ended_capture", event_of_ended_capture, "cudaErrorCapturedEvent"},
    {"captures_default_stream", captures_default_stream, "cudaErrorStreamCaptureUnsupported"},
    {"ends_what_is_not_captured", ends_what_is_not_captured, "cudaErrorIllegalState"},
};

}  // namespace

int main(int count, char** names) {
  return run_programs(programs, count, names);
}
