// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/all_topologies.hpp>
#include <support/worlds.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/location.hpp>

#include <xtensor/xadapt.hpp>
#include <xtensor/xview.hpp>

#include <Eigen/Core>
#include <array>
#include <complex>
#include <random>
#include <span>
#include <string>
#include <vector>

/// The law of buffers: whatever part of a memory an operator is given, what it makes is the sequential answer in that
/// part and nothing elsewhere; or the part has gaps, and every rank refuses it and changes nothing.
namespace laws {

/// A class of a user's.
template <class T>
struct own_buffer {
  T* first;
  std::size_t count;
  [[nodiscard]] T* data() const { return first; }
  [[nodiscard]] std::size_t size() const { return count; }
};

}  // namespace laws

template <class T>
inline constexpr bool tutti::enable_buffer<laws::own_buffer<T>> = true;

namespace laws {

using places = std::vector<std::size_t>;

/// A matrix of at most 9 x 9 in a row, and a part of it. The same on all ranks.
struct some_part {
  explicit some_part(std::mt19937& random) {
    auto const below = [&](std::size_t n) { return std::size_t{random()} % n; };
    rows = 1 + below(9);
    columns = 1 + below(9);
    row = below(rows);
    end_row = row + below(rows - row + 1);
    column = below(columns);
    end_column = column + below(columns - column + 1);
    kind = below(kinds);
  }

  static constexpr std::size_t kinds = 10;
  /// Elements of the memory: enough for the array, which has dimensions of its own.
  static constexpr std::size_t most = 81;

  std::size_t rows, columns, row, end_row, column, end_column, kind;
};

/// The places at row * by_row + column * by_column, the column running first.
[[nodiscard]] inline places grid(std::size_t begin, std::size_t rows, std::size_t by_row, std::size_t columns,
                                 std::size_t by_column) {
  places all;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      all.push_back(begin + i * by_row + j * by_column);
    }
  }
  return all;
}

/// Calls use(buffer, the places of its elements) with a part of the memory.
template <class T, class Use>
void with_part(some_part const& p, std::vector<T>& memory, Use use) {
  std::size_t const height = p.end_row - p.row;
  std::size_t const width = p.end_column - p.column;
  std::size_t const at = p.row * p.columns + p.column;
  auto tensor = xt::adapt(memory.data(), p.rows * p.columns, xt::no_ownership(), std::array{p.rows, p.columns});
  auto const index = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
  switch (p.kind) {
    case 0:
      return use(std::span(memory).subspan(at, width), grid(at, 1, 0, width, 1));
    case 1:
      return use(own_buffer<T>{memory.data() + at, width}, grid(at, 1, 0, width, 1));
    case 2: {
      T array[3][3][9];
      std::copy(memory.begin(), memory.end(), &array[0][0][0]);
      use(array, grid(0, 1, 0, 81, 1));
      std::copy_n(&array[0][0][0], 81, memory.begin());
      return;
    }
    case 3:
      return use(tensor, grid(0, 1, 0, p.rows * p.columns, 1));
    case 4:
      return use(xt::view(tensor, p.row), grid(p.row * p.columns, 1, 0, p.columns, 1));
    case 5:
      return use(xt::view(tensor, xt::range(p.row, p.end_row), xt::all()),
                 grid(p.row * p.columns, height, p.columns, p.columns, 1));
    case 6:
      return use(xt::view(tensor, xt::all(), p.column), grid(p.column, p.rows, p.columns, 1, 1));
    case 7:
      return use(xt::view(tensor, xt::range(p.row, p.end_row), xt::range(p.column, p.end_column)),
                 grid(at, height, p.columns, width, 1));
    default:
      if constexpr (tutti::complex_number<T>) {  // by columns: places and names of rows and columns are exchanged
        Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>> matrix(memory.data(), index(p.columns),
                                                                            index(p.rows));
        if (p.kind == 8) {
          return use(matrix.middleCols(index(p.row), index(height)),
                     grid(p.row * p.columns, height, p.columns, p.columns, 1));
        }
        return use(matrix.block(index(p.column), index(p.row), index(width), index(height)),
                   grid(at, height, p.columns, width, 1));
      } else {
        return use(memory, grid(0, 1, 0, memory.size(), 1));
      }
  }
}

