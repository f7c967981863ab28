// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "processes.hpp"
#include "views.hpp"
#include <tutti/detail/base/bounded_text.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/dumps.hpp>
#include <tutti/detail/core/operations_page.hpp>
#include <tutti/extend/member.hpp>
#include <tutti/extend/time.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace inspect {

using tutti::detail::descriptor;
using tutti::detail::dump_head;

/// The part of one process in a dump.
struct dump_part {
  dump_head head{};
  std::vector<std::unique_ptr<operations_page::record>> records{};  ///< by their numbers; null where there is none
};

/// Reads bytes into memory; fewer at the end of the file.
[[nodiscard]] inline std::size_t read_bytes(descriptor const& file, std::string const& path, void* target,
                                            std::size_t size) {
  std::size_t length = 0;
  while (length < size) {
    ssize_t const bytes = ::read(file.get(), static_cast<char*>(target) + length, size - length);
    if (bytes < 0 && errno != EINTR) {
      throw std::runtime_error(path + ": " + tutti::detail::describe_errno(errno));
    }
    if (bytes == 0) {
      break;
    }
    length += bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
  }
  return length;
}

/// Reads a dump, and adds its parts. Whatever it holds, reading it is safe.
/// @throws std::runtime_error if it is not a whole dump of this version
inline void read_dump(std::string const& path, std::vector<std::unique_ptr<dump_part>>& parts) {
  descriptor const file([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (!file) {
    throw std::runtime_error(path + ": " + tutti::detail::describe_errno(errno));
  }
  for (bool is_first = true;; is_first = false) {
    auto part = std::make_unique<dump_part>();
    std::size_t const length = read_bytes(file, path, &part->head, sizeof part->head);
    if (length == 0 && !is_first) {
      return;
    }
    if (length < sizeof part->head.magic || part->head.magic != dump_head::magic_word) {
      throw std::runtime_error(path + (is_first ? " is no dump of tutti" : " has other data after a dump"));
    }
    auto const check_length = [&](bool is_whole) {
      if (!is_whole) {
        throw std::runtime_error(path + " is cut short: copy it again");
      }
    };
    check_length(length == sizeof part->head);
    if (part->head.layout != dump_head::layout_number || part->head.page_layout != operations_page::layout_number) {
      throw std::runtime_error(path +
                               " was written by another version of tutti: use the tutti-inspect of that version");
    }
    part->records.resize(operations_page::record_count);
    for (std::size_t i = 0; i < operations_page::record_count; ++i) {
      if ((part->head.occupancy >> i & 1U) != 0) {
        part->records[i] = std::make_unique<operations_page::record>();
        void* const memory = part->records[i].get();
        check_length(read_bytes(file, path, memory, sizeof(operations_page::record)) ==
                     sizeof(operations_page::record));
      }
    }
    parts.push_back(std::move(part));
  }
}

/// The dumps that these paths name: files, and the files in folders whose names end with ".dump".
/// @throws std::runtime_error if a folder has none
[[nodiscard]] inline std::vector<std::string> find_dumps(std::vector<std::string> const& paths) {
  std::vector<std::string> files;
  for (std::string const& path : paths) {
    std::error_code code;
    if (!std::filesystem::is_directory(path, code)) {
      files.push_back(path);
      continue;
    }
    std::size_t const count = files.size();
    for (auto const& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() == ".dump" && entry.file_size(code) != 0) {  // an empty one is being written
        files.push_back(entry.path().string());
      }
    }
    if (files.size() == count) {
      throw std::runtime_error(path +
                               " has no dump: no rank has had a fault, or a SIGUSR2, with TUTTI_DUMPS set to it");
    }
  }
  return files;
}

/// All that dumps say. Of a rank that several dumps describe, the one of the first fault of the communicator counts, or
/// else the latest.
/// @throws std::runtime_error that names the file that cannot be read
[[nodiscard]] inline sight read_dumps(std::vector<std::string> const& paths) {
  std::vector<std::unique_ptr<dump_part>> parts;
  for (std::string const& path : find_dumps(paths)) {
    read_dump(path, parts);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](auto const& a, auto const& b) { return a->head.wall_clock > b->head.wall_clock; });
  sight scene{.now = tutti::steady_now(), .is_from_dumps = true};
  struct description {
    view rank;
    bool is_of_fault = false;
  };
  std::map<std::pair<std::uint64_t, tutti::rank_type>, description> ranks;
  std::map<std::pair<std::string, std::uint32_t>, activity> processes;
  for (auto const& part : parts) {
    dump_head& head = part->head;
    auto const state_at = [&](std::size_t i) {
      activity const state = head.observations[i].state;
      return state <= activity::absent ? state : activity::unknown;
    };
    std::string host(tutti::detail::bounded_text(head.host));
    std::string error(tutti::detail::bounded_text(head.error));
    make_printable(host);
    make_printable(error);
    auto const pid = static_cast<std::uint32_t>(head.pid);
    processes.try_emplace({host, pid}, state_at(static_cast<std::size_t>(std::countr_zero(head.occupancy)) %
                                                operations_page::record_count));
    tutti::time_point const now(head.now);
    for_each_view(
        head.occupancy, [&](std::size_t i) -> communicator_record const& { return *part->records[i]; },
        [&] { return now; },
        [&](view&& v, communicator_facts const& facts) {
          v.host = host;
          v.pid = pid;
          v.state = state_at(v.record);
          v.channel = tutti::detail::bounded_text(head.observations[v.record].channel);
          make_printable(v.channel);
          v.others_compute = head.observations[v.record].others_compute != 0;
          if (v.noted_wait) {  // moves its times by the age of the dump
            v.noted_wait->begin = scene.now - (now - v.noted_wait->begin);
            v.noted_wait->last_look = scene.now - (now - v.noted_wait->last_look);
          }
          bool const is_of_fault = head.communicator == v.communicator;
          if (is_of_fault && !error.empty()) {
            v.error = error;
            v.error_time = head.wall_clock;
          }
          for (auto const& member : facts.local_members) {
            if (member.rank < facts.size) {
              ranks.try_emplace({facts.identity, member.rank},
                                description{view_without_record(facts, member, v.name, host)});
            }
          }
          description& entry = ranks[{v.communicator, v.rank}];
          if (!entry.rank.has_record || entry.rank.size == 0 || is_of_fault) {
            entry = {std::move(v), is_of_fault};
          }
        });
  }
  for (auto& [key, entry] : ranks) {
    view& v = entry.rank;
    if (!v.has_record) {
      auto const match = processes.find({v.host, v.pid});
      v.is_seen = match != processes.end();
      v.state = v.is_seen ? match->second : activity::unknown;
    }
    scene.views.push_back(std::move(v));
  }
  sort(scene.views);
  return scene;
}

