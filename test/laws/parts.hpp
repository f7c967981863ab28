// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/allocator.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <random>
#include <span>
#include <vector>

namespace laws {

/// Random numbers that depend only on the seed; those of the standard's distributions may differ between libraries.
class dice {
 public:
  explicit dice(std::uint64_t seed) : draw_(seed) {}

  /// One of 0, 1, ..., n - 1.
  [[nodiscard]] std::size_t draw_below(std::size_t n) { return static_cast<std::size_t>(draw_() % n); }
  [[nodiscard]] bool one_in(std::size_t n) { return draw_below(n) == 0; }

 private:
  std::mt19937_64 draw_;
};

/// A buffer with guard memory on both sides, from the heap or from the transport, and the expected content of all of
/// it after an operation.
template <class T>
class room {
 public:
  /// The number of elements on each side. Equals the length of the arrays among the parts, so that three of these fill
  /// the memory.
  static constexpr std::size_t margin = 27;

  /// Makes a buffer of `count` elements, with arbitrary bytes in it and around it.
  template <class World>
  room(World& world, dice& local_dice, std::size_t count)
      : heap_(local_dice.one_in(2) ? 2 * margin + count : 0),
        transport_memory_(heap_.empty() ? 2 * margin + count : 0, tutti::allocator<T>(world)),
        elements_(heap_.empty() ? std::span<T>(transport_memory_) : std::span<T>(heap_)) {
    auto* const bytes = reinterpret_cast<unsigned char*>(elements_.data());
    for (std::size_t i = 0; i < elements_.size_bytes(); ++i) {
      bytes[i] = static_cast<unsigned char>(i * 37 + 11);
    }
    expected_.assign(elements_.begin(), elements_.end());
  }
  /// Makes a buffer that holds these values.
  template <class World>
  room(World& world, dice& local_dice, std::vector<T> const& values) : room(world, local_dice, values.size()) {
    write(0, values);
  }

  [[nodiscard]] std::span<T> part() const { return elements_.subspan(margin, elements_.size() - 2 * margin); }
  /// The buffer and its guard memory.
  [[nodiscard]] std::span<T> guarded_memory() const { return elements_; }

  /// Writes elements into the buffer, before the operation.
  void write(std::size_t at, std::vector<T> const& values) {
    std::copy(values.begin(), values.end(), part().begin() + static_cast<std::ptrdiff_t>(at));
    expect(at, values);
  }
  /// Sets the elements that the operation shall leave in the buffer. Everything else shall be unchanged.
  void expect(std::size_t at, std::vector<T> const& values) {
    std::copy(values.begin(), values.end(), expected_.begin() + static_cast<std::ptrdiff_t>(margin + at));
  }
  /// Permits any content of the buffer after the operation.
  void expect_anything() {
    std::copy(part().begin(), part().end(), expected_.begin() + static_cast<std::ptrdiff_t>(margin));
  }
  [[nodiscard]] bool as_expected() const {
    return std::memcmp(elements_.data(), expected_.data(), elements_.size_bytes()) == 0;
  }

 private:
  std::vector<T> heap_;
  std::vector<T, tutti::allocator<T>> transport_memory_;
  std::span<T> elements_;
  std::vector<T> expected_;
};

/// A user's class that declares itself a buffer.
template <class T>
struct own_buffer {
  T* first;
  std::size_t count;
  [[nodiscard]] T* data() const { return first; }
  [[nodiscard]] std::size_t size() const { return count; }
};

/// A matrix whose strides are known at run time, with the members by which tutti recognizes classes of xtensor.
template <class T>
struct strided_matrix {
  T* first;
  std::size_t offset;
  std::array<std::size_t, 2> extents;
  std::array<std::size_t, 2> steps;
  [[nodiscard]] T* data() const { return first; }
  [[nodiscard]] std::size_t data_offset() const { return offset; }
  [[nodiscard]] std::size_t size() const { return extents[0] * extents[1]; }
  [[nodiscard]] std::array<std::size_t, 2> const& shape() const { return extents; }
  [[nodiscard]] std::array<std::size_t, 2> const& strides() const { return steps; }
};

}  // namespace laws

template <class T>
inline constexpr bool tutti::enable_buffer<laws::own_buffer<T>> = true;

namespace laws {

/// A number of columns, at most `limit`, that divides the number of elements.
[[nodiscard]] inline std::size_t some_columns(dice& local_dice, std::size_t count, std::size_t limit) {
  std::size_t columns = 1 + local_dice.draw_below(limit);
  while (count % columns != 0) {
    --columns;
  }
  return columns;
}

/// Copies a memory into `copy`, calls use(), and copies it back: for buffers that own their elements.
template <class T, class Use>
void through_copy(std::span<T> memory, T* copy, Use use) {
  std::copy(memory.begin(), memory.end(), copy);
  use();
  std::copy_n(copy, memory.size(), memory.begin());
}

/// Buffers that need no library.
struct plain_parts {
  /// Calls use(buffer) with the room's elements as a buffer of a drawn class.
  template <class T, class Use>
  static void whole(dice& local_dice, room<T> const& r, Use use) {
    constexpr std::size_t a = room<T>::margin;
    std::span<T> const part = r.part();
    switch (local_dice.draw_below(part.size() == a ? 6 : 4)) {
      case 0:
        return use(part);
      case 1: {
        std::vector<T> v(part.size());
        return through_copy(part, v.data(), [&] { use(v); });
      }
      case 2: {
        own_buffer<T> b{part.data(), part.size()};
        return use(b);
      }
      case 3: {
        std::size_t const columns = some_columns(local_dice, part.size(), 40);
        std::size_t const rows = part.size() / columns;
        strided_matrix<T> m{
            r.guarded_memory().data(), a, {rows, columns}, {rows == 1 ? 99U : columns, columns == 1 ? 99U : 1U}};
        return use(m);
      }
      case 4: {
        T array[3][3][a / 3];
        return through_copy(r.guarded_memory(), &array[0][0][0], [&] { use(array[1]); });
      }
      default: {
        std::array<std::array<T, a>, 3> arrays;
        return through_copy(r.guarded_memory(), arrays[0].data(), [&] { use(arrays[1]); });
      }
    }
  }

  /// Calls use(view) with a part of the room's memory that has gaps.
  template <class T, class Use>
  static void with_gaps(dice& local_dice, room<T> const& r, Use use) {
    std::size_t const columns = 1 + r.part().size() / 2;
    strided_matrix<T> by_columns{r.guarded_memory().data(), local_dice.draw_below(9), {2, columns}, {1, 2}};
    strided_matrix<T> apart{
        r.guarded_memory().data(), local_dice.draw_below(9), {2, columns}, {columns + 1 + local_dice.draw_below(9), 1}};
    use(columns > 1 && local_dice.one_in(2) ? by_columns : apart);
  }
};

}  // namespace laws
