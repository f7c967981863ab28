// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/detail/core/operations_page.hpp>
#include <tutti/detail/core/owner.hpp>

#include <bit>
#include <fcntl.h>
#include <new>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline core {

TUTTI_DECL std::uint32_t this_thread_number() noexcept {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

TUTTI_DECL void communicator_record::begin() noexcept {
  tenancy_.store(tenancy_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  operations_.clear();
}

TUTTI_DECL void communicator_record::publish(communicator_facts const& facts) noexcept {
  auto const write = [](word& target, std::uint64_t value) { target.store(value, std::memory_order_release); };
  write(identity_, facts.identity);
  write(rank_and_size_, std::uint64_t{facts.rank} << 32 | facts.size);
  write(thread_, facts.thread);
  name_.store(facts.name);
  write(local_size_, facts.local_size);
  for (std::size_t i = 0; i < facts.local_members.size(); ++i) {
    write(local_members_[i], std::uint64_t{facts.local_members[i].rank} << 32 | facts.local_members[i].pid);
  }
  write(publication_, tenancy_.load(std::memory_order_relaxed));
}

TUTTI_DECL void communicator_record::end() noexcept {
  tenancy_.store(tenancy_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

TUTTI_DECL void communicator_record::copy(communicator_record const& source) noexcept {
  auto const copy_word = [](word& target, word const& value) {
    target.store(value.load(std::memory_order_acquire), std::memory_order_release);
  };
  std::uint64_t const tenancy = source.tenancy();
  copy_word(identity_, source.identity_);
  copy_word(rank_and_size_, source.rank_and_size_);
  copy_word(thread_, source.thread_);
  copy_word(local_size_, source.local_size_);
  name_.copy(source.name_);
  for (std::size_t i = 0; i < member_limit; ++i) {
    copy_word(local_members_[i], source.local_members_[i]);
  }
  operations_.copy(source.operations_);
  std::uint64_t const last = source.tenancy() == tenancy ? tenancy : 0;
  tenancy_.store(last, std::memory_order_relaxed);
  publication_.store(last, std::memory_order_release);
}

TUTTI_DECL communicator_facts communicator_record::facts() const {
  auto const read = [](word const& source) { return source.load(std::memory_order_acquire); };
  communicator_facts facts;
  facts.identity = read(identity_);
  std::uint64_t const rank_and_size = read(rank_and_size_);
  facts.rank = static_cast<rank_type>(rank_and_size >> 32);
  facts.size = static_cast<rank_type>(rank_and_size);
  facts.thread = static_cast<std::uint32_t>(read(thread_));
  facts.name = name_.load();
  facts.local_size = read(local_size_);
  for (std::size_t i = 0; i < facts.local_size && i < member_limit; ++i) {
    std::uint64_t const member = read(local_members_[i]);
    facts.local_members.push_back({static_cast<rank_type>(member >> 32), static_cast<std::uint32_t>(member)});
  }
  return facts;
}

/// The page of this process. Its static members are guarded by the lock.
class record_owner::page {
 public:
  /// Held by one thread of a process at a time. A forked child has one of its own, although a thread that it lacks may
  /// have held it.
  class lock {
   public:
    /// @param may_wait false, in a signal handler: the lock is not taken if a thread holds it, perhaps this one
    explicit lock(bool may_wait = true) noexcept {
      std::uint64_t const mark = std::uint64_t{fork_guard::generation()} + 1;
      for (std::uint64_t holder = 0; !holder_.compare_exchange_weak(holder, mark, std::memory_order_acquire);) {
        if (holder == mark && !may_wait) {
          is_held_ = false;
          return;
        }
        if (holder == mark) {
          ::sched_yield();
          holder = 0;
        }
      }
    }
    lock(lock const&) = delete;
    lock& operator=(lock const&) = delete;
    ~lock() {
      if (is_held_) {
        holder_.store(0, std::memory_order_release);
      }
    }
    [[nodiscard]] explicit operator bool() const noexcept { return is_held_; }

   private:
    inline static std::atomic<std::uint64_t> holder_{0};

    bool is_held_ = true;
  };

  explicit page(page* parents) noexcept : parents_(parents) {}
  page(page const&) = delete;
  page& operator=(page const&) = delete;
  ~page() {
    if (memory_ != nullptr) {
      ::munmap(static_cast<void*>(memory_), sizeof *memory_);
    }
  }

  /// The page of this process, made if there is none; null if none can be made. @pre the lock is held
  [[nodiscard]] static page* current() noexcept {
    if (!has_current()) {
      auto* const candidate = new (std::nothrow) page(current_);
      if (candidate == nullptr || !candidate->open()) {
        delete candidate;
        return nullptr;
      }
      current_ = candidate;
    }
    return current_;
  }
  /// Takes a record; null if none is left. @pre the lock is held
  [[nodiscard]] communicator_record* take() noexcept {
    auto const number = static_cast<std::size_t>(std::countr_one(occupancy()));
    if (number == operations_page::record_count ||
        !commit(offsetof(operations_page, records) + number * sizeof(operations_page::record))) {
      return nullptr;
    }
    memory_->occupancy.store(occupancy() | std::uint64_t{1} << number, std::memory_order_relaxed);
    return &memory_->records[number];
  }
  /// Gives a record back; the last one ends the page. @pre the lock is held
  void give_back(communicator_record* record) noexcept {
    auto const number = static_cast<std::size_t>(static_cast<operations_page::record*>(record) - memory_->records);
    memory_->occupancy.store(occupancy() & ~(std::uint64_t{1} << number), std::memory_order_relaxed);
    end_if_unused();
  }
  void end_if_unused() noexcept {
    if (occupancy() == 0) {
      current_ = parents_;
      delete this;
    }
  }

  /// Sets the name of the job, for this page and later ones. @pre the lock is held
  static void set_job(std::string_view job) noexcept {
    job_.store(job);
    if (has_current()) {
      current_->memory_->job.store(job);
    }
  }
  /// The memory of this process's page, or null. @pre the lock is held
  [[nodiscard]] static operations_page const* memory() noexcept { return has_current() ? current_->memory_ : nullptr; }

 private:
  static_assert(operations_page::record_count == 64, "a bit for each");

  [[nodiscard]] static bool has_current() noexcept {
    return current_ != nullptr && current_->generation_ == fork_guard::generation();
  }
  [[nodiscard]] std::uint64_t occupancy() const noexcept { return memory_->occupancy.load(std::memory_order_relaxed); }
  [[nodiscard]] bool open() noexcept {
    static_assert(sizeof(off_t) == 8, "compile with -D_FILE_OFFSET_BITS=64");
    constexpr std::size_t bytes = sizeof(operations_page);
    // The kernel counts this memory as a file, and would end the process by a signal.
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)) {
      return false;
    }
    file_ = memory_file(operations_page::file_name.data());
    if (!file_ || ::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 || !commit(0)) {
      return false;
    }
    void* const place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (place == MAP_FAILED) {
      return false;
    }
    memory_ = static_cast<operations_page*>(place);
    memory_->layout.store(operations_page::layout_number, std::memory_order_relaxed);
    memory_->bytes.store(bytes, std::memory_order_relaxed);
    memory_->pid.store(static_cast<std::uint64_t>(::getpid()), std::memory_order_relaxed);
    memory_->job.store(job_.load());
    memory_->magic.store(operations_page::magic_word, std::memory_order_release);
    return true;
  }
  /// Commits the memory of a record, or of what is before the records. A shortage shows now, not as a SIGBUS later.
  [[nodiscard]] bool commit(std::size_t begin) const noexcept {
    int code = EINTR;
    while (code == EINTR) {
      code = ::posix_fallocate(file_.get(), static_cast<off_t>(begin), operations_page::system_page);
    }
    return code == 0;
  }

  inline static page* current_ = nullptr;
  inline static shared_text<16> job_;

  std::uint32_t generation_ = fork_guard::generation();
  descriptor file_;
  operations_page* memory_ = nullptr;
  page* parents_;  ///< the page of the process that has forked this one
};

TUTTI_DECL record_owner::record_owner() : generation_(fork_guard::generation()) {
  {
    page::lock const lock;
    page_ = page::current();
    record_ = page_ != nullptr ? page_->take() : nullptr;
    if (page_ != nullptr && record_ == nullptr) {
      std::exchange(page_, nullptr)->end_if_unused();
    }
  }
  record_ = record_ != nullptr ? record_ : new communicator_record;
  record_->begin();
}

TUTTI_DECL record_owner::~record_owner() {
  if (page_ == nullptr) {
    delete record_;
  } else if (!fork_guard::forked_since(generation_)) {
    record_->end();
    page::lock const lock;
    page_->give_back(record_);
  }
}

TUTTI_DECL void record_owner::set_job(std::string_view job) noexcept {
  page::lock const lock;
  page::set_job(job);
}

TUTTI_DECL bool record_owner::visit_page(void (*read)(operations_page const& page, void* object), void* object,
                                         bool in_handler) noexcept {
  page::lock const lock(!in_handler);
  operations_page const* const memory = lock ? page::memory() : nullptr;
  if (memory != nullptr) {
    read(*memory, object);
  }
  return memory != nullptr;
}

}  // namespace tutti::detail::core
