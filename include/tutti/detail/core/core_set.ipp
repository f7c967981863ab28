// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/core/control_groups.hpp>
#include <tutti/detail/core/core_set.hpp>
#include <tutti/detail/core/standard_numbers.hpp>

#include <bit>
#include <sched.h>
#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline core {

TUTTI_DECL core_set core_set::of_thread(::pid_t thread) {
  core_set set;
  cpu_set_t mask;
  if (::sched_getaffinity(thread, sizeof mask, &mask) == 0) {
    for (std::size_t core = 0; core != CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &mask)) {
        set.add(core);
      }
    }
  } else {  // more cores than a cpu_set_t holds, or a sandbox
    standard_numbers const reservation;
    long const cores = ::sysconf(_SC_NPROCESSORS_ONLN);
    for (std::size_t core = 0; std::cmp_less(core, cores); ++core) {
      set.add(core);
    }
  }
  return set;
}

TUTTI_DECL void core_set::add(std::size_t core) {
  if (words_.size() <= core / 64) {
    words_.resize(core / 64 + 1);
  }
  words_[core / 64] |= std::uint64_t{1} << core % 64;
}

TUTTI_DECL bool core_set::add(std::string_view text) {
  constexpr std::size_t limit = std::size_t{1} << 16;
  auto const number = [&text](std::size_t& value) {
    std::size_t digits = 0;
    for (value = 0; digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && value < limit; ++digits) {
      value = value * 10 + static_cast<std::size_t>(text[digits] - '0');
    }
    text.remove_prefix(digits);
    return digits != 0 && value < limit;
  };
  auto const skip = [&text](char separator) {
    bool const is_next = text.starts_with(separator);
    text.remove_prefix(is_next ? 1 : 0);
    return is_next;
  };
  std::size_t next = 0;  // each core is added once, so a long text costs no more than its length
  do {
    std::size_t first = 0;
    if (!number(first) || first < next) {
      return false;
    }
    std::size_t last = first;
    if (skip('-') && (!number(last) || last < first)) {
      return false;
    }
    for (next = first; next <= last; ++next) {
      add(next);
    }
  } while (skip(','));
  return text.empty();
}

TUTTI_DECL std::string core_set::text() const {
  std::string list;
  auto const has = [this](std::size_t core) {
    return core / 64 < words_.size() && (words_[core / 64] >> core % 64 & 1U) != 0;
  };
  for (std::size_t core = 0; core < words_.size() * 64; ++core) {
    if (!has(core)) {
      continue;
    }
    list += (list.empty() ? "" : ",") + std::to_string(core);
    std::size_t last = core;
    while (has(last + 1)) {
      ++last;
    }
    if (last != core) {
      list += '-' + std::to_string(last);
    }
    core = last;
  }
  return list;
}

TUTTI_DECL std::size_t core_set::usable() const {
  std::size_t count = 0;
  for (std::uint64_t const word : words_) {
    count += static_cast<std::size_t>(std::popcount(word));
  }
  std::size_t const group_limit = cores_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
  return count < group_limit ? count : group_limit;
}

TUTTI_DECL std::size_t cores_of_groups(std::string const& groups, std::string const& mount_point) {
  std::uint64_t minimum = SIZE_MAX;
  auto read_limit = [&minimum](std::string const& group, int version) {
    constexpr std::uint64_t no_number = kernel_file::no_number;
    kernel_file const limit(group + (version == 2 ? "cpu.max" : "cpu.cfs_quota_us"));
    if (limit.text().starts_with('-')) {  // version 1 has no limit
      return;
    }
    std::uint64_t const quota = limit.number();
    word_reader words(limit.text().substr(0, limit.text().find('\n')));  // version 2: "max 100000", or "150000 100000"
    words.word();
    std::uint64_t const period =
        version == 2 ? words.number<std::uint64_t>() : kernel_file(group + "cpu.cfs_period_us").number();
    if (quota != no_number && period != no_number && period != 0) {
      std::uint64_t const cores = quota < period ? 1 : quota / period;
      minimum = cores < minimum ? cores : minimum;
    }
  };
  for_each_group(groups, mount_point, "cpu", group_visit(read_limit));
  return integer_cast<std::size_t>(minimum);
}

}  // namespace tutti::detail::core