/// What rank r has in its memory in a trial. Sums of these are exact.
template <class T>
[[nodiscard]] std::vector<T> filled(rank_type r, unsigned trial) {
  std::mt19937 random(trial * 1000 + r);
  std::vector<T> all(some_part::most);
  for (T& x : all) {
    auto const small = [&] { return static_cast<float>(random() % 64) - 32.0F; };
    if constexpr (tutti::complex_number<T>) {
      auto const real = small();
      x = T(real, small());
    } else {
      x = {small(), static_cast<std::uint32_t>(random() % 8)};
    }
  }
  return all;
}

/// One operation on a part of what the ranks have.
template <class R, class Reduce, class Share>
[[nodiscard]] std::string trial(rank_type n, rank_type me, unsigned number, Reduce& reduce, Share& share) {
  using T = typename R::value_type;
  std::mt19937 random(number);
  some_part const part(random);
  auto const how = static_cast<unsigned>(random() % 3);  // in place, out of place, broadcast
  auto const root = static_cast<rank_type>(random() % n);

  auto memory = filled<T>(me, number);
  std::vector<T> wanted = memory;
  std::vector<T> all = how == 2 ? filled<T>(root, number) : filled<T>(0, number);
  for (rank_type r = 1; r < n && how != 2; ++r) {
    auto const other = filled<T>(r, number);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = R::combine(all[i], other[i]);
    }
  }

  std::string complaint;
  with_part(part, memory, [&](auto&& buffer, places const& at) {
    bool gaps = false;
    for (std::size_t i = 1; i < at.size(); ++i) {
      gaps = gaps || at[i] != at[i - 1] + 1;
    }
    std::vector<T> apart(at.size());
    bool refused = false;
    try {
      if (how == 0) {
        reduce(buffer);
      } else if (how == 1) {
        reduce(buffer, apart);
      } else {
        share(buffer, root);
      }
    } catch (tutti::precondition_error const&) {
      refused = true;
    }
    if (refused != gaps) {
      complaint = gaps ? "gaps are not refused" : "what has no gaps is refused";
    }
    for (std::size_t i = 0; i < at.size() && !gaps; ++i) {
      if (how == 1 && !(apart[i] == all[at[i]])) {
        complaint = "the output is wrong";
      } else if (how != 1) {
        wanted[at[i]] = all[at[i]];
      }
    }
  });
  if (complaint.empty() && !(memory == wanted)) {
    complaint = "the memory is wrong";
  }
  return complaint.empty() ? complaint
                           : complaint + ", kind " + std::to_string(part.kind) + ", how " + std::to_string(how) +
                                 ", trial " + std::to_string(number);
}

template <class R, class World, class Topology>
[[nodiscard]] std::string trials(World& world, Topology topology, unsigned count) {
  tutti::allreduce reduce{world, topology, R{}};
  tutti::broadcast share{world, topology};
  for (unsigned k = 0; k < count; ++k) {
    auto const complaint = trial<R>(world.size(), world.rank(), world.size() * count + k, reduce, share);
    if (!complaint.empty()) {
      return complaint + ", " + std::string(R::name) + " over " + std::string(Topology::name);
    }
  }
  return {};
}

template <class Transport>
void any_buffer_is_right_or_refused() {
  for (rank_type const n : {1U, 2U, 3U, 5U, 8U}) {
    support::agree<Transport>(n, [&](auto& world) {
      return all_topologies::each([&](auto topology) {
        auto const complaint = trials<tutti::sum<std::complex<float>>>(world, topology, 100);
        return complaint.empty() ? trials<tutti::min_location<float>>(world, topology, 60) : complaint;
      });
    });
  }
}

}  // namespace laws
