// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../common/numbers.hpp"
#include <tutti/cuda/array.hpp>
#include <tutti/cuda/stream.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Common parts of the programs about GPUs: data, time, and a table of results.
namespace bench::gpu {

namespace cuda = tutti::cuda;

/// Status of a program without a GPU to run on.
inline constexpr int skip_status = 77;

/// Bytes of a long vector.
inline constexpr std::size_t long_vector = std::size_t{64} << 20;

/// Command line of these programs: `[<file for JSON> [<bytes>]]`.
class arguments {
 public:
  arguments(int count, char** words)
      : file_(count > 1 ? words[1] : nullptr), bytes_(count > 2 ? whole("bytes", words[2]) : long_vector) {
    if (bytes_ < least || bytes_ % least != 0) {
      throw std::runtime_error("vectors have a multiple of " + std::to_string(least) + " bytes, not " + words[2]);
    }
  }

  [[nodiscard]] char const* file() const noexcept { return file_; }
  /// Length of a long vector. A smaller one checks values where long ones would take long.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t least = 65536;

  char const* file_;
  std::size_t bytes_;
};
/// "64 MiB".
[[nodiscard]] inline std::string size_text(std::size_t bytes) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  return bytes % mib == 0 ? std::to_string(bytes / mib) + " MiB" : std::to_string(bytes >> 10) + " KiB";
}

[[nodiscard]] inline int devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}
[[nodiscard]] inline std::string device_name() {
  cudaDeviceProp properties{};
  tutti::detail::runtime::examine(cudaGetDeviceProperties(&properties, 0),
                                  [] { return std::string("asking for a GPU's name"); });
  return properties.name;
}

/// Numbers in [-1, 1) of a few bits each, so that every type holds them; their sums need rounding.
template <class T>
[[nodiscard]] std::vector<T> random_numbers(std::size_t n, std::uint32_t seed) {
  std::vector<T> v(n);
  std::uint32_t state = seed * 2654435761U + 1;
  for (T& x : v) {
    state = state * 1664525U + 1013904223U;
    auto const bits = static_cast<std::int32_t>(state >> 20) - 2048;
    x = std::is_integral_v<T> ? static_cast<T>(bits >> 6) : static_cast<T>(static_cast<float>(bits) / 2048.0F);
  }
  return v;
}
/// Fills the array with bytes that no right result has in all places.
template <class T>
void poison(cuda::array<T> const& a, cuda::stream const& stream) {
  tutti::detail::runtime::examine(cudaMemsetAsync(a.data(), 0xA5, a.size() * sizeof(T), stream.native()),
                                  [] { return std::string("poisoning device memory"); });
}
template <class T>
[[nodiscard]] bool holds(cuda::array<T> const& a, std::vector<T> const& expected, cuda::stream const& stream) {
  std::vector<T> values(expected.size());
  a.copy_to(values, stream);
  stream.wait();
  return values.empty() || std::memcmp(values.data(), expected.data(), values.size() * sizeof(T)) == 0;
}

/// Marks a place in a stream, as the beginning or end of a measurement.
class mark {
 public:
  mark() {
    tutti::detail::runtime::examine(cudaEventCreate(&event_), [] { return std::string("making an event of CUDA"); });
  }
  mark(mark const&) = delete;
  mark& operator=(mark const&) = delete;
  ~mark() { static_cast<void>(cudaEventDestroy(event_)); }

