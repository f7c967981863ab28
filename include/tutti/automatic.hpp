// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/broadcast.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/tuning/autotune.hpp>
#include <tutti/detail/tuning/explanation.hpp>
#include <tutti/detail/tuning/known_profiles.hpp>
#include <tutti/detail/tuning/measure.hpp>
#include <tutti/detail/tuning/profile_text.hpp>
#include <tutti/detail/tuning/tuner.hpp>
#include <tutti/extend/error.hpp>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0 {

/// Sources of the knowledge that `automatic` has of the world.
struct automatic_options {
  /// A profile that was saved: rank 0 reads it if there is such a file; else rank 0 writes what was learned. Empty:
  /// there is none.
  std::string file{};
  /// The time that measuring the world takes, about. Where messages are slow it takes longer: some tens of messages of
  /// 64 KiB are measured in any case.
  duration budget = std::chrono::milliseconds(20);
  bool anew = false;  ///< measure even what is known
};

/// The topology that picks one: for each operation, by its size, the schedule and the segments that are expected
/// to be fastest in this world.
///
///     tutti::automatic best{world};  // measures for some milliseconds
///     tutti::allreduce sum{world, best, tutti::sum<float>{}};
///     tutti::broadcast share{world, best};
///     std::puts(sum.explain(1 << 20).c_str());
///
/// A world, and the communicators that are split from it, measure once: of as many ranks on the same hosts it is known
/// what was learned.
///
/// All schedules are priced with one model (detail/tuning/timing.hpp) and the world's profile. What a reduction that
/// does not commute needs is respected. Copies share one state.
///
/// A preference takes precedence: `best.prefer("allreduce:1M-=ring/512K")`, or the variable TUTTI_AUTOMATIC. All
/// ranks must prefer the same; if they do not, the operation fails with an error that names both schedules. A trial
/// finds out: `best.autotune(world, tutti::op::allreduce{}, gradients)`.
///
/// @pre the world outlives it
/// Cost: an operation that has run before with a vector of that class of sizes (up to 1, 2, 4, ... bytes) looks up a
/// table. The first of a class prices all candidates: docs/guide/automatic.md.
/// Thread safety: that of the communicator.
class automatic : public selection {
 public:
  /// The name of the topology in errors, traces and the fingerprint of a call.
  static constexpr std::string_view name = "automatic";
  /// One type that is any of the topologies.
  using schedule = selection;
  /// The effort of `autotune`.
  struct autotune_options {
    std::size_t ways = 8;   ///< at most this many, those that are expected to be fastest
    double within = 3;      ///< and none that is expected to take this many times as long as the fastest
    std::size_t turns = 7;  ///< each way's; their median counts
    duration turn = std::chrono::microseconds(500);  ///< the time that each takes, about; one operation at least
  };

  /// Collective. @throws error, profile_error, preference_error: the last two on all ranks if on rank 0
  template <group Communicator>
  explicit automatic(Communicator& world, automatic_options const& options = {})
      : automatic(world, learn(world, options)) {}

  /// With a profile that was taken before. Collective; all ranks must give the same.
  /// @throws profile_error on every rank if the profile is another world's, or another rank's is another
  template <group Communicator>
  automatic(Communicator& world, network_profile known)
      : tuning_(std::make_shared<detail::tuner>(std::move(known), world.hosts(), memory_kind::ordinary)) {
    examine(world);
    char const* const wishes = std::getenv("TUTTI_AUTOMATIC");
    prefer(wishes == nullptr ? "" : wishes);
  }

  /// The same for operators whose vectors lie there, on all ranks: with the same profile and what is preferred so far.
  /// What is preferred or autotuned from now on, each has for itself.
  ///
  ///     std::vector<float, tutti::allocator<float>> gradients(n, tutti::allocator<float>(world));
  ///     tutti::allreduce sum{world, best.for_memory(tutti::memory_kind::provided), tutti::sum<float>{}};
  ///
  /// If vectors lie elsewhere after all, only speed suffers. All ranks must say the same; if they do not, an operation
  /// for which they pick different schedules fails with an error that names both.
  /// Not collective; it prices anew, and measures nothing.
  [[nodiscard]] automatic for_memory(memory_kind where) const {
    auto same = std::make_shared<detail::tuner>(profile(), tuning_->hosts(), where);
    same->prefer(tuning_->preferences());
    return automatic(std::move(same));
  }

  /// What the world was measured to take.
  [[nodiscard]] network_profile const& profile() const noexcept { return tuning_->profile(); }

  /// @throws profile_error if the file cannot be written
  void save(std::string const& path) const {
    if (int const code = detail::replace_file(path, detail::to_text(profile())); code != 0) {
      throw detail::profile_error("cannot write the profile to " + path + ": " + detail::describe_write_error(code));
    }
  }

  /// "allreduce:-4K=doubling; broadcast:1M-=chain/64K": for these sizes, these schedules, whatever they are expected
  /// to take. A schedule that cannot do what is asked for is not taken.
  /// @throws preference_error
  void prefer(std::string_view wishes) const { tuning_->prefer(detail::read_preferences(wishes, tuning_->hosts())); }

