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
inline constexpr int skipped = 77;

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
  cudaDeviceProp known{};
  tutti::detail::runtime::examine(cudaGetDeviceProperties(&known, 0),
                                  [] { return std::string("asking for a GPU's name"); });
  return known.name;
}

/// Numbers in [-1, 1) of a few bits each, so that every type holds them; their sums need rounding.
template <class T>
[[nodiscard]] std::vector<T> drawn(std::size_t n, std::uint32_t seed) {
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
void poison(cuda::array<T> const& a, cuda::stream const& in) {
  tutti::detail::runtime::examine(cudaMemsetAsync(a.data(), 0xA5, a.size() * sizeof(T), in.native()),
                                  [] { return std::string("poisoning device memory"); });
}
template <class T>
[[nodiscard]] bool holds(cuda::array<T> const& a, std::vector<T> const& wanted, cuda::stream const& in) {
  std::vector<T> here(wanted.size());
  a.copy_to(here, in);
  in.wait();
  return here.empty() || std::memcmp(here.data(), wanted.data(), here.size() * sizeof(T)) == 0;
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

  void set(cuda::stream const& in) const {
    tutti::detail::runtime::examine(cudaEventRecord(event_, in.native()),
                                    [] { return std::string("recording an event"); });
  }
  /// Seconds since the other mark. @pre both have been passed
  [[nodiscard]] double since(mark const& begin) const {
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
[[nodiscard]] inline double seconds(cuda::stream const& in, repeats often, std::function<void()> const& work) {
  auto const [rounds, runs] = often;
  mark begin;
  mark end;
  std::vector<double> all;
  for (int i = 0; i != rounds + 1; ++i) {  // the first round warms up
    begin.set(in);
    for (int k = 0; k != runs; ++k) {
      work();
    }
    end.set(in);
    in.wait();
    if (i != 0) {
      all.push_back(end.since(begin) / runs);
    }
  }
  return median(all);
}
/// Bytes a second of cudaMemcpy within the device, read plus written, four long vectors at a time.
[[nodiscard]] inline double copy_bandwidth(cuda::stream const& in, std::size_t long_vector_bytes) {
  std::size_t const bytes = 4 * long_vector_bytes;
  cuda::array<std::uint8_t> const from(bytes);
  cuda::array<std::uint8_t> const to(bytes);
  poison(from, in);
  return 2.0 * static_cast<double>(bytes) / seconds(in, repeats_of(long_vector_bytes), [&] {
           tutti::detail::runtime::examine(
               cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, in.native()),
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
  void bandwidth(std::string const& what, double bytes, double seconds, double target, bool right) {
    add(what, 100 * bytes / seconds / bandwidth_, target, "%", right);
  }
  /// Adds a result. It reaches a target in percent from above, any other from below.
  void add(std::string const& what, double measured, double target, std::string const& unit, bool right) {
    bool const reached = unit == "%" ? measured >= target : measured <= target;
    std::printf("%-58s %10.2f %10.2f  %-6s %s%s\n", what.c_str(), measured, target, unit.c_str(),
                right ? "right" : "WRONG", reached ? "" : ", target missed");
    std::fflush(stdout);
    wrong_ += right ? 0 : 1;
    json_ += (json_.empty() ? "" : ",\n") + std::string("    {\"what\": \"") + what +
             "\", \"measured\": " + std::to_string(measured) + ", \"target\": " + std::to_string(target) +
             ", \"unit\": \"" + unit + "\", \"right\": " + (right ? "true" : "false") + "}";
  }
  /// Adds a result without a target.
  void only(std::string const& what, double measured, std::string const& unit, bool right) {
    std::printf("%-58s %10.2f %10s  %-6s %s\n", what.c_str(), measured, "-", unit.c_str(), right ? "right" : "WRONG");
    std::fflush(stdout);
    wrong_ += right ? 0 : 1;
    json_ += (json_.empty() ? "" : ",\n") + std::string("    {\"what\": \"") + what +
             "\", \"measured\": " + std::to_string(measured) + ", \"target\": null, \"unit\": \"" + unit +
             "\", \"right\": " + (right ? "true" : "false") + "}";
  }
  /// The status of the program: 1 if a value was wrong. A target that is missed is only shown.
  [[nodiscard]] int end(char const* file) const {
    if (file != nullptr) {
      std::ofstream out(file);
      out << "{\n  \"part\": \"" << part_ << "\",\n  \"device\": \"" << device_
          << "\",\n  \"copy_bytes_per_second\": " << bandwidth_ << ",\n  \"rows\": [\n"
          << json_ << "\n  ]\n}\n";
      if (!out.flush()) {
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
