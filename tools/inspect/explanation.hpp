// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views.hpp"
#include <tutti/extend/operation.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace inspect {

using tutti::no_rank;
using tutti::rank_type;

/// The time after which a noted wait without another look is over: a rank that waits looks every 10 ms.
inline constexpr tutti::duration look_limit = std::chrono::seconds(2);
/// The time for which ranks must wait for each other before that is called a deadlock: messages may be under way.
inline constexpr tutti::duration settling = std::chrono::milliseconds(200);

/// "0.4 s", "38 s", "5 min 3 s".
[[nodiscard]] inline std::string text_of(tutti::duration d) {
  long long const tenths = (std::max)(d, tutti::duration::zero()) / std::chrono::milliseconds(100);
  if (tenths < 100) {
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
  }
  long long const seconds = tenths / 10;
  return seconds < 120 ? std::to_string(seconds) + " s"
                       : std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
}

/// The operation in short: "allreduce #41 of world", "send/recv #0 from rank 1 to rank 0 of world".
[[nodiscard]] inline std::string short_text(tutti::recorder::entry const& e, std::string const& communicator) {
  std::string text(tutti::name(e.call_record.kind));
  text += e.label[0] != 0 ? " '" + std::string(e.label) + "'" : "";
  text += " #" + std::to_string(e.number.sequence);
  if (e.number.is_message()) {
    text += " from rank " + std::to_string(e.number.sender) + " to rank " + std::to_string(e.number.receiver);
  }
  return text + " of " + communicator;
}

/// The operation for which the program of a rank waits now; null if it waits for none.
[[nodiscard]] inline tutti::recorder::entry const* waiting_operation(view const& v, tutti::time_point now) {
  bool const cannot_look = v.state == activity::stopped || v.state == activity::traced;
  if (!v.noted_wait || v.state == activity::absent || (!cannot_look && now - v.noted_wait->last_look > look_limit)) {
    return nullptr;
  }
  auto const match = std::find_if(v.operations.begin(), v.operations.end(),
                                  [&](auto const& e) { return e.place == v.noted_wait->place; });
  return match != v.operations.end() && match->current_state == tutti::recorder::state::started ? &*match : nullptr;
}

/// The activity of a rank in words: "computes", "waits for a lock of the program".
[[nodiscard]] inline std::string activity_text(view const& v) {
  auto const is_in = [&](auto... words) { return ((v.channel.find(words) != std::string::npos) || ...); };
  switch (v.state) {
    case activity::computes:
      return "computes";
    case activity::on_lock:
      return "waits for a lock of the program";
    case activity::on_disk:
      return "waits for a disk or another device (uninterruptible, in " + v.channel + ")";
    case activity::stopped:
      return "is stopped by a signal (SIGSTOP; SIGCONT continues it)";
    case activity::traced:
      return "is stopped by a debugger";
    case activity::absent:
      return "is gone";
    case activity::unknown:
      return "computes, or waits outside of tutti";
    case activity::sleeps:
      break;
  }
  return is_in("nanosleep")                        ? "sleeps for a time that it has set"
         : is_in("poll", "select")                 ? "waits for descriptors (poll)"
         : is_in("do_wait", "wait4")               ? "waits for a child process"
         : is_in("pipe")                           ? "waits for a pipe"
         : is_in("sk_", "woken", "unix_", "inet_") ? "waits for a socket"
         : v.channel.empty() || v.channel == "0"   ? "sleeps"
                                                   : "sleeps in the system, in " + v.channel;
}

/// Explains why ranks stand still: follows each wait to its end, and describes the end that holds up most ranks.
class explanation {
 public:
  explicit explanation(sight const& scene) : scene_(scene) {
    for (std::size_t i = 0; i < scene_.views.size(); ++i) {
      number_of_[{scene_.views[i].communicator, scene_.views[i].rank}] = i;
      ++ranks_of_process_[process_key(scene_.views[i])];
      hosts_.insert(scene_.views[i].host);
      waits_.push_back(waiting_operation(scene_.views[i], scene_.now));
    }
  }

