// SPDX-License-Identifier: Apache-2.0
//
// A summing switch as a program. See docs/hardware/fpga-nic-protocol.md.
#include "../common/signals.hpp"
#include "late_answers.hpp"
#include "options.hpp"
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/fair_queue.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_switch.hpp>
#include <tutti/in_network/detail/udp/udp_port.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <optional>
#include <poll.h>
#include <random>
#include <span>
#include <sys/resource.h>

namespace {

namespace nic = tutti::detail::fpga_nic;

class soft_switch {
 public:
  explicit soft_switch(options const& o)
      : options_(o),
        port_(o.address, {.offload = o.offload, .destinations = 64}),
        device_(o.limits, o.seal, uplink_endpoint(o)),
        random_(static_cast<std::mt19937::result_type>(o.seed)),
        waiting_(o.limits.jobs, 2 * waiting_limit, waiting_limit / 8),
        next_report_(tutti::steady_now() + o.report) {
    port_.use(o.seal);
    std::printf("soft_switch: listening at %s\n", port_.own_address().for_family(o.address.family()).text().c_str());
    std::fflush(stdout);
    constexpr int adequate_bytes = 4 << 20;
    if (int const buffer_bytes = nic::receive_buffer(port_.descriptor()); buffer_bytes < adequate_bytes) {
      std::fprintf(stderr,
                   "soft_switch: the system keeps %d KiB of what comes, and many ranks send more at once: allow more "
                   "(sysctl -w net.core.rmem_max=16777216) or run with CAP_NET_ADMIN\n",
                   buffer_bytes / 1024);
    }
  }

  void run() {
    for (;;) {
      auto const now = tutti::steady_now();
      bool const may_have_more = take(now);
      send_late(now);
      bool const all_sent = port_.flush();
      if (options_.report.count() != 0 && now >= next_report_) {
        next_report_ = now + options_.report;
        device_.free_abandoned(now, [&](auto const&... answer) { send(now, answer...); });
        report();
      }
      int const events = (waiting_.size() < waiting_limit ? POLLIN : 0) | (all_sent ? 0 : POLLOUT);
      std::array<pollfd, 2> descriptors{
          {{port_.descriptor(), static_cast<short>(events), 0}, {signals_.descriptor(), POLLIN, 0}}};
      wait(descriptors, may_have_more ? tutti::duration(0) : next_time(now) - now);
      if (descriptors[1].revents != 0 && !signals_.go_on([&] { report(); })) {
        report();
        return;
      }
    }
  }

 private:
  static constexpr int drains = 16;                   ///< before signals and the time are checked
  static constexpr std::size_t waiting_limit = 4096;  ///< packets that wait here; more wait in the socket buffer
  static constexpr std::size_t turn = 128;            ///< packets served before more are fetched

  [[nodiscard]] static std::optional<nic::endpoint> uplink_endpoint(options const& o) {
    return o.uplink ? std::optional(nic::endpoint(*o.uplink)) : std::nullopt;
  }
  [[nodiscard]] bool is_lost() {
    bool const loses = options_.loss > 0 && static_cast<double>(random_()) < options_.loss * 4294967296.0;
    losses_ += loses ? 1 : 0;
    return loses;
  }

  /// Fetches packets. True if there may be more. With several jobs, more are fetched at once than served, so that
  /// jobs are served in turn.
  bool take(tutti::time_point now) {
    auto const serve = [&](nic::endpoint const& source, std::span<std::byte const> bytes, bool has_ecn_mark) {
      device_.take(source, bytes, has_ecn_mark, now, [&](auto const&... answer) { send(now, answer...); });
    };
    for (int i = 0; i < drains; ++i) {
      auto const fetch = [&] {
        return port_.drain([&](nic::endpoint const& source, std::span<std::byte const> bytes, bool has_ecn_mark) {
          if (is_lost()) {
            return;
          }
          bytes_in_ += bytes.size();
          if (device_.jobs().size() < 2 && waiting_.empty() && options_.rate == 0) {
            serve(source, bytes, has_ecn_mark);
          } else if (!waiting_.add(source, bytes, has_ecn_mark, job_of(source, bytes))) {
            ++no_room_;
          }
        });
      };
      std::size_t const n = waiting_.size() < waiting_limit ? fetch() : 0;
      if (n == 0 && waiting_.empty()) {
        return false;
      }
      if (!waiting_.empty()) {
        std::size_t const size_before = waiting_.size();
        waiting_.serve(quota(now), serve);
        credit_ -= static_cast<double>(size_before - waiting_.size());
        if (credit_ < 1) {
          port_.flush();
          return false;
        }
      }
      port_.flush();
    }
    return true;
  }
  /// The job of an authentic packet of one of its members.
  [[nodiscard]] std::optional<std::uint32_t> job_of(nic::endpoint const& source,
                                                    std::span<std::byte const> bytes) const {
    nic::packet p;
    bool const is_known = options_.seal.read(bytes, p) == nic::reading::good && device_.knows(source, p.head);
    return is_known ? std::optional(p.head.job) : std::nullopt;
  }
  /// Number of packets that may be served now. With a rate limit, credit accumulates, at most a turn's.
  [[nodiscard]] std::size_t quota(tutti::time_point now) noexcept {
    auto const max_credit = static_cast<double>(turn);
    double const growth = std::chrono::duration<double>(now - credit_time_).count() * options_.rate;
    credit_ = options_.rate == 0 ? 2 * max_credit : std::min(credit_ + growth, max_credit);
    credit_time_ = now;
    return static_cast<std::size_t>(std::min(credit_, max_credit));
  }
  void send(tutti::time_point now, nic::endpoint const& destination, nic::header const& h,
            std::span<std::byte const> payload) {
    if (is_lost()) {
      return;
    }
    bytes_out_ += options_.seal.size(payload.size());
    if (options_.delay.count() != 0) {
      late_.add(now + options_.delay, destination, h, payload);
    } else {
      port_.send(destination, h, payload);  // the system drops excess packets, as any switch does
    }
  }
  void send_late(tutti::time_point now) {
    for (; !late_.empty() && late_.first().time <= now; late_.drop_first()) {
      auto const& a = late_.first();
      port_.send(a.destination, a.head, a.payload());
    }
  }

