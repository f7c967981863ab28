// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views.hpp"
#include <tutti/detail/core/operations_page.hpp>
#include <tutti/detail/core/process_look.hpp>
#include <tutti/extend/member.hpp>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace inspect {

using tutti::detail::communicator_facts;
using tutti::detail::communicator_record;
using tutti::detail::mapped_page;
using tutti::detail::numbers_in;
using tutti::detail::operations_page;
using tutti::detail::status_of;
using tutti::detail::thread_status;

/// Replaces control characters, which a terminal would obey.
template <class Text>
void make_printable(Text& text) {
  std::replace_if(
      std::begin(text), std::end(text),
      [](char c) { return c != 0 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f); }, '?');
}

/// Calls `f(view&&, facts)` for each communicator of a page, with what the page knows of it.
/// @param record_at the record of a number
/// @param clock the steady clock of the process
template <class RecordAt, class Clock, class F>
void for_each_view(std::uint64_t occupancy, RecordAt record_at, Clock clock, F f) {
  for (std::size_t i = 0; i < operations_page::record_count; ++i) {
    if ((occupancy >> i & 1U) == 0) {
      continue;
    }
    communicator_record const& record = record_at(i);
    std::uint64_t const tenancy = record.tenancy();
    communicator_facts facts = record.facts();
    view v;
    record.operations().for_each([&](tutti::recorder::entry e) {
      make_printable(e.label);
      make_printable(e.call_record.element);
      make_printable(e.call_record.reduction);
      make_printable(e.call_record.topology);
      v.operations.push_back(e);
    });
    if (tutti::recorder::wait wait; record.operations().read(wait) && wait.begin >= tutti::time_point{} &&
                                    wait.last_look >= wait.begin && wait.last_look <= clock()) {
      v.noted_wait = wait;
    }
    if (tenancy != 0 && record.tenancy() == tenancy && facts.rank < facts.size) {
      v.communicator = facts.identity;
      v.name = facts.name;
      make_printable(v.name);
      v.rank = facts.rank;
      v.size = facts.size;
      v.thread = v.noted_wait ? v.noted_wait->thread : facts.thread;
      v.record = i;
      f(std::move(v), facts);
    }
  }
}

/// A view of a rank that only other ranks name.
[[nodiscard]] inline view view_without_record(communicator_facts const& facts,
                                              tutti::detail::local_member const& member, std::string const& name,
                                              std::string const& host) {
  view v;
  v.communicator = facts.identity;
  v.name = name;
  v.rank = member.rank;
  v.size = facts.size;
  v.host = host;
  v.pid = v.thread = member.pid;
  v.has_record = false;
  return v;
}

/// Sorts views by communicator and rank.
inline void sort(std::vector<view>& views) {
  std::sort(views.begin(), views.end(), [](view const& a, view const& b) {
    return std::tie(a.name, a.communicator, a.rank) < std::tie(b.name, b.communicator, b.rank);
  });
}

/// Calls `f(view&&, facts)` for each communicator of the page of a process of this host.
template <class F>
void for_each_view(mapped_page const& page, F f) {
  for_each_view((*page).occupancy.load(std::memory_order_relaxed),
                [&](std::size_t i) -> communicator_record const& { return (*page).records[i]; },
                [] { return tutti::steady_now(); }, f);
}

/// The processor time of all threads of a process; 0 if it is not known.
[[nodiscard]] inline tutti::duration run_time_of(std::uint32_t pid) {
  clockid_t clock{};
  timespec time{};
  return ::clock_getcpuclockid(static_cast<pid_t>(pid), &clock) == 0 && ::clock_gettime(clock, &time) == 0
             ? std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec)
             : tutti::duration{};
}

/// All that can be seen of these processes, and of the other ranks of their communicators on this host. `interval`:
/// time for which their use of processors is observed.
[[nodiscard]] inline sight look_at(std::vector<std::uint32_t> const& pids,
                                   std::chrono::milliseconds interval = std::chrono::milliseconds(20)) {
  sight scene;
  std::map<std::uint32_t, mapped_page> pages;
  std::map<std::pair<std::uint64_t, tutti::rank_type>, view> missing;
  std::vector<std::uint32_t> open_pids = pids;
  std::string const host = tutti::host_name();
  while (!open_pids.empty()) {
    std::uint32_t const pid = open_pids.back();
    open_pids.pop_back();
    auto const [place, is_new] = pages.try_emplace(pid, pid);
    if (!is_new || !place->second) {
      continue;
    }
    for_each_view(place->second, [&](view&& v, communicator_facts const& facts) {
      v.pid = pid;
      v.host = host;
      for (auto const& member : facts.local_members) {
        if (member.rank < facts.size && place->second.is_in_own_space(pid)) {
          missing.emplace(std::pair(facts.identity, member.rank), view_without_record(facts, member, v.name, host));
          open_pids.push_back(member.pid);
        }
      }
      scene.views.push_back(std::move(v));
    });
  }
  for (view const& v : scene.views) {
    missing.erase({v.communicator, v.rank});
  }
  for (auto& [key, v] : missing) {
    scene.views.push_back(std::move(v));
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, thread_status> first;
  std::map<std::uint32_t, tutti::duration> run_times;
  for (view const& v : scene.views) {
    first.try_emplace({v.pid, v.thread}, status_of(v.pid, v.thread));
    run_times.try_emplace(v.pid, run_time_of(v.pid));
  }
  std::this_thread::sleep_for(interval);
  for (view& v : scene.views) {
    thread_status const& first_status = first.at({v.pid, v.thread});
    thread_status const now = status_of(v.pid, v.thread);
    v.state = activity_of(first_status, now, interval);
    v.channel = now.channel;
    tutti::duration const rest =
        run_time_of(v.pid) - run_times.at(v.pid) - std::chrono::nanoseconds(now.run_time_ns - first_status.run_time_ns);
    v.others_compute = v.state != activity::computes && rest > interval / 2;
  }
  sort(scene.views);
  scene.now = tutti::steady_now();
  return scene;
}

/// The processes of this user that have a page; with `job`, only the members of that job.
[[nodiscard]] inline std::vector<std::uint32_t> find_processes(std::optional<std::string> const& job) {
  std::vector<std::uint32_t> pids;
  for (std::uint32_t const pid : numbers_in("/proc")) {
    struct stat status {};
    if (::stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0 && status.st_uid == ::geteuid()) {
      if (mapped_page const page(pid); page && (!job || page.job() == *job)) {
        pids.push_back(pid);
      }
    }
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

/// Divides a sight into worlds: ranks that have a communicator or a process in common.
[[nodiscard]] inline std::vector<sight> by_world(sight const& scene) {
  std::vector<std::size_t> group(scene.views.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i] = i;
    for (std::size_t k = 0; k < i; ++k) {
      if (scene.views[k].communicator == scene.views[i].communicator ||
          are_of_one_process(scene.views[k], scene.views[i])) {
        std::size_t const number = group[k];
        std::replace(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(i) + 1, number, group[i]);
      }
    }
  }
  std::vector<sight> worlds;
  for (std::size_t const g : std::set<std::size_t>(group.begin(), group.end())) {
    worlds.push_back({scene.now, {}, scene.is_from_dumps});
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (group[i] == g) {
        worlds.back().views.push_back(scene.views[i]);
      }
    }
  }
  return worlds;
}

}  // namespace inspect