  /// A sentence for each cause, the worst one first; never empty.
  [[nodiscard]] std::vector<std::string> sentences() {
    for (std::size_t i = 0; i < scene_.views.size(); ++i) {
      if (waits_[i] != nullptr) {
        follow(i);
      }
    }
    std::vector<chain_end const*> causes;
    for (auto const& [key, end] : ends_) {
      causes.push_back(&end);
    }
    auto const rank_of = [&](chain_end const* end) { return std::pair(urgency(*end), end->waiting.size()); };
    std::stable_sort(causes.begin(), causes.end(),
                     [&](chain_end const* x, chain_end const* y) { return rank_of(x) > rank_of(y); });
    std::vector<std::string> texts;
    for (chain_end const* end : causes) {
      texts.push_back(sentence(*end));
    }
    add_ranks_that_cannot_run(texts);
    add_first_error(texts);
    if (texts.empty()) {
      texts.push_back(quiet_sentence());
    }
    return texts;
  }

 private:
  /// The end of chains of waits: a rank, or ranks that wait for each other.
  struct chain_end {
    std::uint64_t communicator = 0;
    rank_type rank = no_rank;            ///< rank at the end; no_rank: a circle
    std::vector<std::size_t> circle{};   ///< views of a circle, each waiting for the next
    std::vector<std::size_t> waiting{};  ///< views whose chains end here
    std::size_t last = 0;                ///< view that waits for the rank itself, the longest
  };

  /// A communicator, and a process with ranks of it.
  using process_number = std::tuple<std::uint64_t, std::string, std::uint32_t>;

  [[nodiscard]] static process_number process_key(view const& v) { return {v.communicator, v.host, v.pid}; }
  [[nodiscard]] view const& at(std::size_t i) const { return scene_.views[i]; }
  [[nodiscard]] tutti::duration wait_time(std::size_t i) const { return scene_.now - at(i).noted_wait->begin; }
  [[nodiscard]] view const* find(std::uint64_t communicator, rank_type rank) const {
    auto const match = number_of_.find({communicator, rank});
    return match == number_of_.end() ? nullptr : &at(match->second);
  }
  [[nodiscard]] static bool cannot_run(view const& v) {
    return v.state == activity::stopped || v.state == activity::traced || v.state == activity::absent;
  }

  /// The view in which the awaited rank of view `i` waits itself, in this communicator or another; size(): none.
  [[nodiscard]] std::size_t next(std::size_t i) const {
    std::size_t const none = scene_.views.size();
    auto const match = number_of_.find({at(i).communicator, at(i).noted_wait->peer});
    if (match == number_of_.end() || cannot_run(at(match->second))) {
      return none;
    }
    view const& target = at(match->second);
    if (waits_[match->second] != nullptr) {
      return match->second;
    }
    bool const is_alone = ranks_of_process_.at(process_key(target)) == 1;
    for (std::size_t k = 0; k < none; ++k) {
      if (waits_[k] != nullptr && are_of_one_process(at(k), target) &&
          (is_alone || thread_of(at(k)) == thread_of(target))) {
        return k;
      }
    }
    return none;
  }
  [[nodiscard]] static std::uint32_t thread_of(view const& v) { return v.noted_wait ? v.noted_wait->thread : v.thread; }

