// SPDX-License-Identifier: Apache-2.0
// test: address (one process)
#include <support/forked_child.hpp>
#include <tutti/detail/core/control_groups.hpp>
#include <tutti/detail/core/core_set.hpp>
#include <tutti/detail/shared_memory/memory_left.hpp>
#include <tutti/detail/shared_memory/shared_file.hpp>
#include <tutti/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// The contents of /proc and /sys for a process, written to a folder.
struct kernel {
  kernel() {
    char name[] = "/tmp/tutti-test-XXXXXX";
    BOOST_REQUIRE(::mkdtemp(name) != nullptr);
    at = name;
  }
  ~kernel() { std::filesystem::remove_all(at); }

  void write(std::string const& file, std::string const& text) const {
    std::filesystem::create_directories((at / file).parent_path());
    std::ofstream(at / file) << text << '\n';
  }
  /// Writes a group of version 2.
  void group(std::string const& path, std::string const& max, std::uint64_t current, std::uint64_t files = 0) const {
    write(path + "/memory.max", max);
    write(path + "/memory.current", std::to_string(current));
    write(path + "/memory.stat", "anon 5\nfile 7\ninactive_anon 9\ninactive_file " + std::to_string(files / 2) +
                                     "\nactive_file " + std::to_string(files - files / 2));
  }
  [[nodiscard]] std::uint64_t left(std::uint64_t swap = 0) const {
    return tutti::detail::left_in_groups((at / "cgroup").string(), (at / "fs").string(), swap);
  }

  std::filesystem::path at;
};

