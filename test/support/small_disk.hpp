// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/test/unit_test.hpp>

#include <string>
#include <sys/mount.h>
#include <sys/stat.h>
#include <utility>

/// A file system of few bytes, mounted at a path. Unmounting needs the same right as mounting.
struct small_disk {
  small_disk(std::string path, std::string const& bytes) : mount_point(std::move(path)) {
    BOOST_REQUIRE(::mkdir(mount_point.c_str(), 0700) == 0);
    is_mounted = ::mount("tmpfs", mount_point.c_str(), "tmpfs", 0, ("mode=700,size=" + bytes).c_str()) == 0;
  }
  small_disk(small_disk const&) = delete;
  small_disk& operator=(small_disk const&) = delete;
  ~small_disk() {
    if (is_mounted) {
      ::umount2(mount_point.c_str(), MNT_DETACH);
    }
  }
  std::string mount_point;
  bool is_mounted = false;
};
