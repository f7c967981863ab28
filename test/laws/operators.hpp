// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/concept.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// The law of the operators: results equal the sequential answer. Every check runs on one rank of a world and returns
/// a complaint, or "".
namespace laws {

using tutti::rank_type;

/// Lengths of vectors: none, fewer than ranks, a power of two, one less than one, a prime.
inline constexpr std::array<std::size_t, 6> lengths{0, 1, 5, 64, 1023, 4099};

/// x -> a x + b, modulo 2^32: composition is associative and not commutative.
struct affine {
  std::uint32_t a;
  std::uint32_t b;
  friend bool operator==(affine, affine) = default;
};

struct composition {
  using value_type = affine;
  using accumulator_type = affine;
  static constexpr std::string_view name = "compose";
  static constexpr bool commutative = false;
  static constexpr bool associative = true;
  [[nodiscard]] constexpr affine identity() const { return {1, 0}; }
  [[nodiscard]] constexpr affine lift(affine x) const { return x; }
  [[nodiscard]] constexpr affine combine(affine f, affine g) const { return {f.a * g.a, f.a * g.b + f.b}; }
  [[nodiscard]] constexpr affine lower(affine x, rank_type) const { return x; }
};

/// A mean whose accumulators are not elements: larger, of another type, lifted and lowered.
struct wide_mean {
  struct accumulator {
    double sum;
    std::uint64_t count;
  };
  using value_type = float;
  using accumulator_type = accumulator;
  static constexpr std::string_view name = "wide mean";
  static constexpr bool commutative = true;
  static constexpr bool associative = false;
  [[nodiscard]] constexpr accumulator identity() const { return {0, 0}; }
  [[nodiscard]] constexpr accumulator lift(float x) const { return {double{x}, 1}; }
  [[nodiscard]] constexpr accumulator combine(accumulator x, accumulator y) const {
    return {x.sum + y.sum, x.count + y.count};
  }
  [[nodiscard]] constexpr float lower(accumulator x, rank_type n) const {
    return x.count == n ? static_cast<float>(x.sum / static_cast<double>(n)) : -1.0F;
  }
};

/// Three different words: an element whose size divides no block or chunk size.
struct triple {
  std::uint64_t x, y, z;
  friend bool operator==(triple, triple) = default;
};

/// Element i of the contribution of rank r in round k. Sums of these are exact in float.
template <class T>
[[nodiscard]] constexpr T contribution(rank_type r, std::size_t i, std::size_t k) {
  auto const word = static_cast<std::uint32_t>((r + 1) * 7 + i * 13 + k * 29 + (i * (r + 3)) % 11);
  if constexpr (std::same_as<T, affine>) {
    return {2 * word + 1, word + 1};
  } else if constexpr (std::same_as<T, triple>) {
    return {word, word * 3ULL, r * 1000ULL + i};
  } else {
    return static_cast<T>(word % 512);
  }
}

/// Contributions do not commute under composition; otherwise no law would notice that the order of ranks is lost.
static_assert(composition{}.combine(contribution<affine>(0, 0, 0), contribution<affine>(1, 0, 0)) !=
              composition{}.combine(contribution<affine>(1, 0, 0), contribution<affine>(0, 0, 0)));

/// Returns make(), computed once a thread for each key. Expected results are equal for every topology, segment and
/// root, and computing them again would take longer than the operators.
template <class T, class Make>
[[nodiscard]] std::vector<T> const& once(std::array<std::size_t, 3> const& key, Make make) {
  thread_local std::map<std::array<std::size_t, 3>, std::vector<T>> cache;  // one for each Make: a lambda is a type
  auto const [entry, is_new] = cache.try_emplace(key);
  if (is_new) {
    entry->second = make();
  }
  return entry->second;
}

template <class T>
[[nodiscard]] std::vector<T> const& contributions(rank_type r, std::size_t count, std::size_t k) {
  return once<T>({r, count, k}, [&] {
    std::vector<T> v;
    v.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      v.push_back(contribution<T>(r, i, k));
    }
    return v;
  });
}

/// The sequential answer, in rank order.
template <class R>
  requires std::is_empty_v<R>  // its type identifies it
[[nodiscard]] std::vector<typename R::value_type> const& sequential(R const& r, rank_type n, std::size_t count,
                                                                    std::size_t k) {
  using T = typename R::value_type;
  return once<T>({n, count, k}, [&] {
    std::vector<T> answer;
    answer.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      auto acc = r.lift(contribution<T>(0, i, k));
      for (rank_type other = 1; other < n; ++other) {
        acc = r.combine(acc, r.lift(contribution<T>(other, i, k)));
      }
      answer.push_back(r.lower(acc, n));
    }
    return answer;
  });
}

template <class T>
[[nodiscard]] bool equal_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Overwrites a buffer that has just been given back: a peer that still reads it gets wrong results.
template <class T>
void spoil(std::vector<T>& v) {
  if (!v.empty()) {
    std::memset(static_cast<void*>(v.data()), 0xA5, v.size() * sizeof(T));
  }
}

