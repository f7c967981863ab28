// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include "../../tools/inspect/explanation.hpp"
#include "../../tools/inspect/output.hpp"
#include "../../tools/inspect/processes.hpp"
#include <support/forked_child.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/operations_page.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

/// The page of a process, and its reader.
namespace {

using inspect::mapped_page;
using tutti::rank_type;
using tutti::detail::communicator_facts;
using tutti::detail::operations_page;
using tutti::detail::record_owner;
using tutti::detail::shared_text;

std::uint32_t own_pid() {
  return static_cast<std::uint32_t>(::getpid());
}

communicator_facts some_facts(std::string const& name) {
  return {.identity = tutti::hash(name),
          .rank = 1,
          .size = 3,
          .thread = tutti::detail::this_thread_number(),
          .name = name,
          .local_size = 2,
          .local_members = {{0, 4}, {1, own_pid()}}};
}

/// The names of the communicators on the page of a process.
std::vector<std::string> names_on_page(std::uint32_t pid) {
  std::vector<std::string> names;
  if (mapped_page const page(pid); page) {
    inspect::for_each_view(page, [&](inspect::view&& v, communicator_facts const&) { names.push_back(v.name); });
  }
  return names;
}
using names = std::vector<std::string>;

/// A descriptor of this process's page; -1 if it has none.
int page_descriptor() {
  for (std::uint32_t const number : inspect::numbers_in("/proc/self/fd")) {
    char target[64] = {};
    if (::readlink(("/proc/self/fd/" + std::to_string(number)).c_str(), target, sizeof target - 1) > 0 &&
        std::string_view(target).starts_with("/memfd:tutti-operations")) {
      return static_cast<int>(number);
    }
  }
  return -1;
}

}  // namespace

BOOST_AUTO_TEST_CASE(texts_are_cut) {
  shared_text<2> text;
  for (std::string const s : {"", "a", "12345678", "123456789", "1234567890123456", "12345678901234567"}) {
    text.store(s);
    BOOST_TEST(text.load() == s.substr(0, 16));
  }
}