  /// Follows the chain of waits from a view to its end.
  void follow(std::size_t first) {
    std::vector<std::size_t> chain{first};
    for (;;) {
      std::size_t const i = chain.back();
      rank_type const peer = at(i).noted_wait->peer;
      if (peer == no_rank) {  // waits for any rank: it is the end, where others wait for it
        return chain.size() == 1 ? void() : add(first, chain[chain.size() - 2], at(i).communicator, at(i).rank);
      }
      std::size_t const n = next(i);
      if (n == scene_.views.size()) {
        return add(first, i, at(i).communicator, peer);
      }
      if (auto const begin = std::find(chain.begin(), chain.end(), n); begin != chain.end()) {
        return add_circle(first, {begin, chain.end()});
      }
      chain.push_back(n);
    }
  }
  void add(std::size_t first, std::size_t last, std::uint64_t communicator, rank_type rank) {
    chain_end& end = ends_[{communicator, rank, 0}];
    end.last = end.waiting.empty() || wait_time(last) > wait_time(end.last) ? last : end.last;
    end.communicator = communicator;
    end.rank = rank;
    end.waiting.push_back(first);
  }
  void add_circle(std::size_t first, std::vector<std::size_t> circle) {
    std::rotate(circle.begin(), std::min_element(circle.begin(), circle.end()), circle.end());
    chain_end& end = ends_[{0, no_rank, circle.front()}];
    end.circle = std::move(circle);
    end.waiting.push_back(first);
  }

  /// The order of ends: a rank that cannot run explains more than one that waits.
  [[nodiscard]] int urgency(chain_end const& end) const {
    if (end.rank == no_rank) {
      return is_settled(end) ? 3 : 0;
    }
    view const* const v = find(end.communicator, end.rank);
    return v == nullptr ? 1 : cannot_run(*v) ? 4 : 2;
  }
  [[nodiscard]] bool is_settled(chain_end const& end) const {
    return std::all_of(end.circle.begin(), end.circle.end(), [&](std::size_t i) { return wait_time(i) >= settling; });
  }

  /// "rank 3 (pid 4242)"; with the host, if there are several, and the thread, if the process has several ranks.
  [[nodiscard]] std::string rank_text(view const& v) const {
    std::string text = "rank " + std::to_string(v.rank) + " (" + (hosts_.size() > 1 ? v.host + ", " : "") + "pid " +
                       std::to_string(v.pid);
    if (ranks_of_process_.at(process_key(v)) > 1) {
      text += ", thread " + std::to_string(thread_of(v));
    }
    return text + ")";
  }
  [[nodiscard]] static std::string peer_text(rank_type peer) {
    return peer == no_rank ? "a message of any rank" : "rank " + std::to_string(peer);
  }
  /// "; 7 ranks wait for it, the longest for 38 s".
  [[nodiscard]] std::string waiting_text(std::vector<std::size_t> const& waiting) const {
    if (waiting.empty()) {
      return "; no rank waits for it yet";
    }
    tutti::duration longest{};
    for (std::size_t const i : waiting) {
      longest = (std::max)(longest, wait_time(i));
    }
    return waiting.size() == 1
               ? "; 1 rank waits for it, for " + text_of(longest)
               : "; " + std::to_string(waiting.size()) + " ranks wait for it, the longest for " + text_of(longest);
  }

  /// The place of a rank relative to an operation that another one waits in: "has not called allreduce #41 of world".
  [[nodiscard]] static std::string progress_text(view const& v, tutti::recorder::entry const& late_operation) {
    std::string const operation = short_text(late_operation, v.name);
    bool is_beyond = false;
    for (auto const& e : v.operations) {
      bool const is_alike =
          e.number.sender == late_operation.number.sender && e.number.receiver == late_operation.number.receiver;
      if (is_alike && e.number.sequence == late_operation.number.sequence) {
        if (e.call_record.fingerprint() != late_operation.call_record.fingerprint()) {
          return "has called " + e.text() + " as #" + std::to_string(e.number.sequence) + " of " + v.name + ", not " +
                 tutti::describe(late_operation.call_record, late_operation.number);
        }
        return e.current_state == tutti::recorder::state::started     ? "is in " + operation
               : e.current_state == tutti::recorder::state::completed ? "has ended " + operation
                                                                      : "has an error in " + operation;
      }
      is_beyond = is_beyond || (is_alike && e.number.sequence > late_operation.number.sequence);
    }
    return (is_beyond ? "has ended " : "has not called ") + operation;
  }
  /// "it waits for rank 0 in barrier #0 of world/1:0, another communicator, for 3 s".
  [[nodiscard]] std::string wait_text(std::size_t i, std::string const& of_communicator) const {
    std::string text = "waits for " + peer_text(at(i).noted_wait->peer) + " in " + short_text(*waits_[i], at(i).name);
    text += at(i).name != of_communicator ? ", another communicator" : "";
    return text + ", for " + text_of(wait_time(i));
  }

