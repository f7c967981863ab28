// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/checkpoint/base/history_text.hpp>
#include <tutti/nn/detail/checkpoint/atomic_file.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

namespace nn = tutti::nn;

namespace {

struct folder {
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "tutti-parts-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  ~folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator());
  }

  std::filesystem::path path;
};

void write(nn::detail::atomic_file& file, std::string const& text) {
  file.write(std::as_bytes(std::span(text)));
}
std::string contents(std::filesystem::path const& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_is_there_as_a_whole_or_not_at_all) {
  folder const scratch_folder;
  auto const name = scratch_folder.path / "kept";
  {
    nn::detail::atomic_file file(name);
    write(file, "first");
    BOOST_TEST(!std::filesystem::exists(name));
    file.commit();
  }
  BOOST_TEST(contents(name) == "first");
  {
    nn::detail::atomic_file file(name);
    write(file, "second, given up");
  }
  BOOST_TEST(contents(name) == "first");
  BOOST_TEST(scratch_folder.files() == 1);
  BOOST_CHECK_THROW(nn::detail::atomic_file(scratch_folder.path / "nowhere" / "kept"), nn::checkpoint_error);
}

BOOST_AUTO_TEST_CASE(a_history_has_evenly_spaced_steps_and_the_last_one_wherever_it_was_stopped) {
  constexpr std::size_t limit = nn::history::max_steps;
  nn::history whole;
  nn::history copy;
  for (std::size_t step = 0; step != 4 * limit + 3; ++step) {
    for (nn::history* const history : {&whole, &copy}) {
      history->step({step / 100, step % 100}, 0);
    }
    if (step % 4001 == 0 || step == limit) {
      std::string const bytes = nn::encode(copy);
      BOOST_TEST(bytes.size() <= nn::history_bytes(limit, 0, 0, 0));
      BOOST_REQUIRE(nn::decode(bytes, copy));
    }
  }
  BOOST_TEST(nn::encode(whole) == nn::encode(copy));
  BOOST_TEST(whole.stride == 8U);
  BOOST_TEST(whole.count == 4 * limit + 3);
  BOOST_TEST(whole.steps.size() == 4 * limit / 8 + 2);
  for (std::size_t i = 0; i != whole.steps.size(); ++i) {
    std::size_t const step = i + 1 == whole.steps.size() ? whole.count - 1 : i * whole.stride;
    BOOST_TEST((whole.steps[i].epoch == step / 100 && whole.steps[i].batch == step % 100));
  }
}

BOOST_AUTO_TEST_CASE(a_history_travels_with_every_number) {
  nn::history history;
  history.step({1, 2, 3, 0.1F, 0.2F, 0.3, 0.4F, 0.5, 0.6}, 0);
  nn::epoch_result epoch;
  epoch.epoch = 5;
  epoch.images = 6;
  epoch.test_loss = 0.7;
  epoch.test_accuracy = 0.8;
  epoch.training_seconds = 0.9;
  epoch.testing_seconds = 1.1;
  epoch.seconds = 1.2;
  epoch.training_loss = 1.3;
  epoch.ranks = {{1.4, 1.5, 1.6, 1.7}, {1.8, 1.9, 2.1, 2.2}};
  history.epochs.push_back(epoch);
  history.faults.push_back({2.3, 5, 3});
  std::string const bytes = nn::encode(history);
  nn::history back;
  BOOST_REQUIRE(nn::decode(bytes, back));
  BOOST_TEST(back.steps[0].rate == 0.4F);
  BOOST_TEST(back.steps[0].bytes_sent == 0.5);
  BOOST_TEST(back.steps[0].bytes_received == 0.6);
  BOOST_TEST(back.epochs[0].training_loss == 1.3);
  BOOST_TEST(back.epochs[0].ranks[1].update == 2.2);
  BOOST_TEST(back.faults[0].seconds == 2.3);
  BOOST_TEST(back.faults[0].ranks_before == 5U);
  BOOST_TEST(back.faults[0].ranks == 3U);
  BOOST_TEST(nn::encode(back) == bytes);
  BOOST_TEST(bytes.size() == nn::history_bytes(1, 1, 2, 1));
  for (std::size_t less = 0; less != bytes.size(); ++less) {
    BOOST_TEST(!nn::decode(std::string_view(bytes).substr(0, less), back));
  }
}
