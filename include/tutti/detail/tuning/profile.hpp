// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/host_map.hpp>
#include <tutti/detail/topology/timing.hpp>
#include <tutti/memory_kind.hpp>
#include <tutti/operation.hpp>
#include <tutti/types.hpp>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::detail {

/// What a profile file says that it must not. The message says in which line.
class profile_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What messages of a world take, as it was measured: a plain value, in picoseconds.
struct network_profile {
  /// What a message of this many bytes takes; see message_time.
  struct point {
    std::size_t bytes = 0;
    std::int64_t send = 0;
    std::int64_t lead = 0;
    std::int64_t wire = 0;
    std::int64_t receive = 0;
    std::int64_t combine = 0;    ///< the receiver's processor, where it combines and does not only store
    std::int64_t overwrite = 0;  ///< that, more or less, where this overwrites what it sends in that step
    std::int64_t loan = 0;       ///< both processors, all told, if it is lent or given back; 0: as any other message
    std::int64_t solo = 0;       ///< the same where its sender gets none meanwhile
    friend bool operator==(point const&, point const&) = default;
  };
  /// What one takes of an operation that only moves; see message_time.
  struct move {
    std::size_t bytes = 0;
    std::int64_t send = 0;
    std::int64_t lead = 0;
    std::int64_t delay = 0;  ///< beside the latency: takes no processor
    std::int64_t receive = 0;
    friend bool operator==(move const&, move const&) = default;
  };
  /// Messages between two ranks: straight lines between sizes that were measured.
  struct link {
    std::int64_t latency = 0;
    std::vector<point> points{};  ///< of growing sizes; empty: there are no such messages
    std::int64_t burst = 0;       ///< how much of `wire` an idle interface saves up; see message_time
    std::vector<move> moves{};    ///< of growing sizes; empty: they take what others take, which are stored
    friend bool operator==(link const&, link const&) = default;
  };

  rank_type ranks = 0;
  rank_type hosts = 0;
  std::int64_t start = 0;  ///< what starting an operation, or a segment of one, takes
  link near{};             ///< between ranks of one host
  link provided{};         ///< the same of memory_kind::provided; without points: it makes no difference
  link far{};              ///< between hosts
  link helper{};           ///< to a helper and from it, while all ranks do; without points: none helps

  [[nodiscard]] bool tells_apart() const noexcept { return !provided.points.empty(); }
  /// Between ranks of one host, of vectors that lie there.
  [[nodiscard]] link const& within_a_host(memory_kind where) const noexcept {
    return where == memory_kind::provided && tells_apart() ? provided : near;
  }
  friend bool operator==(network_profile const&, network_profile const&) = default;
};

namespace profile_text {

inline constexpr std::string_view title = "tutti-profile 7";
inline constexpr std::size_t most_points = 64;
inline constexpr std::int64_t most = std::int64_t{1} << 50;  ///< of any number: sums stay far from overflow

/// Reads a profile word by word.
class reader {
 public:
  explicit reader(std::string_view text) : text_(text) {}

