// SPDX-License-Identifier: Apache-2.0
// test: address (it reads and writes 16 bytes at a time)
//
// The threads of a group together write each element once, wherever operands are, and nothing else.
#include <tutti/bfloat16.hpp>
#include <tutti/cuda/detail/device/after_fold.hpp>
#include <tutti/cuda/detail/device/fused.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

namespace {

namespace device = tutti::detail::device;

/// A thread of a group, run by itself: its synchronisation calls do nothing.
struct lone_thread {
  std::uint32_t number;
  std::uint32_t threads;

  [[nodiscard]] std::uint32_t rank() const { return number; }
  [[nodiscard]] std::uint32_t size() const { return threads; }
  [[nodiscard]] bool barrier_and(bool good) const { return good; }
  [[nodiscard]] std::uint64_t load_acquire(std::uint64_t const* word) const { return *word; }
  void store_release(std::uint64_t* word, std::uint64_t value) const { *word = value; }
  void store_fenced(std::uint64_t* word, std::uint64_t value) const { *word = value; }
  void pause() const {}
  [[nodiscard]] bool is_late() const { return false; }
};

/// An array whose end is the end of its allocation, for the address sanitizer. It begins some elements after a
/// multiple of 16.
template <class T>
class shifted_array {
 public:
  shifted_array(std::size_t n, std::size_t shift) : bytes_(new std::byte[16 + (n + shift) * sizeof(T)]), n_(n) {
    auto const address = reinterpret_cast<std::uintptr_t>(bytes_.get());
    first_ = reinterpret_cast<T*>(bytes_.get() + (16 - address % 16) % 16) + shift;
  }
  [[nodiscard]] T* data() const { return first_; }
  [[nodiscard]] std::vector<T> copy() const { return {first_, first_ + n_}; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t n_;
  T* first_;
};

/// to[i] = 2 a[i] + b[i], written to two arrays; a is the second one.
template <class To, class From>
void check_combination(std::size_t n, std::size_t to_shift, std::size_t a_shift, std::size_t b_shift,
                       std::uint32_t threads) {
  shifted_array<To> const first(n, to_shift);
  shifted_array<To> const second(n, a_shift);
  shifted_array<From> const b(n, b_shift);
  std::vector<To> expected(n);
  for (std::size_t i = 0; i != n; ++i) {
    auto const x = static_cast<float>(i % 50);
    auto const y = static_cast<float>(i % 7);
    second.data()[i] = static_cast<To>(x);
    b.data()[i] = static_cast<From>(y);
    expected[i] = static_cast<To>(2 * x + y);
  }
  unsigned calls = 0;
  auto const f = [&](To const& x, From const& y) {
    ++calls;
    return static_cast<To>(2 * static_cast<float>(x) + static_cast<float>(y));
  };
  for (std::uint32_t t = 0; t != threads; ++t) {
    device::places<To, 2> const destination{{first.data(), second.data()}};
    device::for_each_element(lone_thread{t, threads}, f, n, destination, static_cast<To const*>(second.data()),
                             static_cast<From const*>(b.data()));
  }
  BOOST_TEST(calls == n);
  BOOST_TEST((first.copy() == expected && second.copy() == expected),
             n << " elements of " << sizeof(To) << " and " << sizeof(From) << " bytes, shifts " << to_shift << ' '
               << a_shift << ' ' << b_shift << ", " << threads << " threads");
}
template <class To, class From>
void check_all_shifts() {
  for (std::size_t const n : {0U, 1U, 3U, 4U, 16U, 31U, 100U}) {
    for (std::size_t const to_shift : {0U, 1U, 3U}) {
      for (std::size_t const a_shift : {0U, 1U, 3U}) {
        for (std::size_t const b_shift : {0U, 1U, 2U}) {
          check_combination<To, From>(n, to_shift, a_shift, b_shift,
                                      1 + static_cast<std::uint32_t>((to_shift + n) % 3));
        }
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(elements_of_one_size) {
  check_all_shifts<float, float>();
}
BOOST_AUTO_TEST_CASE(elements_of_two_sizes) {
  check_all_shifts<double, float>();
  check_all_shifts<float, std::int16_t>();
  check_all_shifts<std::int16_t, double>();
}
BOOST_AUTO_TEST_CASE(halves) {
  check_all_shifts<float, tutti::half>();
}

BOOST_AUTO_TEST_CASE(bytes) {
  for (std::size_t const n : {0U, 1U, 2U, 4U, 17U, 64U}) {
    for (std::size_t const shift : {0U, 1U, 2U, 4U}) {
      shifted_array<std::uint8_t> const source(n, shift);
      shifted_array<std::uint8_t> const destination(n, 4 - shift);
      std::iota(source.data(), source.data() + n, std::uint8_t{1});
      for (std::uint32_t t = 0; t != 2; ++t) {
        device::copy_bytes(lone_thread{t, 2}, reinterpret_cast<std::byte const*>(source.data()),
                           reinterpret_cast<std::byte*>(destination.data()), n);
      }
      BOOST_TEST(destination.copy() == source.copy(), boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(what_follows_a_combination) {
  using fold = device::fold_of_all<tutti::sum<float>, 2>;
  for (std::size_t const n : {0U, 1U, 7U, 100U}) {
    for (std::size_t const shift : {0U, 1U}) {
      shifted_array<float> const a(n, 1);
      shifted_array<float> const b(n, 1);
      shifted_array<float> const w(n, shift);
      shifted_array<float> const v(n, 1);
      shifted_array<float> const mean_output(n, 1);
      shifted_array<tutti::bfloat16> const rounded_output(n, shift);
      std::vector<float> weights;
      std::vector<float> velocities;
      std::vector<float> means;
      std::vector<tutti::bfloat16> rounded_sums;
      for (std::size_t i = 0; i != n; ++i) {
        auto const x = static_cast<float>(i) / 3.0F;
        a.data()[i] = x;
        b.data()[i] = 1.0F - x;
        w.data()[i] = 2.0F * x;
        v.data()[i] = x - 7.0F;
        float const sum = b.data()[i] + x;
        // Halves and quarters are exact: the order of roundings does not matter.
        velocities.push_back(0.5F * v.data()[i] + sum);
        weights.push_back(w.data()[i] - 0.25F * velocities.back());
        means.push_back(sum * 0.5F);
        rounded_sums.push_back(static_cast<tutti::bfloat16>(sum));
      }
      float const* const operands[] = {a.data(), b.data()};
      for (std::uint32_t t = 0; t != 2; ++t) {
        lone_thread const g{t, 2};
        device::for_each_element(g, device::scaled_fold<fold, float>{{}, 0.5F}, n, mean_output.data(), operands[0],
                                 operands[1]);
        device::for_each_element(g, device::converted_fold<fold, tutti::bfloat16>{}, n, rounded_output.data(),
                                 operands[0], operands[1]);
        device::for_each_element(g, device::sgd_step<fold, float>{{}, 0.25F, 0.5F}, n,
                                 device::place_pair<float>{{w.data(), v.data()}}, static_cast<float const*>(w.data()),
                                 static_cast<float const*>(v.data()), operands[0], operands[1]);
      }
      BOOST_TEST((mean_output.copy() == means && rounded_output.copy() == rounded_sums));
      BOOST_TEST((w.copy() == weights && v.copy() == velocities), n << " elements, shifted by " << shift);
    }
  }
}