  [[nodiscard]] std::string sentence(chain_end const& end) const {
    if (end.rank == no_rank) {
      return circle_sentence(end);
    }
    auto const& late_operation = *waits_[end.last];
    view const* const v = find(end.communicator, end.rank);
    if (v == nullptr) {
      return "rank " + std::to_string(end.rank) + " of " + at(end.last).name +
             (scene_.is_from_dumps ? " " + no_dump_text()
                                   : " is not seen here, mostly because it runs on another host: inspect it there") +
             waiting_text(end.waiting);
    }
    std::string text = rank_text(*v);
    if (v->state == activity::absent) {
      return text + " of " + v->name + " is gone" + waiting_text(end.waiting);
    }
    if (!v->is_seen) {
      return text + " of " + v->name + " " + no_dump_text() + waiting_text(end.waiting);
    }
    if (!v->has_record) {
      return text + " of " + v->name + " has left it, or keeps no record; it " + activity_text(*v) +
             waiting_text(end.waiting);
    }
    text += " " + progress_text(*v, late_operation);
    auto const index = number_of_.at({end.communicator, end.rank});
    if (cannot_run(*v)) {
      text += ": it " + activity_text(*v);
    } else if (waits_[index] != nullptr) {
      text += ": it " + wait_text(index, v->name);
    } else {
      text += ": it " + activity_text(*v) + (v->others_compute ? ", while other threads of it compute" : "");
    }
    return text + waiting_text(end.waiting);
  }

  [[nodiscard]] static std::string no_dump_text() { return "has written no dump: it was gone, or in no call"; }

  [[nodiscard]] auto operation_key(std::size_t i) const {
    return std::tuple(at(i).communicator, waits_[i]->number, waits_[i]->call_record.fingerprint());
  }
  /// A circle: messages under way in one operation; or one rank in another operation than all others; or a deadlock.
  [[nodiscard]] std::string circle_sentence(chain_end const& end) const {
    std::map<decltype(operation_key(0)), std::vector<std::size_t>> groups;
    for (std::size_t const i : end.waiting) {
      groups[operation_key(i)].push_back(i);
    }
    auto const largest = std::max_element(
        groups.begin(), groups.end(), [](auto const& a, auto const& b) { return a.second.size() < b.second.size(); });
    std::vector<std::size_t> odd;
    for (std::size_t const i : end.circle) {
      if (operation_key(i) != largest->first) {
        odd.push_back(i);
      }
    }
    std::size_t const typical = largest->second.front();
    if (odd.empty()) {
      return std::to_string(end.waiting.size()) + " ranks are in " + short_text(*waits_[typical], at(typical).name) +
             " and wait for messages of each other, which are under way" + (is_settled(end) ? ", or lost, " : ", ") +
             "for " + text_of(longest(end.waiting));
    }
    if (odd.size() == 1 && largest->second.size() > 1) {
      auto const& late_operation = *waits_[typical];
      view const* const other = view_in(at(typical).communicator, at(odd.front()));
      view const& v = other != nullptr ? *other : at(odd.front());
      std::vector<std::size_t> rest = end.waiting;
      std::erase(rest, odd.front());
      return rank_text(v) + " " + (other != nullptr ? progress_text(*other, late_operation) : "takes no part") +
             ": it " + wait_text(odd.front(), at(typical).name) + waiting_text(rest);
    }
    std::string text = "ranks wait for each other: ";
    char const* separator = "";
    for (std::size_t const i : end.circle) {
      text += std::exchange(separator, ", ") + rank_text(at(i)) + " waits for " + peer_text(at(i).noted_wait->peer) +
              " in " + short_text(*waits_[i], at(i).name);
    }
    return text + ", for " + text_of(longest(end.circle));
  }
  [[nodiscard]] tutti::duration longest(std::vector<std::size_t> const& waiting) const {
    tutti::duration result{};
    for (std::size_t const i : waiting) {
      result = (std::max)(result, wait_time(i));
    }
    return result;
  }
  /// The view of the same rank in that communicator, or null.
  [[nodiscard]] view const* view_in(std::uint64_t communicator, view const& v) const {
    for (view const& candidate : scene_.views) {
      if (candidate.communicator == communicator && are_of_one_process(candidate, v) &&
          (ranks_of_process_.at(process_key(candidate)) == 1 || thread_of(candidate) == thread_of(v))) {
        return &candidate;
      }
    }
    return nullptr;
  }