  /// The next line is exactly this.
  void line(std::string_view expected) {
    if (std::string_view const found = next_line(); found != expected) {
      fail("must be \"" + std::string(expected) + "\", not \"" + std::string(found.substr(0, shown)) + "\"" +
           (line_ == 1 ? ", so this is no profile, or one of another version" : ""));
    }
  }
  /// The next line is this word and N numbers.
  template <std::size_t N>
  void numbers(std::string_view word, std::int64_t (&into)[N]) {
    std::string_view const found = next_line();
    std::string_view rest = found;
    if (!rest.starts_with(word)) {
      fail("must begin with \"" + std::string(word) + "\": \"" + std::string(found.substr(0, shown)) + "\"");
    }
    rest.remove_prefix(word.size());
    for (std::int64_t& value : into) {
      if (!word.empty() || &value != into) {
        if (!rest.starts_with(' ')) {
          fail("must hold " + std::to_string(N) + " numbers, not fewer: \"" + std::string(found.substr(0, shown)) +
               "\"");
        }
        rest.remove_prefix(1);
      }
      auto const [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      bool const may_be_negative = &value - into == 6;  // what overwriting takes less
      if (problem != std::errc{} || value < (may_be_negative ? -most : 0) || value > most) {
        fail("must hold numbers from 0 to 2^50, not \"" + std::string(rest.substr(0, rest.find(' ')).substr(0, shown)) +
             "\"");
      }
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    }
    if (!rest.empty()) {
      fail("must hold " + std::to_string(N) + " numbers, not more: \"" + std::string(found.substr(0, shown)) + "\"");
    }
  }
  /// The next line is this word and a number of ranks.
  rank_type ranks(std::string_view word) {
    std::int64_t value[1];
    numbers(word, value);
    if (value[0] >= 1 << 24) {
      fail("must name fewer than 2^24 " + std::string(word) + ", not " + std::to_string(value[0]));
    }
    return static_cast<rank_type>(value[0]);
  }
  [[noreturn]] void fail(std::string const& what) const {
    throw profile_error("profile: line " + std::to_string(line_) + " " + what +
                        "; measure the world anew, or give another file");
  }

 private:
  std::string_view next_line() {
    ++line_;
    std::size_t const end = text_.find('\n');
    if (end == text_.npos) {
      fail("is missing: the text has been cut off");
    }
    std::string_view const line = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return line;
  }

  static constexpr std::size_t shown = 60;  ///< characters of a line, in a message

  std::string_view text_;
  std::size_t line_ = 0;
};

/// `lines` lines of numbers, of which the first is a size and the second and third are how long sending takes, and
/// until the message begins to leave.
template <std::size_t N, class Take>
void read_sizes(reader& in, std::int64_t lines, Take const& take) {
  std::int64_t last = -1;
  for (std::int64_t i = 0; i < lines; ++i) {
    std::int64_t v[N];
    in.numbers("", v);
    if (v[0] <= last) {
      in.fail("must begin with a size above that of the line before, " + std::to_string(last) + ", not " +
              std::to_string(v[0]));
    }
    if (v[2] > v[1]) {
      in.fail("must say that a message of " + std::to_string(v[0]) + " bytes begins to leave while it is sent, after " +
              std::to_string(v[1]) + " at most, not " + std::to_string(v[2]));
    }
    last = v[0];
    take(static_cast<std::size_t>(v[0]), v);
  }
}

inline network_profile::link read_link(reader& in, std::string_view word) {
  std::int64_t head[4];
  in.numbers(word, head);
  if (std::max(head[2], head[3]) > static_cast<std::int64_t>(most_points)) {
    in.fail("must name at most " + std::to_string(most_points) + " sizes, not " +
            std::to_string(std::max(head[2], head[3])));
  }
  network_profile::link link{.latency = head[0], .burst = head[1]};
  read_sizes<9>(in, head[2], [&](std::size_t bytes, auto const& v) {
    link.points.push_back({bytes, v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]});
  });
  read_sizes<5>(in, head[3], [&](std::size_t bytes, auto const& v) {
    link.moves.push_back({bytes, v[1], v[2], v[3], v[4]});
  });
  return link;
}

}  // namespace profile_text

/// The profile as text, which `read_profile` reads.
[[nodiscard]] inline std::string to_text(network_profile const& p) {
  std::string out(profile_text::title);
  auto const put = [&](std::string_view word, auto... numbers) {
    out += word;
    (out.append(out.back() == '\n' ? "" : " ").append(std::to_string(numbers)), ...);
    out += '\n';
  };
  auto const put_link = [&](std::string_view word, network_profile::link const& l) {
    put(word, l.latency, l.burst, l.points.size(), l.moves.size());
    for (network_profile::point const& at : l.points) {
      put("", at.bytes, at.send, at.lead, at.wire, at.receive, at.combine, at.overwrite, at.loan, at.solo);
    }
    for (network_profile::move const& at : l.moves) {
      put("", at.bytes, at.send, at.lead, at.delay, at.receive);
    }
  };
  out += '\n';
  put("ranks", p.ranks);
  put("hosts", p.hosts);
  put("start", p.start);
  put_link("near", p.near);
  put_link("provided", p.provided);
  put_link("far", p.far);
  put_link("helper", p.helper);
  return out + "end\n";
}

/// @throws profile_error if the text is cut off, no profile, or one of another version
[[nodiscard]] inline network_profile read_profile(std::string_view text) {
  profile_text::reader in(text);
  in.line(profile_text::title);
  network_profile p;
  p.ranks = in.ranks("ranks");
  p.hosts = in.ranks("hosts");
  std::int64_t start[1];
  in.numbers("start", start);
  p.start = start[0];
  p.near = profile_text::read_link(in, "near");
  p.provided = profile_text::read_link(in, "provided");
  p.far = profile_text::read_link(in, "far");
  p.helper = profile_text::read_link(in, "helper");
  in.line("end");
  return p;
}

/// A straight line through what two sizes take.
struct line_between {
  std::int64_t wide;  ///< the second size, from the first on
  std::int64_t far;   ///< the size that is asked for, from the first on
  [[nodiscard]] std::int64_t signed_at(std::int64_t from, std::int64_t to) const {
    std::int64_t const rise = to - from;
    return from + rise / wide * far + rise % wide * (far % wide) / wide + rise % wide * (far / wide);
  }
  [[nodiscard]] std::int64_t at(std::int64_t from, std::int64_t to) const {
    return std::max<std::int64_t>(signed_at(from, to), 0);
  }
};
/// Of several sizes, the second of those that it is about. @pre there are two
template <class Sizes>
[[nodiscard]] std::size_t end_of_line(Sizes const& all, std::size_t bytes) {
  std::size_t i = 1;
  while (i + 1 < all.size() && all[i].bytes < bytes) {
    ++i;
  }
  return i;
}