BOOST_AUTO_TEST_CASE(a_page_has_what_was_published_and_ends_with_the_last_communicator) {
  BOOST_TEST(!mapped_page(own_pid()));
  {
    record_owner const first;
    BOOST_TEST((names_on_page(own_pid()) == names{}));
    first->publish(some_facts("first"));
    tutti::recorder(first->operations()).start(tutti::make_call(tutti::operation_kind::barrier, "", "", "star"), {7});
    record_owner::set_job("a job");
    {
      record_owner const second;
      second->publish(some_facts("second"));
      BOOST_TEST((names_on_page(own_pid()) == names{"first", "second"}));
    }
    BOOST_TEST((names_on_page(own_pid()) == names{"first"}));
    mapped_page const page(own_pid());
    BOOST_TEST(page.job() == "a job");
    inspect::for_each_view(page, [&](inspect::view&& v, communicator_facts const& facts) {
      BOOST_TEST((v.rank == 1 && v.size == 3 && v.communicator == tutti::hash("first")));
      BOOST_TEST((facts.local_members == some_facts("").local_members));
      BOOST_TEST_REQUIRE(v.operations.size() == 1U);
      BOOST_TEST(v.operations[0].text() == "barrier(star)");
    });
    BOOST_TEST((::fcntl(page_descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
  }
  BOOST_TEST(page_descriptor() == -1);
}

BOOST_AUTO_TEST_CASE(a_record_is_empty_for_its_next_communicator) {
  record_owner const other;
  {
    record_owner const former;
    former->publish(some_facts("former"));
    tutti::recorder r(former->operations());
    r.note({.place = r.start(tutti::make_call(tutti::operation_kind::barrier, "", "", "star"), {})});
  }
  record_owner const next;
  next->publish(some_facts("next"));
  inspect::for_each_view(mapped_page(own_pid()), [&](inspect::view&& v, communicator_facts const&) {
    BOOST_TEST(v.name == "next");
    BOOST_TEST(v.operations.empty());
    BOOST_TEST(!v.noted_wait);
  });
}

BOOST_AUTO_TEST_CASE(more_communicators_than_records) {
  std::vector<std::unique_ptr<record_owner>> owners;
  for (std::size_t i = 0; i < operations_page::record_count + 3; ++i) {
    owners.push_back(std::make_unique<record_owner>());
    (*owners.back())->publish(some_facts(std::to_string(i)));
  }
  BOOST_TEST(names_on_page(own_pid()).size() == operations_page::record_count);
  owners.erase(owners.begin() + 5);
  owners.push_back(std::make_unique<record_owner>());
  (*owners.back())->publish(some_facts("last"));
  BOOST_TEST(names_on_page(own_pid())[5] == "last");
}

BOOST_AUTO_TEST_CASE(a_forked_child_leaves_the_page_alone_and_has_one_of_its_own) {
  auto parents = std::make_unique<record_owner>();
  (*parents)->publish(some_facts("parent"));
  BOOST_TEST(ends_in_a_forked_child([&] {
    auto const expect = [](bool holds) { holds ? void() : throw 0; };
    expect(page_descriptor() == -1);
    {
      record_owner const child;
      child->publish(some_facts("child"));
      expect(names_on_page(own_pid()) == names{"child"});
      parents.reset();
      expect(names_on_page(own_pid()) == names{"child"});
    }
    expect(page_descriptor() == -1);
  }));
  BOOST_TEST((names_on_page(own_pid()) == names{"parent"}));
}

BOOST_AUTO_TEST_CASE(without_a_page_records_are_in_ordinary_memory) {
  auto const works_without_page = [] {
    record_owner const owner;
    owner->publish(some_facts("hidden"));
    tutti::recorder r(owner->operations());
    r.start(tutti::make_call(tutti::operation_kind::barrier, "", "", "star"), {});
    return owner->facts().name == "hidden" && r.start_count() == 1;
  };
  for (auto const resource : {RLIMIT_NOFILE, RLIMIT_FSIZE}) {
    BOOST_TEST(ends_in_a_forked_child([&] {
      rlimit limit{};
      ::getrlimit(resource, &limit);
      rlimit const none{resource == RLIMIT_NOFILE ? rlim_t{3} : rlim_t{4096}, limit.rlim_max};
      ::setrlimit(resource, &none);
      bool const works = works_without_page();
      ::setrlimit(resource, &limit);
      works&& page_descriptor() == -1 ? void() : throw 0;
    }));
  }
}

/// A reader gets the facts and operations of one communicator, although others take the record meanwhile.
BOOST_AUTO_TEST_CASE(records_are_not_mixed) {
  record_owner const first;
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !is_over.load(std::memory_order_relaxed); ++i) {
      record_owner const owner;
      communicator_facts facts = some_facts(std::to_string(i));
      facts.identity = i;
      facts.local_members[0].pid = static_cast<std::uint32_t>(i);
      owner->publish(facts);
      tutti::call c = tutti::make_call(tutti::operation_kind::barrier, "", "", "star");
      c.count = i;
      tutti::recorder(owner->operations()).start(c, {i});
    }
  });
  mapped_page const page(own_pid());
  bool is_whole = true;
  std::size_t reads = 0;
  std::size_t copy_reads = 0;
  auto const check = [&](inspect::view const& v, communicator_facts const& facts) {
    is_whole = is_whole && v.name == std::to_string(v.communicator) &&
               facts.local_members[0].pid == static_cast<std::uint32_t>(v.communicator);
    for (auto const& e : v.operations) {
      is_whole = is_whole && e.call_record.count == v.communicator && e.number.sequence == v.communicator;
    }
  };
  auto const copy = std::make_unique<operations_page::record>();
  for (std::size_t tries = 0; tries < 2000 || (reads + copy_reads < 400 && tries < 100'000'000); ++tries) {
    inspect::for_each_view(page, [&](inspect::view&& v, communicator_facts const& facts) {
      ++reads;
      check(v, facts);
    });
    copy->copy((*page).records[1]);
    inspect::for_each_view(
        1, [&](std::size_t) -> tutti::detail::communicator_record const& { return *copy; },
        [] { return tutti::steady_now(); },
        [&](inspect::view&& v, communicator_facts const& facts) {
          ++copy_reads;
          check(v, facts);
        });
  }
  is_over = true;
  writer.join();
  BOOST_TEST(is_whole);
  BOOST_TEST(reads + copy_reads >= 400U);
  BOOST_TEST(copy_reads > 0U);
}

