// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/thread_group.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/detail/reduction/fold.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0::detail::device {

/// The number of elements that are moved at once: 16 bytes of the widest type, or one if that is no whole number.
template <class... T>
inline constexpr std::size_t pack_elements = [] {
  std::size_t widest = 1;
  bool powers = true;
  ((widest = sizeof(T) > widest ? sizeof(T) : widest, powers = powers && (sizeof(T) & (sizeof(T) - 1)) == 0), ...);
  return powers && widest <= 16 ? 16 / widest : std::size_t{1};
}();

template <class T, std::size_t N>
struct alignas(N * sizeof(T)) pack {
  T at[N];
};

/// The bytes of a pack as words, from which shifts extract the elements (compilers.md: Loads of a GPU).
template <std::size_t Bytes>
struct [[gnu::may_alias]] alignas(Bytes) words {
  std::uint32_t at[Bytes / sizeof(std::uint32_t)];
};
template <class T, std::size_t N>
inline constexpr bool moves_as_words = sizeof(T) < sizeof(std::uint32_t) && N * sizeof(T) >= sizeof(std::uint32_t);

/// Extracts element K.
template <class T, std::size_t K, std::size_t Bytes>
[[nodiscard]] constexpr T out_of_words(words<Bytes> const& all) {
  using bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
  constexpr std::size_t in_word = sizeof(std::uint32_t) / sizeof(T);
  constexpr std::size_t place = std::endian::native == std::endian::little ? K % in_word : in_word - 1 - K % in_word;
  return std::bit_cast<T>(static_cast<bits>(all.at[K / in_word] >> 8 * sizeof(T) * place));
}

// Places are expanded at compile time, not looped over (compilers.md: Loads of a GPU).
template <std::size_t N, class T>
[[nodiscard]] constexpr pack<T, N> load_pack(T const* p) {
  if constexpr (moves_as_words<T, N>) {
    return [&]<std::size_t... K>(words<N * sizeof(T)> const all, std::index_sequence<K...>) {
      return pack<T, N>{{out_of_words<T, K>(all)...}};
    }(*reinterpret_cast<words<N * sizeof(T)> const*>(p), std::make_index_sequence<N>{});
  } else {
    return *reinterpret_cast<pack<T, N> const*>(p);
  }
}
template <std::size_t N, class T>
constexpr void store_pack(T* p, pack<T, N> const& x) {
  if constexpr (moves_as_words<T, N>) {
    *reinterpret_cast<words<N * sizeof(T)>*>(p) = std::bit_cast<words<N * sizeof(T)>>(x);
  } else {
    *reinterpret_cast<pack<T, N>*>(p) = x;
  }
}

/// True if `p` is aligned for a pack.
template <std::size_t N, class T>
[[nodiscard]] constexpr bool begins_pack(T const* p) noexcept {
  return reinterpret_cast<std::uintptr_t>(p) % (N * sizeof(T)) == 0;
}

/// Applies f to each place of some packs. The packs are copies: no result changes an operand.
template <class To, std::size_t N, class F, class... From>
[[nodiscard]] constexpr pack<To, N> of_packs(F const& f, pack<From, N> const... from) {
  auto const of = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) { return f(from.at[K]...); };
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return pack<To, N>{{of(std::integral_constant<std::size_t, K>{})...}};
  }(std::make_index_sequence<N>{});
}

/// Memories that all receive the same result.
template <class T, std::size_t M = 1>
struct places {
  using element_type = T;  ///< type of a stored element
  using result_type = T;   ///< type of a computed element

  T* to[M];

  /// True if all memories are aligned for packs at element `at`.
  template <std::size_t N>
  [[nodiscard]] constexpr bool begin_packs(std::size_t at) const noexcept {
    return each([&](T* p) { return begins_pack<N>(p + at); });
  }
  constexpr void put(std::size_t i, T const& x) const {
    each([&](T* p) { return (p[i] = x, true); });
  }
  template <std::size_t N>
  constexpr void put(std::size_t i, pack<T, N> const& x) const {
    each([&](T* p) { return (store_pack<N>(p + i, x), true); });
  }

 private:
  template <class F>
  constexpr bool each(F const& f) const {
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return (f(to[Index]) && ...);
    }(std::make_index_sequence<M>{});
  }
};

/// Two results for one element.
template <class T>
struct two {
  T first;
  T second;
};
/// Two memories, one for each result.
template <class T>
struct two_places {
  using element_type = T;
  using result_type = two<T>;

  T* to[2];

  template <std::size_t N>
  [[nodiscard]] constexpr bool begin_packs(std::size_t at) const noexcept {
    return begins_pack<N>(to[0] + at) && begins_pack<N>(to[1] + at);
  }
  constexpr void put(std::size_t i, two<T> const& x) const {
    to[0][i] = x.first;
    to[1][i] = x.second;
  }
  template <std::size_t N>
  constexpr void put(std::size_t i, pack<two<T>, N> const& x) const {
    store_pack<N>(to[0] + i, of_packs<T, N>([](two<T> const& one) { return one.first; }, x));
    store_pack<N>(to[1] + i, of_packs<T, N>([](two<T> const& one) { return one.second; }, x));
  }
};