  void set(cuda::stream const& stream) const {
    tutti::detail::runtime::examine(cudaEventRecord(event_, stream.native()),
                                    [] { return std::string("recording an event"); });
  }
  /// Seconds since the other mark. @pre both have been passed
  [[nodiscard]] double seconds_since(mark const& begin) const {
    float milliseconds = 0;
    tutti::detail::runtime::examine(cudaEventElapsedTime(&milliseconds, begin.event_, event_),
                                    [] { return std::string("reading the time between events"); });
    return static_cast<double>(milliseconds) / 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

[[nodiscard]] inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
/// Rounds of a measurement, and runs in each.
struct repeats {
  int rounds;
  int runs;
};
/// One run if vectors are short because only values are checked.
[[nodiscard]] constexpr repeats repeats_of(std::size_t bytes) {
  return bytes < long_vector / 2 ? repeats{1, 1} : repeats{9, 10};
}
/// Seconds that `work` takes in the stream: the median of some rounds, of several runs each.
[[nodiscard]] inline double seconds(cuda::stream const& stream, repeats repeats_per_round,
                                    std::function<void()> const& work) {
  auto const [rounds, runs] = repeats_per_round;
  mark begin;
  mark end;
  std::vector<double> times;
  for (int i = 0; i != rounds + 1; ++i) {  // the first round warms up
    begin.set(stream);
    for (int k = 0; k != runs; ++k) {
      work();
    }
    end.set(stream);
    stream.wait();
    if (i != 0) {
      times.push_back(end.seconds_since(begin) / runs);
    }
  }
  return median(times);
}
/// Bytes a second of cudaMemcpy within the device, read plus written, four long vectors at a time.
[[nodiscard]] inline double copy_bandwidth(cuda::stream const& stream, std::size_t long_vector_bytes) {
  std::size_t const bytes = 4 * long_vector_bytes;
  cuda::array<std::uint8_t> const source(bytes);
  cuda::array<std::uint8_t> const destination(bytes);
  poison(source, stream);
  return 2.0 * static_cast<double>(bytes) / seconds(stream, repeats_of(long_vector_bytes), [&] {
           tutti::detail::runtime::examine(
               cudaMemcpyAsync(destination.data(), source.data(), bytes, cudaMemcpyDeviceToDevice, stream.native()),
               [] { return std::string("copying within a device"); });
         });
}

/// Results and their targets, printed as a table and written as JSON.
class report {
 public:
  report(std::string part, double bandwidth, std::string device = device_name())
      : part_(std::move(part)), device_(std::move(device)), bandwidth_(bandwidth) {
    std::printf("%s on %s; copying moves %.0f GB/s, read and written\n\n", part_.c_str(), device_.c_str(),
                bandwidth_ / 1e9);
    std::printf("%-58s %10s %10s  %-6s %s\n", "what", "measured", "target", "unit", "values");
  }

  /// Adds a bandwidth as a share of the copy bandwidth: `bytes` in `seconds`. `target` is a percentage.
  void bandwidth(std::string const& description, double bytes, double seconds, double target, bool right) {
    add(description, 100 * bytes / seconds / bandwidth_, target, "%", right);
  }
  /// Adds a result. It reaches a target in percent from above, any other from below.
  void add(std::string const& description, double value, double target, std::string const& unit, bool right) {
    bool const is_reached = unit == "%" ? value >= target : value <= target;
    std::printf("%-58s %10.2f %10.2f  %-6s %s%s\n", description.c_str(), value, target, unit.c_str(),
                right ? "right" : "WRONG", is_reached ? "" : ", target missed");
    std::fflush(stdout);
    wrong_ += right ? 0 : 1;
    json_ += (json_.empty() ? "" : ",\n") + std::string("    {\"what\": \"") + description +
             "\", \"measured\": " + std::to_string(value) + ", \"target\": " + std::to_string(target) +
             ", \"unit\": \"" + unit + "\", \"right\": " + (right ? "true" : "false") + "}";
  }
  /// Adds a result without a target.
  void add_without_target(std::string const& description, double value, std::string const& unit, bool right) {
    std::printf("%-58s %10.2f %10s  %-6s %s\n", description.c_str(), value, "-", unit.c_str(),
                right ? "right" : "WRONG");
    std::fflush(stdout);
    wrong_ += right ? 0 : 1;
    json_ += (json_.empty() ? "" : ",\n") + std::string("    {\"what\": \"") + description +
             "\", \"measured\": " + std::to_string(value) + ", \"target\": null, \"unit\": \"" + unit +
             "\", \"right\": " + (right ? "true" : "false") + "}";
  }
  /// The status of the program: 1 if a value was wrong. A target that is missed is only shown.
  [[nodiscard]] int end(char const* file) const {
    if (file != nullptr) {
      std::ofstream file_stream(file);
      file_stream << "{\n  \"part\": \"" << part_ << "\",\n  \"device\": \"" << device_
                  << "\",\n  \"copy_bytes_per_second\": " << bandwidth_ << ",\n  \"rows\": [\n"
                  << json_ << "\n  ]\n}\n";
      if (!file_stream.flush()) {
        std::fprintf(stderr, "error: cannot write %s\n", file);
        return 1;
      }
    }
    if (wrong_ != 0) {
      std::printf("\n%d rows have WRONG values\n", wrong_);
    }
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  std::string part_;
  std::string device_;
  double bandwidth_;
  std::string json_;
  int wrong_ = 0;
};

}  // namespace bench::gpu