/// A copy of a record that changes under it has no mixed operation.
BOOST_AUTO_TEST_CASE(operations_are_not_mixed_in_copies) {
  record_owner const owner;
  owner->publish(some_facts("world"));
  std::atomic<bool> is_over{false};
  std::thread writer([&] {
    tutti::recorder r(owner->operations());
    for (std::uint64_t i = 0; !is_over.load(std::memory_order_relaxed); ++i) {
      tutti::call c = tutti::make_call(tutti::operation_kind::barrier, "", "", "star");
      c.count = i;
      r.note({.place = i, .begin = tutti::time_point(i), .last_look = tutti::time_point(i)});
      r.finish(r.start(c, {i}), tutti::recorder::state::completed);
    }
  });
  auto const copy = std::make_unique<operations_page::record>();
  bool is_whole = true;
  std::size_t operations = 0;
  std::size_t waits = 0;
  for (std::size_t tries = 0; tries < 100'000'000 && (operations < 2000000 || waits < 200); ++tries) {
    copy->copy(*owner);
    copy->operations().for_each([&](tutti::recorder::entry const& e) {
      ++operations;
      is_whole = is_whole && e.call_record.count == e.place && e.number.sequence == e.place;
    });
    if (tutti::recorder::wait w; copy->operations().read(w)) {
      ++waits;
      is_whole = is_whole && w.begin == w.last_look && static_cast<std::uint64_t>(w.begin.count()) == w.place;
    }
  }
  is_over = true;
  writer.join();
  BOOST_TEST(is_whole);
  BOOST_TEST(operations >= 2000000U);
  BOOST_TEST(waits >= 200U);
}

/// Whatever a page holds, it is read and explained without a crash.
BOOST_AUTO_TEST_CASE(a_page_of_anything) {
  tutti::detail::descriptor const file = tutti::detail::memory_file("tutti-operations");
  BOOST_TEST_REQUIRE(::ftruncate(file.get(), sizeof(operations_page)) == 0);
  BOOST_TEST(!mapped_page(own_pid()));  // it could shrink while it is read
  BOOST_TEST_REQUIRE(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  auto* const words = static_cast<std::uint64_t*>(
      ::mmap(nullptr, sizeof(operations_page), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
  auto* const page = reinterpret_cast<operations_page*>(words);
  BOOST_TEST(!mapped_page(own_pid()));
  std::mt19937_64 dice(7);
  std::size_t operations = 0;
  std::size_t waits = 0;
  for (int trial = 0; trial < 200; ++trial) {
    bool const is_small = dice() % 2 == 0;  // small numbers pass more checks
    for (std::size_t i = 0; i < sizeof(operations_page) / 8; ++i) {
      words[i] = !is_small || dice() % 8 == 0 ? dice() : dice() % 8 | (dice() % 2 == 0 ? 0 : (dice() % 8) << 32);
    }
    page->magic = operations_page::magic_word;
    page->layout = operations_page::layout_number;
    page->bytes = sizeof(operations_page);
    page->pid = own_pid();
    page->occupancy = UINT64_MAX;
    for (auto& record : page->records) {
      auto* const first_words = reinterpret_cast<std::uint64_t*>(&record);
      first_words[0] = first_words[1] = 1;               // a communicator has it, and has published it
      first_words[2] = dice() % 3;                       // identity
      first_words[3] = (dice() % 4) << 32 | dice() % 6;  // rank and size
    }
    inspect::sight const sight = inspect::look_at({own_pid()}, std::chrono::milliseconds(0));
    for (inspect::view const& v : sight.views) {
      operations += v.operations.size();
      waits += v.noted_wait ? 1U : 0U;
    }
    for (auto const& world : inspect::by_world(sight)) {
      std::string const text = inspect::to_text(world) + inspect::to_json(world);
      BOOST_TEST(text.find('\33') == text.npos);
    }
  }
  BOOST_TEST(operations > 100U);
  BOOST_TEST(waits > 100U);
  ::munmap(words, sizeof(operations_page));
}