  /// Describes the ranks that cannot run and for which no rank waits.
  void add_ranks_that_cannot_run(std::vector<std::string>& texts) const {
    for (view const& v : scene_.views) {
      if (cannot_run(v) && !ends_.contains({v.communicator, v.rank, 0})) {
        std::string const text = rank_text(v) + " of " + v.name + " " + activity_text(v) + waiting_text({});
        texts.insert(v.state == activity::absent ? texts.end() : texts.begin(), text);
      }
    }
  }
  void add_first_error(std::vector<std::string>& texts) const {
    view const* first = nullptr;
    for (view const& v : scene_.views) {
      if (!v.error.empty() && (first == nullptr || v.error_time < first->error_time)) {
        first = &v;
      }
    }
    if (first != nullptr) {
      texts.push_back("the first error, of " + rank_text(*first) + ": " + first->error);
    }
  }
  /// Describes ranks that do not wait for a certain other one.
  [[nodiscard]] std::string quiet_sentence() const {
    for (view const& v : scene_.views) {
      if (!v.operations.empty() && v.operations.back().current_state == tutti::recorder::state::failed) {
        return rank_text(v) + " has an error in " + short_text(v.operations.back(), v.name) +
               ": its exception says why; no rank waits";
      }
    }
    std::map<std::string, std::size_t> counts;
    std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, std::string> threads;
    for (std::size_t i = 0; i < scene_.views.size(); ++i) {
      std::string& words = threads[{at(i).host, at(i).pid, thread_of(at(i))}];
      words = waits_[i] != nullptr ? "waits for a message of any rank"
              : !words.empty()     ? words
              : !at(i).is_seen     ? "has written no dump"
              : !at(i).has_record  ? "keeps no record"
                                   : activity_text(at(i));
    }
    for (auto const& [thread, text] : threads) {
      ++counts[text];
    }
    std::string text = "no rank waits for a certain other one";
    char const* separator = ": ";
    for (auto const& [words, count] : counts) {
      text += std::exchange(separator, ", ") + std::to_string(count) + " " + words;
    }
    return text;
  }

  sight const& scene_;
  std::map<std::pair<std::uint64_t, rank_type>, std::size_t> number_of_;
  std::map<process_number, std::size_t> ranks_of_process_;
  std::set<std::string> hosts_;
  std::vector<tutti::recorder::entry const*> waits_;  ///< operation for which a view waits, or null
  std::map<std::tuple<std::uint64_t, rank_type, std::size_t>, chain_end> ends_;
};

/// The sentences that explain what is seen of the ranks of one world, the most important one first; never empty.
[[nodiscard]] inline std::vector<std::string> explain(sight const& scene) {
  return explanation(scene).sentences();
}

}  // namespace inspect