  /// The time of the next action that does not depend on packets.
  [[nodiscard]] tutti::time_point next_time(tutti::time_point now) const {
    auto next = now + std::chrono::hours(1);
    if (options_.report.count() != 0) {
      next = std::min(next, next_report_);
    }
    if (!late_.empty()) {
      next = std::min(next, late_.first().time);
    }
    if (!waiting_.empty()) {
      next = std::min(next, now + std::chrono::microseconds(100));  // until there is credit
    }
    return std::max(next, now);
  }
  static void wait(std::array<pollfd, 2>& descriptors, tutti::duration timeout) {
    timespec const t{static_cast<time_t>(timeout / std::chrono::seconds(1)),
                     static_cast<long>((timeout % std::chrono::seconds(1)).count())};
    if (ppoll(descriptors.data(), descriptors.size(), &t, nullptr) < 0) {
      descriptors[0].revents = descriptors[1].revents = 0;
    }
  }

  /// Processor time of this process, kernel included, in microseconds.
  [[nodiscard]] static std::uint64_t processor_time() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto const microseconds_of = [](timeval const& t) {
      return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000U + static_cast<std::uint64_t>(t.tv_usec);
    };
    return microseconds_of(usage.ru_utime) + microseconds_of(usage.ru_stime);
  }
  void report() const {
    auto const& c = device_.counts();
    auto const& p = port_.counts();
    auto const line = [](char const* name, std::uint64_t n) {
      std::printf("  %-14s %llu\n", name, static_cast<unsigned long long>(n));
    };
    std::printf("soft_switch: %zu job(s)\n", device_.jobs().size());
    line("packets", c.packets);
    line("stored", c.stored_contributions);
    line("completed", c.completed_results);
    line("updates", c.updates);
    line("stores", c.stores);
    line("pulls", c.pulls);
    line("repeated", c.repeats);
    line("duplicates", c.duplicates);
    line("busy", c.busy);
    line("results", c.results);
    line("queries", c.queries);
    line("joins", c.joins);
    line("leaves", c.leaves);
    line("ends", c.ends);
    line("congested", c.congestion_marks);
    line("malformed", c.malformed_packets);
    line("badly tagged", c.invalid_tags);
    line("mismatch", c.refusals_for(nic::refusal::mismatch));
    line("unknown", c.refusals_for(nic::refusal::unknown));
    line("no slots", c.refusals_for(nic::refusal::no_slots));
    line("late", c.refusals_for(nic::refusal::late));
    line("unsupported", c.refusals_for(nic::refusal::unsupported_operation));
    line("no weights", c.refusals_for(nic::refusal::no_weights));
    line("unanswered", c.unanswered_refusals);
    if (options_.uplink) {
      line("sent up", device_.uplink_counts().sums);
      line("repeated up", device_.uplink_counts().repeats);
      line("came down", device_.uplink_counts().results);
    }
    line("sent", p.sent_packets);
    line("writes", p.writes);
    line("received", p.received_packets);
    line("reads", p.reads);
    line("no room", p.no_room);
    line("failed", p.failures);
    line("not queued", no_room_);
    line("lost", losses_);
    line("bytes in", bytes_in_);  // in UDP, without packets lost on purpose
    line("bytes out", bytes_out_);
    line("cpu us", processor_time());
    line("us", static_cast<std::uint64_t>((tutti::steady_now() - start_) / std::chrono::microseconds(1)));
    std::fflush(stdout);
  }

  options options_;
  signals signals_;
  nic::udp_port port_;
  nic::rack_switch<nic::endpoint> device_;
  std::mt19937 random_;
  nic::fair_queue<nic::endpoint> waiting_;
  late_answers late_;
  double credit_ = 0;
  tutti::time_point credit_time_{};
  tutti::time_point next_report_;
  std::uint64_t losses_ = 0;
  std::uint64_t no_room_ = 0;
  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_out_ = 0;
  tutti::time_point start_ = tutti::steady_now();
};

}  // namespace

int main(int argc, char** argv) {
  try {
    soft_switch(read_options(argc, argv)).run();
  } catch (std::exception const& e) {
    std::fprintf(stderr, "soft_switch: %s\n", e.what());
    return 1;
  }
  return 0;
}
