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
  [[nodiscard]] bool all(bool good) const { return good; }
  [[nodiscard]] std::uint64_t look(std::uint64_t const* word) const { return *word; }
  void tell(std::uint64_t* word, std::uint64_t value) const { *word = value; }
  void announce(std::uint64_t* word, std::uint64_t value) const { *word = value; }
  void pause() const {}
  [[nodiscard]] bool is_late() const { return false; }
};

/// An array whose end is the end of its allocation, for the address sanitizer. It begins some elements after a
/// multiple of 16.
template <class T>
class shifted {
 public:
  shifted(std::size_t n, std::size_t by) : bytes_(new std::byte[16 + (n + by) * sizeof(T)]), n_(n) {
    auto const here = reinterpret_cast<std::uintptr_t>(bytes_.get());
    first_ = reinterpret_cast<T*>(bytes_.get() + (16 - here % 16) % 16) + by;
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
void combines(std::size_t n, std::size_t to_shift, std::size_t a_shift, std::size_t b_shift, std::uint32_t threads) {
  shifted<To> const first(n, to_shift);
  shifted<To> const second(n, a_shift);
  shifted<From> const b(n, b_shift);
  std::vector<To> wanted(n);
  for (std::size_t i = 0; i != n; ++i) {
    auto const x = static_cast<float>(i % 50);
    auto const y = static_cast<float>(i % 7);
    second.data()[i] = static_cast<To>(x);
    b.data()[i] = static_cast<From>(y);
    wanted[i] = static_cast<To>(2 * x + y);
  }
  unsigned calls = 0;
  auto const f = [&](To const& x, From const& y) {
    ++calls;
    return static_cast<To>(2 * static_cast<float>(x) + static_cast<float>(y));
  };
  for (std::uint32_t t = 0; t != threads; ++t) {
    device::places<To, 2> const to{{first.data(), second.data()}};
    device::for_each_element(lone_thread{t, threads}, f, n, to, static_cast<To const*>(second.data()),
                             static_cast<From const*>(b.data()));
  }
  BOOST_TEST(calls == n);
  BOOST_TEST((first.copy() == wanted && second.copy() == wanted),
             n << " elements of " << sizeof(To) << " and " << sizeof(From) << " bytes, shifts " << to_shift << ' '
               << a_shift << ' ' << b_shift << ", " << threads << " threads");
}
template <class To, class From>
void everywhere() {
  for (std::size_t const n : {0U, 1U, 3U, 4U, 16U, 31U, 100U}) {
    for (std::size_t const to : {0U, 1U, 3U}) {
      for (std::size_t const a : {0U, 1U, 3U}) {
        for (std::size_t const b : {0U, 1U, 2U}) {
          combines<To, From>(n, to, a, b, 1 + static_cast<std::uint32_t>((to + n) % 3));
        }
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(elements_of_one_size) {
  everywhere<float, float>();
}
BOOST_AUTO_TEST_CASE(elements_of_two_sizes) {
  everywhere<double, float>();
  everywhere<float, std::int16_t>();
  everywhere<std::int16_t, double>();
}
BOOST_AUTO_TEST_CASE(halves) {
  everywhere<float, tutti::half>();
}

BOOST_AUTO_TEST_CASE(bytes) {
  for (std::size_t const n : {0U, 1U, 2U, 4U, 17U, 64U}) {
    for (std::size_t const by : {0U, 1U, 2U, 4U}) {
      shifted<std::uint8_t> const from(n, by);
      shifted<std::uint8_t> const to(n, 4 - by);
      std::iota(from.data(), from.data() + n, std::uint8_t{1});
      for (std::uint32_t t = 0; t != 2; ++t) {
        device::copy_bytes(lone_thread{t, 2}, reinterpret_cast<std::byte const*>(from.data()),
                           reinterpret_cast<std::byte*>(to.data()), n);
      }
      BOOST_TEST(to.copy() == from.copy(), boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(what_follows_a_combination) {
  using fold = device::fold_of_all<tutti::sum<float>, 2>;
  for (std::size_t const n : {0U, 1U, 7U, 100U}) {
    for (std::size_t const by : {0U, 1U}) {
      shifted<float> const a(n, 1);
      shifted<float> const b(n, 1);
      shifted<float> const w(n, by);
      shifted<float> const v(n, 1);
      shifted<float> const scaled(n, 1);
      shifted<tutti::bfloat16> const narrow(n, by);
      std::vector<float> weights;
      std::vector<float> velocities;
      std::vector<float> means;
      std::vector<tutti::bfloat16> rounded;
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
        rounded.push_back(static_cast<tutti::bfloat16>(sum));
      }
      float const* const from[] = {a.data(), b.data()};
      for (std::uint32_t t = 0; t != 2; ++t) {
        lone_thread const g{t, 2};
        device::for_each_element(g, device::scaled<fold, float>{{}, 0.5F}, n, scaled.data(), from[0], from[1]);
        device::for_each_element(g, device::converted<fold, tutti::bfloat16>{}, n, narrow.data(), from[0], from[1]);
        device::for_each_element(g, device::sgd_step<fold, float>{{}, 0.25F, 0.5F}, n,
                                 device::two_places<float>{{w.data(), v.data()}}, static_cast<float const*>(w.data()),
                                 static_cast<float const*>(v.data()), from[0], from[1]);
      }
      BOOST_TEST((scaled.copy() == means && narrow.copy() == rounded));
      BOOST_TEST((w.copy() == weights && v.copy() == velocities), n << " elements, shifted by " << by);
    }
  }
}
