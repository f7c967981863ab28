// SPDX-License-Identifier: Apache-2.0
// test: plain
//
// A contender that does not do its work must not get a time.
#include "../../bench/common/batch.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using bench::inputs;
using bench::operation;
using bench::pace;
using bench::vectors;

/// A world of one rank that performs what it is given.
struct lonely {
  static constexpr bool ranks_are_threads = true;
  std::function<void(vectors const&)> perform;
  std::int64_t count = 0;
  int barriers = 0;

  [[nodiscard]] static unsigned rank() noexcept { return 0; }
  [[nodiscard]] static unsigned size() noexcept { return 1; }
  void barrier() noexcept { ++barriers; }
  [[nodiscard]] std::int64_t messages() const noexcept { return count; }
  template <class Use>
  void prepare(bench::work const&, vectors const& v, Use const& use) {
    use([&] {
      ++count;
      perform(v);
    });
  }
};

/// The sum of one vector: nothing in place, a copy out of place.
void right(vectors const& v) {
  if (v.input.data() != v.output.data()) {
    std::copy(v.input.begin(), v.input.end(), v.output.begin());
  }
}

struct file {
  std::string path = "/tmp/tutti_bench_batch." + std::to_string(::getpid());
  file() = default;
  file(file const&) = delete;
  file& operator=(file const&) = delete;
  ~file() { std::remove(path.c_str()); }
};

bench::record run(lonely& c, bench::work const& w) {
  file const place;
  bench::meeting meet(place.path, 1);
  bench::batches<lonely> batches(c, meet);
  return batches.run(w);
}

std::vector<bench::work> all_works() {
  std::vector<bench::work> works;
  for (std::size_t op = 0; op < bench::operation_names.size(); ++op) {
    for (auto const input : {inputs::rewritten, inputs::constant}) {
      for (auto const timing : {pace::back_to_back, pace::barrier}) {
        for (std::size_t const bytes : {std::size_t{4}, std::size_t{8196}, std::size_t{40004}}) {
          works.push_back(
              {.op = static_cast<operation>(op), .bytes = bytes, .iterations = 20, .input = input, .timing = timing});
        }
      }
    }
  }
  return works;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_contender_that_does_the_work_gets_a_record) {
  for (bench::work const& w : all_works()) {
    lonely c{.perform = right};
    bench::record const r = run(c, w);
    BOOST_TEST(r.error == "");
    BOOST_TEST(r.iterations == 20);
    BOOST_TEST(r.messages == 20);  // counts timed operations only
    BOOST_TEST(c.count == 1 + 20 / 8 + 20);
    BOOST_TEST((r.writing.begin <= r.writing.end && r.writing.end <= r.loop.begin && r.loop.begin <= r.loop.end));
    BOOST_TEST((r.operation_time > 0) == (w.timing == pace::barrier));
    BOOST_TEST((c.barriers >= 20) == (w.timing == pace::barrier));
  }
}

BOOST_AUTO_TEST_CASE(one_wrong_element_is_found) {
  for (bench::work const& w : all_works()) {
    for (std::size_t const place : {std::size_t{0}, w.count() / 2, w.count() - 1}) {
      lonely c{.perform = [&](vectors const& v) {
        right(v);
        v.output[place] += 1;
      }};
      BOOST_TEST((run(c, w).error != "") == (w.op != operation::exscan));  // rank 0 of an exscan has no result
    }
  }
}

BOOST_AUTO_TEST_CASE(parts_cover_results_and_each_element_reaches_as_many_ranks_as_it_should) {
  for (bench::work const& w : all_works()) {
    for (unsigned size = 1; size <= 5; ++size) {
      std::vector<std::size_t> uses(size * w.count());  // count for each element of each rank
      std::size_t inputs_count = 0;
      for (unsigned rank = 0; rank < size; ++rank) {
        bench::expectation const expected(w, rank, size);
        inputs_count += expected.input_count();
        std::vector<int> writes(expected.output_count());
        for (auto const& part : expected.parts()) {
          for (std::size_t i = 0; i < part.count; ++i) {
            ++writes[part.begin + i];
            for (unsigned source = part.first_rank; source < part.end_rank; ++source) {
              ++uses[source * w.count() + part.source_begin + i];
            }
          }
        }
        BOOST_TEST(std::ranges::count(writes, 1) == (w.op == operation::exscan && rank == 0 ? 0 : std::ssize(writes)));
      }
      bool const is_gather = w.op == operation::allgatherv || w.op == operation::allgatherv_90;
      BOOST_TEST(inputs_count == (is_gather ? w.count() : size * w.count()));
      for (unsigned source = 0; source < size; ++source) {
        std::size_t const ranks = w.op == operation::allreduce || is_gather ? size
                                  : w.op == operation::broadcast            ? (source == 0 ? size : 0)
                                  : w.op == operation::scan                 ? size - source
                                  : w.op == operation::exscan               ? size - source - 1
                                                                            : 1;
        std::size_t const begin = source * w.count();
        std::size_t const end = begin + (is_gather ? bench::block_lengths(w, size)[source] : w.count());
        BOOST_TEST(std::all_of(uses.begin() + static_cast<std::ptrdiff_t>(begin),
                               uses.begin() + static_cast<std::ptrdiff_t>(end),
                               [ranks](std::size_t n) { return n == ranks; }));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_contender_that_only_copies_the_first_time_is_found) {
  bench::work const w{.bytes = 4096, .iterations = 20, .input = inputs::constant};
  lonely idle{.perform = [](vectors const&) {}};
  BOOST_TEST(run(idle, w).error == "the first result is wrong");
  lonely liar{.perform = [&](vectors const& v) {
    right(v);
    if (liar.count > 10) {
      v.output[3] = 0;
    }
  }};
  BOOST_TEST(run(liar, w).error == "the last result is wrong");
}

BOOST_AUTO_TEST_CASE(vectors_differ_from_turn_to_turn_and_from_rank_to_rank) {
  std::vector<float> a(5000), b(5000);
  bench::pattern const first(0), second(1);
  for (std::size_t turn = 0; turn < 50; ++turn) {
    first.write(a, turn);
    second.write(b, turn);
    BOOST_TEST(first.equals(a, turn));
    BOOST_TEST(!second.equals(a, turn));
    BOOST_TEST(!first.equals(a, turn + 1));
    std::transform(a.begin(), a.end(), b.begin(), b.begin(), std::plus<>{});
    BOOST_TEST(bench::pattern::sum(0, 2).equals(b, turn));
    a[4999] += 1;
    BOOST_TEST(!first.equals(a, turn));
  }
}