/// What a message of this many bytes takes on a link: between the sizes that were measured on straight lines,
/// beyond the last on the last line, before the first as much as the first.
[[nodiscard]] inline network_profile::point at_size(network_profile::link const& link, std::size_t bytes) {
  auto const& all = link.points;
  if (all.empty()) {
    return {.bytes = bytes};
  }
  if (bytes <= all.front().bytes || all.size() == 1) {
    return all.front();
  }
  std::size_t const i = end_of_line(all, bytes);
  network_profile::point const& a = all[i - 1];
  network_profile::point const& b = all[i];
  line_between const line{static_cast<std::int64_t>(b.bytes - a.bytes), static_cast<std::int64_t>(bytes - a.bytes)};
  network_profile::point p{bytes,
                           line.at(a.send, b.send),
                           line.at(a.lead, b.lead),
                           line.at(a.wire, b.wire),
                           line.at(a.receive, b.receive),
                           line.at(a.combine, b.combine),
                           line.signed_at(a.overwrite, b.overwrite),
                           line.at(a.loan, b.loan),
                           line.at(a.solo, b.solo)};
  p.lead = std::min(p.lead, p.send);
  return p;
}

/// The same of one that is only moved, but in proportion beyond the last size. @pre there are such sizes
[[nodiscard]] inline network_profile::move move_at_size(network_profile::link const& link, std::size_t bytes) {
  auto const& all = link.moves;
  if (bytes <= all.front().bytes) {
    return all.front();
  }
  bool const beyond = bytes > all.back().bytes;
  std::size_t const i = end_of_line(all, bytes);
  network_profile::move const a = beyond || all.size() == 1 ? network_profile::move{} : all[i - 1];
  network_profile::move const& b = beyond ? all.back() : all[i];
  line_between const line{static_cast<std::int64_t>(b.bytes - a.bytes), static_cast<std::int64_t>(bytes - a.bytes)};
  return {bytes, line.at(a.send, b.send), line.at(a.lead, b.lead), line.at(a.delay, b.delay),
          line.at(a.receive, b.receive)};
}

/// The network that a profile was taken of, to price schedules for: see timed_schedule.
class profiled_network {
 public:
  /// For operations of this kind, on vectors that lie there. @pre both outlive it, and are of the same world
  profiled_network(network_profile const& p, host_map const& hosts, operation_kind kind, memory_kind where)
      : profile_(&p), near_(&p.within_a_host(where)), hosts_(&hosts), moves_(!combines(kind)) {}

  [[nodiscard]] message_time message(rank_type from, rank_type to, std::size_t bytes, loan held, bool solo) const {
    network_profile::link const& l = link(from, to);
    if (moves_ && !l.moves.empty()) {
      network_profile::move const m = move_at_size(l, bytes);
      return {m.send, m.lead, l.latency + m.delay, 0, m.receive, 0};
    }
    network_profile::point const p = at_size(l, bytes);
    if (held != loan::none && p.loan != 0) {  // the message says where the bytes are
      // A rank that gives back has written there already: half of the time and half of the messages, but all of the
      // work.
      std::int64_t const loan = solo ? p.solo : p.loan;
      std::int64_t const least = std::min(l.points.front().loan, loan);
      std::int64_t const gap = std::min(l.points.front().send, least);
      return {gap, gap, l.latency, 0, (held == loan::lent ? 2 * loan - least : least) - gap, 0};
    }
    return {p.send, p.lead, l.latency, p.wire, p.receive, l.burst};
  }
  [[nodiscard]] std::int64_t combine(rank_type from, rank_type to, std::size_t bytes, loan held) const {
    network_profile::point const p = at_size(link(from, to), bytes);
    return held != loan::none && p.loan != 0 ? 0 : p.combine;
  }
  [[nodiscard]] std::int64_t overwrite(rank_type from, rank_type to, std::size_t bytes) const {
    return at_size(link(from, to), bytes).overwrite;
  }
  /// Between hosts, the ranks of a host share its interface.
  [[nodiscard]] rank_type interface(rank_type from, rank_type to) const {
    return helps(from, to) || near(from, to) ? from : hosts_->ranks() + hosts_->host(from);
  }
  [[nodiscard]] std::int64_t start() const { return profile_->start; }

 private:
  [[nodiscard]] bool helps(rank_type a, rank_type b) const { return std::max(a, b) >= hosts_->ranks(); }
  [[nodiscard]] bool near(rank_type a, rank_type b) const { return hosts_->host(a) == hosts_->host(b); }
  [[nodiscard]] network_profile::link const& link(rank_type a, rank_type b) const {
    return helps(a, b) ? profile_->helper : near(a, b) ? *near_ : profile_->far;
  }

  network_profile const* profile_;
  network_profile::link const* near_;
  host_map const* hosts_;
  bool moves_;
};

}  // namespace tutti::detail