  /// Tries the ways that are expected to be fastest for a vector of this length, in this memory, and from now on picks
  /// the one that was for all vectors of its class of sizes (up to 1, 2, 4, ... bytes). For vectors that matter: what
  /// a profile does not know - caches, the kind of memory, what else runs here - counts, too.
  ///
  ///     best.autotune(world, tutti::op::allreduce{}, gradients);
  ///
  /// Collective: with the same arguments on all ranks. The elements of `scratch` are lost, those of an allreduce are
  /// summed. Returns what was found as `prefer` and TUTTI_AUTOMATIC take it.
  /// @throws error
  /// Cost: 8 operations of each way and those of its turns; with the default, some 30 ms up to 64 KiB.
  template <group Communicator, class Op, mutable_buffer Buffer>
    requires std::same_as<Op, op::allreduce> || std::same_as<Op, op::broadcast>
  std::string autotune(Communicator& world, Op op, Buffer&& scratch, autotune_options const& how) const {
    auto const vector = elements(scratch);
    expects(how.ways > 0 && how.turns > 0, "automatic: autotune_options::ways and turns must be 1 or more, not ",
            how.ways, " and ", how.turns);
    std::size_t const bytes = vector.size() * sizeof(vector[0]);
    using trials = detail::trials<Communicator>;
    auto ways = predict(op, bytes, {.helped = trials::template helped<Op, typename decltype(vector)::value_type>});
    auto const slow = std::find_if(ways.begin() + 1, ways.end(), [&](prediction const& p) {
      return static_cast<double>(p.time) > how.within * static_cast<double>(ways.front().time);
    });
    ways.erase(slow, ways.end());
    ways.resize((std::min)(ways.size(), how.ways));
    auto const& way = ways[trials(world).fastest(op, ways, vector, how.turns, how.turn)].way;
    auto const [from, to] = detail::tuner::like(bytes);
    detail::preference const found{detail::verify::kind_of<Op>, from,       to, way.topology.kind(),
                                   way.segment_bytes,           ways.size()};
    tuning_->prefer({found});
    return to_text(found, tuning_->hosts());
  }
  /// Tries ways with the default effort.
  template <group Communicator, class Op, mutable_buffer Buffer>
    requires std::same_as<Op, op::allreduce> || std::same_as<Op, op::broadcast>
  std::string autotune(Communicator& world, Op op, Buffer&& scratch) const {
    return autotune(world, op, scratch, {});
  }

  /// Where helpers cannot do their part, none is picked that has some.
  [[nodiscard]] automatic without_helpers() const { return *this; }
  /// The schedule and the segments for an operation of so many bytes; alike on all ranks.
  template <class Op>
  [[nodiscard]] choice<selection> choose(Op op, std::size_t bytes, demands needs = {}) const {
    return tuning_->choose(op, bytes, needs);
  }

  /// All ways to run an operation on this many bytes and what they are expected to take, the fastest first.
  template <class Op>
  [[nodiscard]] std::vector<prediction> predict(Op op, std::size_t bytes, demands needs = {}) const {
    return tuning_->predict(op, bytes, needs);
  }

  /// What is picked for this many bytes, what it is expected to take, why, and what the others would take.
  template <class Op>
  [[nodiscard]] std::string explain(Op op, std::size_t bytes, demands needs = {}) const {
    return tutti::detail::explain(*tuning_, op, bytes, needs);
  }

 private:
  explicit automatic(std::shared_ptr<detail::tuner> known) : tuning_(std::move(known)) {}

  template <class Communicator>
  static network_profile learn(Communicator& world, automatic_options const& options) {
    std::string text;
    if (!options.file.empty()) {
      if (world.rank() == 0) {
        detail::standard_numbers const occupied;
        std::ifstream file(options.file, std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(file), {});
      }
      share(world, text, 0);
    }
    if (text.empty()) {
      text = recall_or_measure(world, options);
      if (!options.file.empty() && world.rank() == 0) {
        static_cast<void>(detail::replace_file(options.file, text));  // the next run measures again
      }
    }
    return detail::read_profile(text);
  }

  /// What the lowest rank that has learned something of such hosts knows, so that all have the same; or if none has,
  /// what is measured now.
  template <class Communicator>
  static std::string recall_or_measure(Communicator& world, automatic_options const& options) {
    auto& known = detail::access::state(world).kin->template common<detail::known_profiles>();
    std::string const hosts = detail::known_profiles::hosts_of(world);
    std::string text = options.anew ? "" : known.find(hosts, options.budget);
    std::array<rank_type, 1> teller{text.empty() ? no_rank : world.rank()};
    allreduce{world, doubling{}, tutti::min<rank_type>{}}(teller);
    if (teller[0] != no_rank) {
      share(world, text, teller[0]);
    } else {
      text = detail::to_text(detail::world_meter<Communicator>(world).measure(options.budget));
    }
    known.learn(hosts, options.budget, text);
    return text;
  }

  /// Gives all ranks the text of one.
  template <class Communicator>
  static void share(Communicator& world, std::string& text, rank_type teller) {
    broadcast give{world, doubling{}};
    std::array<std::uint64_t, 1> size{text.size()};
    give(size, teller);
    text.resize(size[0]);
    give(text, teller);
  }

  template <class Communicator>
  void examine(Communicator& world) const {
    std::uint32_t const print = hash(detail::to_text(profile()));
    allreduce least{world, doubling{}, tutti::min<std::uint32_t>{}};
    std::array<std::uint32_t, 2> both{print, ~print};
    least(both);
    if (both[0] != ~both[1]) {
      throw detail::profile_error("the profile of rank " + std::to_string(world.rank()) +
                                  " differs from that of another rank: give all ranks the same one");
    }
    if (profile().ranks != world.size() || profile().hosts != world.hosts().hosts()) {
      throw detail::profile_error("the profile is of " + std::to_string(profile().ranks) + " ranks on " +
                                  std::to_string(profile().hosts) + " hosts, and this world has " +
                                  std::to_string(world.size()) + " on " + std::to_string(world.hosts().hosts()) +
                                  ": measure it anew");
    }
  }

  std::shared_ptr<detail::tuner> tuning_;
};

}  // namespace tutti