/// The blocks of a vector that is cut equally.
[[nodiscard]] inline tutti::partition equal_blocks(std::size_t count, rank_type n) {
  std::vector<std::size_t> block_lengths;
  for (rank_type r = 0; r < n; ++r) {
    block_lengths.push_back(tutti::block_size(count, n, r));
  }
  return tutti::partition(block_lengths);
}

/// Blocks whose lengths are drawn from a seed: none, few or many elements. One rank has all of every fourth vector.
[[nodiscard]] inline tutti::partition drawn_blocks(rank_type n, std::uint32_t seed) {
  std::mt19937 random(seed * 131 + n);
  std::vector<std::size_t> block_lengths(n);
  for (std::size_t& length : block_lengths) {
    std::uint32_t const limits[] = {1, 4, 40, 400};
    length = random() % limits[random() % 4];
  }
  if (seed % 4 == 3) {
    std::fill(block_lengths.begin(), block_lengths.end(), 0);
    block_lengths[random() % n] = 1023;
  }
  return tutti::partition(block_lengths);
}

/// The block of rank r of a vector.
template <class T>
[[nodiscard]] std::vector<T> block_of(std::vector<T> const& v, tutti::partition const& blocks, rank_type r) {
  auto const first = v.begin() + static_cast<std::ptrdiff_t>(blocks.begin(r));
  return {first, first + static_cast<std::ptrdiff_t>(blocks.length(r))};
}

/// The block of rank r of a vector that is cut equally.
template <class T>
[[nodiscard]] std::vector<T> block_of(std::vector<T> const& v, rank_type n, rank_type r) {
  auto const first = v.begin() + static_cast<std::ptrdiff_t>(tutti::block_begin(v.size(), n, r));
  return {first, first + static_cast<std::ptrdiff_t>(tutti::block_size(v.size(), n, r))};
}

/// Describes the case that failed.
template <class Topology>
[[nodiscard]] std::string wrong(std::string const& description, std::string_view reduction, rank_type n,
                                std::size_t count, std::size_t segment, rank_type root = 0) {
  return description + " over " + std::string(Topology::name) + " " + std::string(reduction) + ", n " +
         std::to_string(n) + ", count " + std::to_string(count) + ", segment " + std::to_string(segment) + ", root " +
         std::to_string(root);
}

/// Roots worth testing: first, last, middle, one more.
[[nodiscard]] inline std::vector<rank_type> roots(rank_type n) {
  std::vector<rank_type> roots_to_test{0, n - 1, n / 2, n / 3};
  std::sort(roots_to_test.begin(), roots_to_test.end());
  roots_to_test.erase(std::unique(roots_to_test.begin(), roots_to_test.end()), roots_to_test.end());
  return roots_to_test;
}

/// A list of topologies, to call a function with each.
template <class... Topologies>
struct topologies {
  template <class... More>
  using append = topologies<Topologies..., More...>;

  /// Returns the first complaint of `f(topology)`.
  template <class F>
  [[nodiscard]] static std::string first_complaint(F f) {
    std::string complaint;
    ((complaint.empty() ? void(complaint = f(Topologies{})) : void()), ...);
    return complaint;
  }
};

/// Calls f(count, segment bytes) for every length, without and with segments.
template <class F>
[[nodiscard]] std::string each_length(std::size_t longest, F f) {
  std::string complaint;
  for (std::size_t const count : lengths) {
    for (std::size_t const segment : {std::size_t{0}, std::size_t{96}, std::size_t{1000}}) {
      bool const worth_it = segment == 0 || (count > 5 && count * 4 / segment < 100);
      if (count <= longest && worth_it && complaint.empty()) {
        complaint = f(count, segment);
      }
    }
  }
  return complaint;
}

/// Calls f(partition, segment bytes) for equal blocks of every length, and f(partition, segment bytes, partition) for
/// blocks of drawn lengths.
template <class F>
[[nodiscard]] std::string each_partition(rank_type n, std::size_t longest, F f) {
  std::string complaint =
      each_length(longest, [&](std::size_t count, std::size_t segment) { return f(equal_blocks(count, n), segment); });
  constexpr std::size_t segments[] = {0, 1000, 500, 4000};  // some twenty of each at most
  for (std::uint32_t seed = 0; seed < 4 && complaint.empty(); ++seed) {
    tutti::partition const blocks = drawn_blocks(n, seed);
    complaint = f(blocks, segments[seed], blocks);
  }
  return complaint;
}

/// Calls f(count, segment bytes, root) for every length and for every root worth testing in a world of n.
template <class F>
[[nodiscard]] std::string each_length_and_root(rank_type n, std::size_t longest, F f) {
  return each_length(longest, [&](std::size_t count, std::size_t segment) {
    std::string complaint;
    for (rank_type const root : roots(n)) {
      complaint = complaint.empty() ? f(count, segment, root) : complaint;
    }
    return complaint;
  });
}

}  // namespace laws
