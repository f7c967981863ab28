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
[[nodiscard]] constexpr T out_of_words(words<Bytes> const& source) {
  using bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
  constexpr std::size_t in_word = sizeof(std::uint32_t) / sizeof(T);
  constexpr std::size_t place = std::endian::native == std::endian::little ? K % in_word : in_word - 1 - K % in_word;
  return std::bit_cast<T>(static_cast<bits>(source.at[K / in_word] >> 8 * sizeof(T) * place));
}

// Places are expanded at compile time, not looped over (compilers.md: Loads of a GPU).
template <std::size_t N, class T>
[[nodiscard]] constexpr pack<T, N> load_pack(T const* p) {
  if constexpr (moves_as_words<T, N>) {
    return [&]<std::size_t... K>(words<N * sizeof(T)> const source, std::index_sequence<K...>) {
      return pack<T, N>{{out_of_words<T, K>(source)...}};
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
[[nodiscard]] constexpr pack<To, N> map_packs(F const& f, pack<From, N> const... operands) {
  auto const apply = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) { return f(operands.at[K]...); };
  return [&]<std::size_t... K>(std::index_sequence<K...>) {
    return pack<To, N>{{apply(std::integral_constant<std::size_t, K>{})...}};
  }(std::make_index_sequence<N>{});
}

/// Memories that all receive the same result.
template <class T, std::size_t M = 1>
struct places {
  using element_type = T;  ///< type of a stored element
  using result_type = T;   ///< type of a computed element

  T* addresses[M];

  /// True if all memories are aligned for packs at element `at`.
  template <std::size_t N>
  [[nodiscard]] constexpr bool begin_packs(std::size_t at) const noexcept {
    return for_each([&](T* p) { return begins_pack<N>(p + at); });
  }
  constexpr void store(std::size_t i, T const& x) const {
    for_each([&](T* p) { return (p[i] = x, true); });
  }
  template <std::size_t N>
  constexpr void store(std::size_t i, pack<T, N> const& x) const {
    for_each([&](T* p) { return (store_pack<N>(p + i, x), true); });
  }

 private:
  template <class F>
  constexpr bool for_each(F const& f) const {
    return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return (f(addresses[Index]) && ...);
    }(std::make_index_sequence<M>{});
  }
};

/// Two results for one element.
template <class T>
struct result_pair {
  T first;
  T second;
};
/// Two memories, one for each result.
template <class T>
struct place_pair {
  using element_type = T;
  using result_type = result_pair<T>;

  T* addresses[2];

  template <std::size_t N>
  [[nodiscard]] constexpr bool begin_packs(std::size_t at) const noexcept {
    return begins_pack<N>(addresses[0] + at) && begins_pack<N>(addresses[1] + at);
  }
  constexpr void store(std::size_t i, result_pair<T> const& x) const {
    addresses[0][i] = x.first;
    addresses[1][i] = x.second;
  }
  template <std::size_t N>
  constexpr void store(std::size_t i, pack<result_pair<T>, N> const& x) const {
    store_pack<N>(addresses[0] + i, map_packs<T, N>([](result_pair<T> const& pair) { return pair.first; }, x));
    store_pack<N>(addresses[1] + i, map_packs<T, N>([](result_pair<T> const& pair) { return pair.second; }, x));
  }
};

/// `to[i] = f(from[i]...)` for i < n, by all threads. Moves 16 bytes of the widest type at a time if all memories are
/// aligned alike. Written places may be among the operands.
template <numbered_threads G, class F, class Places, class... From>
constexpr void for_each_element(G const& g, F const& f, std::size_t n, Places const& destination,
                                From const*... sources) {
  using To = typename Places::element_type;
  constexpr std::size_t width = pack_elements<To, From...>;
  std::size_t packed_end = 0;
  if constexpr (width > 1) {
    std::size_t const misalignment = reinterpret_cast<std::uintptr_t>(destination.addresses[0]) / sizeof(To) % width;
    std::size_t const head = misalignment == 0 ? 0 : width - misalignment < n ? width - misalignment : n;
    if (destination.template begin_packs<width>(head) && (begins_pack<width>(sources + head) && ...)) {
      for (std::size_t i = g.rank(); i < head; i += g.size()) {
        destination.store(i, f(sources[i]...));
      }
      std::size_t const packs = (n - head) / width;
      for (std::size_t i = g.rank(); i < packs; i += g.size()) {
        std::size_t const at = head + i * width;
        destination.store(at, map_packs<typename Places::result_type, width>(f, load_pack<width>(sources + at)...));
      }
      packed_end = head + packs * width;
    }
  }
  for (std::size_t i = packed_end + g.rank(); i < n; i += g.size()) {
    destination.store(i, f(sources[i]...));
  }
}
template <numbered_threads G, class F, class To, class... From>
constexpr void for_each_element(G const& g, F const& f, std::size_t n, To* destination, From const*... sources) {
  for_each_element(g, f, n, places<To>{{destination}}, sources...);
}

/// Copies bytes. The two places do not overlap, or are identical.
template <numbered_threads G>
constexpr void copy_bytes(G const& g, std::byte const* source, std::byte* destination, std::size_t bytes) {
  auto const copy_words = [&]<class Word>(Word const* words) {
    for_each_element(
        g, [](Word w) { return w; }, bytes / sizeof(Word), reinterpret_cast<Word*>(destination), words);
  };
  auto const low = reinterpret_cast<std::uintptr_t>(source) | reinterpret_cast<std::uintptr_t>(destination) | bytes;
  if (source == destination) {
    return;
  }
  if (low % sizeof(std::uint32_t) == 0) {
    copy_words(reinterpret_cast<std::uint32_t const*>(source));
  } else if (low % sizeof(std::uint16_t) == 0) {
    copy_words(reinterpret_cast<std::uint16_t const*>(source));
  } else {
    copy_words(reinterpret_cast<std::uint8_t const*>(source));
  }
}

/// Combines elements by a reduction on a device, in one thread group at a time, with the bits of the engine's
/// `combining`.
template <tutti::reduction R>
struct group_combining {
  // compilers.md: Smaller gaps
  static constexpr bool lifting = lifts<R>;
  static constexpr bool lowering = lowers<R>;
  static constexpr bool is_sided = !symmetric<R>;

  R reduction;

  [[nodiscard]] static constexpr std::size_t size_of(memory m) noexcept { return combining<R>::size_of(m); }

  template <thread_group G>
  constexpr void fold(G const& g, step const& st, std::byte const* local, std::byte const* arriving, std::byte* result,
                      std::size_t n, rank_type ranks) const {
    with_flag<lifting>(st.local_memory == memory::input, [&](auto local_is_element) {
      with_flag<lifting>(st.sender_memory == memory::input, [&](auto arriving_is_element) {
        with_flag<is_sided>(st.action == action::fold_left, [&](auto arriving_on_left) {
          with_flag<lowering>(st.receive.memory == memory::output, [&](auto finishes) {
            using pair = fold_pair<R, local_is_element, arriving_is_element, arriving_on_left, finishes>;
            for_each_element(g, pair{reduction, ranks}, n, reinterpret_cast<typename pair::result_type*>(result),
                             reinterpret_cast<typename pair::local_type const*>(local),
                             reinterpret_cast<typename pair::arriving_type const*>(arriving));
          });
        });
      });
    });
  }
  /// Runs a step without a peer.
  template <thread_group G>
  constexpr void local(G const& g, step const& st, std::byte const* source, std::byte* destination, std::size_t n,
                       rank_type ranks) const {
    bool const ends = st.receive.memory == memory::output && st.send.memory != memory::output;
    bool const is_element = st.send.memory == memory::input;
    if constexpr (lifting || lowering) {
      if (ends) {
        return with_flag<lifting>(is_element, [&](auto element) {
          using finisher = finish_one<R, element>;
          for_each_element(g, finisher{reduction, ranks}, n, reinterpret_cast<typename R::value_type*>(destination),
                           reinterpret_cast<operand_t<R, element> const*>(source));
        });
      }
    }
    if constexpr (lifting) {
      if (is_element) {
        return for_each_element(g, lift_one<R>{reduction}, n,
                                reinterpret_cast<typename R::accumulator_type*>(destination),
                                reinterpret_cast<contribution_t<R> const*>(source));
      }
    }
    copy_bytes(g, source, destination, n * size_of(st.send.memory));
  }
};

/// Moves elements without combining them.
struct group_moving {
  std::size_t element_bytes;

  [[nodiscard]] constexpr std::size_t size_of(memory) const noexcept { return element_bytes; }
  template <thread_group G>
  constexpr void local(G const& g, step const&, std::byte const* source, std::byte* destination, std::size_t n,
                       rank_type) const {
    copy_bytes(g, source, destination, n * element_bytes);
  }
};

}  // namespace tutti::detail::device
