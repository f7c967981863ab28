// SPDX-License-Identifier: Apache-2.0
//
// The files of a meeting, read by one of three ranks whose folder another process has filled. The number that the rank
// draws is known, so an input may answer it.
#include "fuzz.hpp"
#include "virtual_time.hpp"
#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/extend/error.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

/// Draws the number 0123456789abcdef.
extern "C" ssize_t getrandom(void* target, size_t size, unsigned) {
  std::uint64_t const bits = 0xfedcba9876543210;
  std::memcpy(target, &bits, (std::min)(size, sizeof bits));
  return static_cast<ssize_t>(size);
}

namespace {

using namespace tutti::detail;

/// A folder in memory, where there is one.
class folder {
 public:
  explicit folder(std::string const& name) {
    for (std::string const& place : {std::string("/dev/shm"), std::string(P_tmpdir)}) {
      place_ = place + "/tutti-fuzz-" + std::to_string(::getpid());
      if (::mkdir(place_.c_str(), 0700) == 0) {
        break;
      }
    }
    path_ = place_ + "/" + name;
    ::mkdir(path_.c_str(), 0700);
  }
  ~folder() {
    empty();
    ::rmdir(path_.c_str());
    ::rmdir(place_.c_str());
  }

  [[nodiscard]] std::string const& place() const noexcept { return place_; }

  /// Removes all that is there.
  void empty() const {
    if (DIR* const stream = ::opendir(path_.c_str()); stream != nullptr) {
      while (dirent const* const entry = ::readdir(stream)) {
        if (::unlinkat(::dirfd(stream), entry->d_name, 0) != 0) {
          ::unlinkat(::dirfd(stream), entry->d_name, AT_REMOVEDIR);
        }
      }
      ::closedir(stream);
    }
    ::mkdir(path_.c_str(), 0700);
  }
  /// Puts a file there, or something that is none.
  void put(std::string const& name, std::size_t kind, std::string const& contents) const {
    std::string const path = path_ + "/" + name;
    switch (kind) {
      case 1:
        static_cast<void>(::symlink(contents.c_str(), path.c_str()) == 0);
        return;
      case 2:
        ::mkfifo(path.c_str(), 0600);
        return;
      case 3:
        ::mkdir(path.c_str(), 0700);
        return;
      default:
        if (int const file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); file >= 0) {
          static_cast<void>(::write(file, contents.data(), contents.size()) == 0);
          ::close(file);
        }
    }
  }
  [[nodiscard]] bool has(std::string const& name) const {
    struct stat status {};
    return ::lstat((path_ + "/" + name).c_str(), &status) == 0;
  }

 private:
  std::string place_;
  std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static folder const store(meeting_folder("fuzz"));
  fuzz::input in(data, size);
  auto const me = static_cast<tutti::rank_type>(in.below(3));
  std::set<std::string> foreign;
  store.empty();
  while (in.size() != 0) {
    std::string name(in.text().substr(0, 100));
    std::size_t const kind = in.below(4);
    std::replace(name.begin(), name.end(), '/', '_');
    std::replace(name.begin(), name.end(), '\0', '_');
    if (name.empty() || name == "." || name == "..") {
      continue;
    }
    store.put(name, kind, std::string(in.text()));
    if (store.has(name) && name != "open" && number_in_name(name).empty()) {
      foreign.insert(name);
    }
  }
  {
    fuzz::memory_limit const limit((1U << 18) + 64 * size);
    try {
      file_rendezvous meeting(store.place(), {.rank = me, .size = 3, .job = "fuzz", .patience = {}});
      for (int round = 0; round != 2; ++round) {
        fuzz::expect(meeting.exchange("mine").size() == 3, "there is a text of each rank");
      }
    } catch (tutti::error const& e) {
      fuzz::expect(*e.what() != '\0', "an error says why");
    }
  }
  for (std::string const& name : foreign) {
    fuzz::expect(store.has(name), "no file of somebody else is removed");
  }
  return 0;
}