/// Writes what is seen of processes of this host to a new file, which `read_dumps` reads. The file is empty until it is
/// whole.
/// @throws std::runtime_error if the file exists, or cannot be written
inline void save(sight const& scene, std::string const& path) {
  auto const check = [&](int code) {
    if (code != 0) {
      throw std::runtime_error(path + " was not written: " + tutti::detail::describe_write_error(code));
    }
  };
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  descriptor const reservation([&] { return ::open(path.c_str(), flags, 0600); });
  check(reservation ? 0 : errno);
  std::string const draft = path + ".draft";
  descriptor file([&] { return ::open(draft.c_str(), flags, 0600); });
  bool const has_draft = static_cast<bool>(file);
  int code = has_draft ? 0 : errno;
  auto const record = std::make_unique<operations_page::record>();
  std::map<std::uint32_t, std::unique_ptr<dump_head>> heads;
  for (view const& v : scene.views) {
    std::unique_ptr<dump_head>& head = heads[v.pid];
    if (!head) {
      head = std::make_unique<dump_head>();
      head->pid = v.pid;
      tutti::detail::copy_bounded(v.host, head->host);
    }
    dump_head::observation& o = head->observations[v.record];
    if (v.has_record || o.state == activity::unknown) {
      o.state = v.state;
      o.others_compute = v.others_compute ? 1 : 0;
      tutti::detail::copy_bounded(v.channel, o.channel);
    }
  }
  for (auto const& [pid, head] : heads) {
    mapped_page const page(pid);
    code = code != 0 ? code : tutti::detail::write_part(file.get(), page ? &*page : nullptr, *head, *record);
  }
  if (has_draft && ::close(file.release()) != 0 && code == 0) {
    code = errno;
  }
  if (code == 0 && ::rename(draft.c_str(), path.c_str()) != 0) {
    code = errno;
  }
  if (code != 0) {
    ::unlink(path.c_str());
    has_draft ? ::unlink(draft.c_str()) : 0;
  }
  check(code);
}

}  // namespace inspect