/// `to[i] = f(from[i]...)` for i < n, by all threads. Moves 16 bytes of the widest type at a time if all memories are
/// aligned alike. Written places may be among the operands.
template <numbered_threads G, class F, class Places, class... From>
constexpr void for_each_element(G const& g, F const& f, std::size_t n, Places const& to, From const*... from) {
  using To = typename Places::element_type;
  constexpr std::size_t width = pack_elements<To, From...>;
  std::size_t done = 0;
  if constexpr (width > 1) {
    std::size_t const over = reinterpret_cast<std::uintptr_t>(to.to[0]) / sizeof(To) % width;
    std::size_t const head = over == 0 ? 0 : width - over < n ? width - over : n;
    if (to.template begin_packs<width>(head) && (begins_pack<width>(from + head) && ...)) {
      for (std::size_t i = g.rank(); i < head; i += g.size()) {
        to.put(i, f(from[i]...));
      }
      std::size_t const packs = (n - head) / width;
      for (std::size_t i = g.rank(); i < packs; i += g.size()) {
        std::size_t const at = head + i * width;
        to.put(at, of_packs<typename Places::result_type, width>(f, load_pack<width>(from + at)...));
      }
      done = head + packs * width;
    }
  }
  for (std::size_t i = done + g.rank(); i < n; i += g.size()) {
    to.put(i, f(from[i]...));
  }
}
template <numbered_threads G, class F, class To, class... From>
constexpr void for_each_element(G const& g, F const& f, std::size_t n, To* to, From const*... from) {
  for_each_element(g, f, n, places<To>{{to}}, from...);
}

/// Copies bytes. The two places do not overlap, or are identical.
template <numbered_threads G>
constexpr void copy_bytes(G const& g, std::byte const* from, std::byte* to, std::size_t bytes) {
  auto const as = [&]<class Word>(Word const* words) {
    for_each_element(
        g, [](Word w) { return w; }, bytes / sizeof(Word), reinterpret_cast<Word*>(to), words);
  };
  auto const low = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to) | bytes;
  if (from == to) {
    return;
  }
  if (low % sizeof(std::uint32_t) == 0) {
    as(reinterpret_cast<std::uint32_t const*>(from));
  } else if (low % sizeof(std::uint16_t) == 0) {
    as(reinterpret_cast<std::uint16_t const*>(from));
  } else {
    as(reinterpret_cast<std::uint8_t const*>(from));
  }
}

/// Combines elements by a reduction on a device, in one thread group at a time, with the bits of the engine's
/// `combining`.
template <tutti::reduction R>
struct group_combining {
  // compilers.md: Smaller gaps
  static constexpr bool lifting = lifts<R>;
  static constexpr bool lowering = lowers<R>;
  static constexpr bool sided = !symmetric<R>;

  R how;

  [[nodiscard]] static constexpr std::size_t size_of(memory m) noexcept { return combining<R>::size_of(m); }

  template <thread_group G>
  constexpr void fold(G const& g, step const& st, std::byte const* local, std::byte const* arriving, std::byte* result,
                      std::size_t n, rank_type ranks) const {
    with_flag<lifting>(st.local == memory::input, [&](auto local_is_element) {
      with_flag<lifting>(st.arrives == memory::input, [&](auto arriving_is_element) {
        with_flag<sided>(st.action == action::fold_left, [&](auto arriving_on_left) {
          with_flag<lowering>(st.receive.memory == memory::output, [&](auto finishes) {
            using pair = fold_pair<R, local_is_element, arriving_is_element, arriving_on_left, finishes>;
            for_each_element(g, pair{how, ranks}, n, reinterpret_cast<typename pair::result_type*>(result),
                             reinterpret_cast<typename pair::local_type const*>(local),
                             reinterpret_cast<typename pair::arriving_type const*>(arriving));
          });
        });
      });
    });
  }
  /// Runs a step without a peer.
  template <thread_group G>
  constexpr void local(G const& g, step const& st, std::byte const* from, std::byte* to, std::size_t n,
                       rank_type ranks) const {
    bool const ends = st.receive.memory == memory::output && st.send.memory != memory::output;
    bool const is_element = st.send.memory == memory::input;
    if constexpr (lifting || lowering) {
      if (ends) {
        return with_flag<lifting>(is_element, [&](auto element) {
          using one = finish_one<R, element>;
          for_each_element(g, one{how, ranks}, n, reinterpret_cast<typename R::value_type*>(to),
                           reinterpret_cast<operand_t<R, element> const*>(from));
        });
      }
    }
    if constexpr (lifting) {
      if (is_element) {
        return for_each_element(g, lift_one<R>{how}, n, reinterpret_cast<typename R::accumulator_type*>(to),
                                reinterpret_cast<contribution_t<R> const*>(from));
      }
    }
    copy_bytes(g, from, to, n * size_of(st.send.memory));
  }
};

/// Moves elements without combining them.
struct group_moving {
  std::size_t element_bytes;

  [[nodiscard]] constexpr std::size_t size_of(memory) const noexcept { return element_bytes; }
  template <thread_group G>
  constexpr void local(G const& g, step const&, std::byte const* from, std::byte* to, std::size_t n, rank_type) const {
    copy_bytes(g, from, to, n * element_bytes);
  }
};

}  // namespace tutti::detail::device
