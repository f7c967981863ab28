// SPDX-License-Identifier: Apache-2.0
//
// Compares the kernels of reductions with the limit of the memory. Operations, element types and instruction sets run
// over spans in the first, second and third cache and in memory. The limit is a loop by hand that moves as many
// streams and computes next to nothing (memcpy for reference). One thread, pinned; contenders take turns; medians.
// `fold [--json <file>] [--quick]`
#include <tutti/bfloat16.hpp>
#include <tutti/detail/reduction/fold.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/bitwise.hpp>
#include <tutti/reduction/reduce_with.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <pthread.h>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct place {
  char const* name;
  std::size_t bytes;  ///< length of one stream
};
constexpr place places[] = {{"L1", 8U << 10}, {"L2", 256U << 10}, {"L3", 2U << 20}, {"memory", 64U << 20}};

/// Three streams, aligned to a cache line, all pages touched, every element about 1.
struct streams {
  std::byte* result;
  std::byte* left;
  std::byte* right;
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// A measured pass over the streams.
struct contender {
  std::string name;
  std::string type;
  std::string kind;   ///< in place (two streams read, one of them written), or out of place (three)
  std::string limit;  ///< name of the contender with which its time is compared
  tutti::detail::instruction_set instructions;
  void (*pass)(streams const&, std::size_t bytes);
  std::vector<double> gigabytes_per_second = {};
};

// Limits, as wide as the machine allows, and with streaming stores where these are faster: the better one counts.

using vector [[gnu::vector_size(32), gnu::may_alias]] = float;

#if defined(__x86_64__)
#define TUTTI_BENCH_WIDE [[gnu::target("avx2"), gnu::noinline]]
#else
#define TUTTI_BENCH_WIDE [[gnu::noinline]]
#endif

TUTTI_BENCH_WIDE void add_in_place(streams const& s, std::size_t bytes) {
  auto* const result = reinterpret_cast<vector*>(s.result);
  auto const* const operand = reinterpret_cast<vector const*>(s.left);
  for (std::size_t i = 0; i < bytes / sizeof(vector); i += 4) {
    vector const a = result[i] + operand[i];
    vector const b = result[i + 1] + operand[i + 1];
    vector const c = result[i + 2] + operand[i + 2];
    vector const d = result[i + 3] + operand[i + 3];
    result[i] = a, result[i + 1] = b, result[i + 2] = c, result[i + 3] = d;
  }
}

TUTTI_BENCH_WIDE void add_out_of_place(streams const& s, std::size_t bytes) {
  auto* const result = reinterpret_cast<vector*>(s.result);
  auto const* const left = reinterpret_cast<vector const*>(s.left);
  auto const* const right = reinterpret_cast<vector const*>(s.right);
  for (std::size_t i = 0; i < bytes / sizeof(vector); i += 4) {
    vector const a = left[i] + right[i];
    vector const b = left[i + 1] + right[i + 1];
    vector const c = left[i + 2] + right[i + 2];
    vector const d = left[i + 3] + right[i + 3];
    result[i] = a, result[i + 1] = b, result[i + 2] = c, result[i + 3] = d;
  }
}

TUTTI_BENCH_WIDE void add_streaming(streams const& s, std::size_t bytes) {
#if defined(__x86_64__)
  auto* const result = reinterpret_cast<vector*>(s.result);
  auto const* const left = reinterpret_cast<vector const*>(s.left);
  auto const* const right = reinterpret_cast<vector const*>(s.right);
  for (std::size_t i = 0; i < bytes / sizeof(vector); ++i) {
    vector const sum = left[i] + right[i];
    asm volatile("vmovntps %1, %0" : "=m"(result[i]) : "x"(sum));
  }
  asm volatile("sfence" ::: "memory");
#else
  add_out_of_place(s, bytes);
#endif
}

void copy(streams const& s, std::size_t bytes) {
  std::memcpy(s.result, s.left, bytes);
}

/// Halves its left operand, so that results stay finite: a user's function, with a product and a sum.
struct damp {
  template <class T>
  T operator()(T a, T b) const {
    return a * T(0.5F) + b;
  }
};

template <class R>
R make() {
  return R{};
}
template <class T>
using damping = decltype(tutti::reduce_with<T>(damp{}));
template <>
damping<float> make() {
  return tutti::reduce_with<float>(damp{});
}
template <>
damping<tutti::half> make() {
  return tutti::reduce_with<tutti::half>(damp{});
}

template <class R, bool InPlace, bool Finishes>
void fold_streams(streams const& s, std::size_t bytes) {
  tutti::detail::fold(make<R>(), {.finishes = Finishes}, InPlace ? s.result : s.left, s.right, s.result,
                      bytes / sizeof(typename R::value_type), 2);
}

char const* name_of(tutti::detail::instruction_set set) {
  return set == tutti::detail::instruction_set::avx512 ? "avx512"
         : set == tutti::detail::instruction_set::avx2 ? "avx2"
                                                       : "baseline";
}

class bench {
 public:
  explicit bench(int rounds) : rounds_(rounds) {
    add("memcpy", "bytes", "copy", "", copy);
    add("limit", "float32", "in place", "", add_in_place);
    add("limit", "float32", "out of place", "", add_out_of_place);
    add("limit", "float32", "streaming", "", add_streaming);
  }