BOOST_AUTO_TEST_CASE(without_groups_there_is_no_limit) {
  kernel const k;
  BOOST_TEST(k.left() == UINT64_MAX);
  k.write("cgroup", "0::/");
  BOOST_TEST(k.left() == UINT64_MAX);
  k.group("fs", "max", 1000);
  BOOST_TEST(k.left() == UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(the_tightest_group_on_the_way_up_counts) {
  kernel const k;
  k.write("cgroup", "0::/slice/job/step");
  k.group("fs", "max", 100'000);
  k.group("fs/slice", "5000", 4900);
  k.group("fs/slice/job", "2000", 500);
  k.group("fs/slice/job/step", "max", 500);
  BOOST_TEST(k.left() == 100U);
  k.group("fs/slice", "50000", 4900);
  BOOST_TEST(k.left() == 1500U);
  k.group("fs/slice/job", "2000", 2500);
  BOOST_TEST(k.left() == 0U);
}

BOOST_AUTO_TEST_CASE(pages_of_files_and_swap_make_room) {
  kernel const k;
  k.write("cgroup", "0::/job");
  k.group("fs/job", "2000", 1900, 700);
  BOOST_TEST(k.left() == 800U);
  BOOST_TEST(k.left(1000) == 800U);  // the group has no file for swap
  k.write("fs/job/memory.swap.max", "500");
  k.write("fs/job/memory.swap.current", "200");
  BOOST_TEST(k.left(1000) == 1100U);
  BOOST_TEST(k.left(50) == 850U);
  k.write("fs/job/memory.swap.max", "max");
  BOOST_TEST(k.left(1000) == 1800U);
}

/// A container with version 1 sees its own group as the root, and the name that it has outside.
BOOST_AUTO_TEST_CASE(a_container_s_own_root_counts) {
  kernel const k;
  k.write("cgroup", "5:cpu,cpuacct:/docker/0123\n4:memory:/docker/0123\n1:name=systemd:/docker/0123\n0::/");
  k.write("fs/memory/memory.limit_in_bytes", "4000");
  k.write("fs/memory/memory.usage_in_bytes", "1500");
  k.write("fs/memory/memory.stat", "inactive_file 9000\ntotal_inactive_file 300\ntotal_active_file 200");
  BOOST_TEST(k.left() == 3000U);
  k.write("fs/memory/memory.limit_in_bytes", "9223372036854771712");  // no limit
  BOOST_TEST(k.left() > std::uint64_t{1} << 60);
}

/// The tightest group on the path counts, rounded down, as ranks that share a core must not spin.
BOOST_AUTO_TEST_CASE(groups_limit_the_cores_that_may_be_busy) {
  kernel const k;
  auto const cores = [&k] {
    return tutti::detail::cores_of_groups((k.at / "cgroup").string(), (k.at / "fs").string());
  };
  BOOST_TEST(cores() == SIZE_MAX);
  k.write("cgroup", "0::/slice/job");
  BOOST_TEST(cores() == SIZE_MAX);
  k.write("fs/slice/job/cpu.max", "max 100000");
  BOOST_TEST(cores() == SIZE_MAX);
  k.write("fs/slice/job/cpu.max", "450000 100000");
  BOOST_TEST(cores() == 4U);
  k.write("fs/slice/cpu.max", "150000 100000");
  BOOST_TEST(cores() == 1U);
  k.write("fs/slice/cpu.max", "1000 100000");
  BOOST_TEST(cores() == 1U);

  k.write("cgroup", "5:cpu,cpuacct:/docker/0123\n4:cpuset:/\n0::/");
  BOOST_TEST(cores() == SIZE_MAX);
  k.write("fs/cpu,cpuacct/cpu.cfs_period_us", "50000");
  k.write("fs/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  BOOST_TEST(cores() == SIZE_MAX);
  k.write("fs/cpu,cpuacct/cpu.cfs_quota_us", "100000");
  BOOST_TEST(cores() == 2U);
}

/// A control group for this process, with this much memory; none if the system does not allow it.
struct real_group {
  explicit real_group(std::uint64_t bytes) {
    for (auto const& [root, limit] :
         {std::pair("/sys/fs/cgroup/memory/", "memory.limit_in_bytes"), std::pair("/sys/fs/cgroup/", "memory.max")}) {
      std::filesystem::path const group = root + ("tutti-test-" + std::to_string(::getpid()));
      std::error_code result;
      if (std::filesystem::create_directory(group, result)) {
        folder = group;
        if (std::ofstream(folder / limit) << bytes << std::flush) {
          return;
        }
        std::filesystem::remove(std::exchange(folder, {}), result);
      }
    }
  }
  ~real_group() {
    std::error_code result;
    std::filesystem::remove(folder, result);
  }
  [[nodiscard]] bool enter() const {
    return !folder.empty() && (std::ofstream(folder / "cgroup.procs") << ::getpid() << std::flush);
  }

  std::filesystem::path folder;
};

/// A request beyond the container's limit is refused with that cause; the kernel would kill the process.
BOOST_AUTO_TEST_CASE(a_container_s_limit_is_an_error_and_no_kill) {
  real_group const group(std::uint64_t{64} << 20);
  ::pid_t const child = ::fork();
  if (child == 0) {
    if (!group.enter()) {
      ::_exit(77);
    }
    tutti::detail::shared_file small;
    small.create(std::size_t{8} << 20);
    try {
      tutti::detail::shared_file large;
      large.create(std::size_t{128} << 20);
    } catch (tutti::error const& e) {
      ::_exit(std::string_view(e.what()).find("container (cgroup)") != std::string_view::npos ? 0 : 2);
    }
    ::_exit(1);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    BOOST_TEST_MESSAGE("no control group can be made here");
  } else {
    BOOST_TEST(WEXITSTATUS(status) == 0);
  }
}

/// The system counts shared memory as files, and kills a process that makes one too long.
BOOST_AUTO_TEST_CASE(shared_memory_beyond_the_limit_of_file_sizes_is_an_error) {
  BOOST_TEST(ends_in_a_forked_child([] {
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 1 << 20;
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      throw std::runtime_error("no limit");
    }
    tutti::detail::shared_file small;
    small.create(limit.rlim_cur);
    small.reserve(0, limit.rlim_cur);
    if (small.commit(0, limit.rlim_cur + 1).find("ulimit -f") == std::string::npos) {
      throw std::runtime_error("the limit is not named");
    }
    try {
      tutti::detail::shared_file large;
      large.create(limit.rlim_cur + 1);
    } catch (tutti::error const& e) {
      if (std::string_view(e.what()).find("files of 1024 KiB") != std::string_view::npos) {
        return;
      }
    }
    throw std::runtime_error("no error, or another one");
  }));
}

}  // namespace