  template <class R>
  void reduction() {
    for (auto set : {tutti::detail::instruction_set::baseline, tutti::detail::instruction_set::avx2,
                     tutti::detail::instruction_set::avx512}) {
      if (set <= tutti::detail::available_instructions()) {
        std::string const type(tutti::element_name<typename R::value_type>());
        std::string const name(R::name);
        add(name, type, "in place", "in place", fold_streams<R, true, false>, set);
        add(name, type, "out of place", "out of place", fold_streams<R, false, false>, set);
        if (tutti::detail::lowers<R>) {
          add(name, type, "last", "out of place", fold_streams<R, false, true>, set);
        }
      }
    }
  }

  void run(place level) {
    memory_.assign(3 * (level.bytes + 4096) + 64, std::byte{0});
    auto* const begin = memory_.data() + (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64);
    streams const s{begin, begin + level.bytes + 1024, begin + 2 * (level.bytes + 1024)};
    for (int round = 0; round <= rounds_; ++round) {
      for (contender& c : contenders_) {
        tutti::detail::limit_instructions(c.instructions);
        int const passes = static_cast<int>(std::max<std::size_t>(1, (std::size_t{1} << 20) / level.bytes));
        c.pass(s, level.bytes);
        double const begin_time = seconds();
        for (int i = 0; i < passes; ++i) {
          c.pass(s, level.bytes);
          asm volatile("" ::: "memory");
        }
        double const bytes_moved = (c.kind == "copy" ? 2.0 : 3.0) * static_cast<double>(level.bytes) * passes;
        if (round != 0) {
          c.gigabytes_per_second.push_back(bytes_moved / (seconds() - begin_time) * 1e-9);
        }
      }
    }
    report(level);
  }

  void write(std::FILE* file) const { std::fprintf(file, "[\n%s\n]\n", json_.c_str()); }

 private:
  void add(std::string name, std::string type, std::string kind, std::string limit, decltype(contender::pass) pass,
           tutti::detail::instruction_set set = tutti::detail::instruction_set::baseline) {
    contenders_.push_back({std::move(name), std::move(type), std::move(kind), std::move(limit), set, pass});
  }

  void report(place level) {
    std::map<std::string, double> limits;
    std::printf("\n%s: %zu KiB a stream; GB/s read and written\n", level.name, level.bytes >> 10);
    for (contender& c : contenders_) {
      double const speed = median(c.gigabytes_per_second);
      if (c.limit.empty()) {
        limits[c.kind] = speed;
      }
      double const limit = c.limit == "out of place" ? std::max(limits["out of place"], limits["streaming"])
                           : c.limit.empty()         ? speed
                                                     : limits[c.limit];
      std::printf("  %-8s %-9s %-13s %-9s %7.1f %6.2f of the limit\n", c.name.c_str(), c.type.c_str(), c.kind.c_str(),
                  c.limit.empty() ? "" : name_of(c.instructions), speed, speed / limit);
      char line[400];
      std::snprintf(line, sizeof line,
                    R"(  {"place": "%s", "bytes": %zu, "operation": "%s", "type": "%s", "kind": "%s", )"
                    R"("instructions": "%s", "gigabytes_per_second": %.2f, "of_limit": %.3f})",
                    level.name, level.bytes, c.name.c_str(), c.type.c_str(), c.kind.c_str(), name_of(c.instructions),
                    speed, speed / limit);
      json_ += (json_.empty() ? "" : ",\n") + std::string(line);
      c.gigabytes_per_second.clear();
    }
  }

  int rounds_;
  std::vector<contender> contenders_;
  std::vector<std::byte> memory_;
  std::string json_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string json;
  int rounds = 15;
  for (int i = 1; i < argc; ++i) {
    std::string_view const word = argv[i];
    if (word == "--quick") {
      rounds = 3;
    } else if (word == "--json" && i + 1 < argc) {
      json = argv[++i];
    } else {
      std::fprintf(stderr, "usage: fold [--json <file>] [--quick]\n");
      return 2;
    }
  }
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(0, &cores);
  ::pthread_setaffinity_np(::pthread_self(), sizeof cores, &cores);

  bench kernels(rounds);
  kernels.reduction<tutti::sum<float>>();
  kernels.reduction<tutti::sum<double>>();
  kernels.reduction<tutti::sum<tutti::half>>();
  kernels.reduction<tutti::sum<tutti::bfloat16>>();
  kernels.reduction<tutti::sum<std::int8_t>>();
  kernels.reduction<tutti::sum<std::int32_t>>();
  kernels.reduction<tutti::prod<std::int64_t>>();
  kernels.reduction<tutti::min<float>>();
  kernels.reduction<tutti::max<float>>();
  kernels.reduction<tutti::min<std::int64_t>>();
  kernels.reduction<tutti::mean<float>>();
  kernels.reduction<tutti::bit_xor<std::uint32_t>>();
  kernels.reduction<damping<float>>();
  kernels.reduction<damping<tutti::half>>();
  std::printf("The processor has %s; medians of %d rounds\n", name_of(tutti::detail::available_instructions()), rounds);
  for (place const& level : places) {
    kernels.run(level);
  }
  if (!json.empty()) {
    std::FILE* const file = std::fopen(json.c_str(), "w");
    if (file == nullptr) {
      std::fprintf(stderr, "cannot write %s\n", json.c_str());
      return 1;
    }
    kernels.write(file);
    std::fclose(file);
  }
  return 0;
}
