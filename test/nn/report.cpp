// SPDX-License-Identifier: Apache-2.0
// test: plain comma
#include "support/comma_locale.hpp"
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/checkpoint/base/fingerprint.hpp>
#include <tutti/nn/detail/report/epoch_message.hpp>
#include <tutti/nn/detail/report/training_curves.hpp>
#include <tutti/nn/report/confusion_matrix.hpp>
#include <tutti/nn/report/json.hpp>
#include <tutti/nn/report/json_lines.hpp>
#include <tutti/nn/report/progress.hpp>
#include <tutti/nn/report/svg.hpp>
#include <tutti/spawn.hpp>
#include <tutti/transport/shared_memory.hpp>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

namespace nn = tutti::nn;

namespace {

nn::history made_up(std::size_t steps) {
  nn::history history;
  for (std::size_t i = 0; i != steps; ++i) {
    auto const way = static_cast<float>(i);
    history.step({0, i, 10, 2.0F / (1 + way / 3), 0.1F + 0.001F * way, 0.01 * static_cast<double>(i)}, 0);
  }
  history.epoch({0, 10 * steps, 0.5, 0.9, 2.0, 0.25, 2.25, {{1.0, 0.5, 0.25}, {1.5, 0.5, 0.0}}});
  history.epoch({1, 10 * steps, 0.4, 0.95, 2.0, 0.25, 4.5, {{1.0, 0.5, 0.25}, {1.5, 0.5, 0.0}}});
  return history;
}

std::size_t count(std::string const& text, std::string const& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++n;
  }
  return n;
}

std::string shown_text(nn::history const& history) {
  std::FILE* const file = std::tmpfile();
  BOOST_REQUIRE(file != nullptr);
  nn::progress bar(file, 2, 200);
  for (auto const& epoch : history.epochs) {
    for (auto const& step : history.steps) {
      bar.step(step, 0);
    }
    bar.epoch(epoch);
  }
  std::rewind(file);
  std::string text(10000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

/// Returns the lines of ranks that are processes, in a file that was opened before they were forked.
std::string lines_of_processes() {
  std::string const path = "nn_report_processes_" + std::to_string(::getpid()) + ".jsonl";
  nn::json_lines lines(path);
  auto const ends = tutti::spawn<tutti::shared_memory>(2, [&](auto& world) {
    if (world.rank() == 1) {
      nn::history const history = made_up(1);
      lines.epoch(history.epochs[0]);
    }
  });
  for (auto const& end : ends) {
    static_cast<void>(end.value());
  }
  std::ifstream file(path);
  std::string const contents{std::istreambuf_iterator<char>(file), {}};
  std::remove(path.c_str());
  return contents;
}

std::string lines_of(nn::history const& history) {
  std::string const path = "nn_report_language.jsonl";
  {
    nn::json_lines lines(path);
    lines.step(history.steps[1], 0);
    lines.epoch(history.epochs[0]);
  }
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_forked_rank_writes_lines_into_the_file_of_its_parent) {
  std::string const lines = lines_of_processes();
  BOOST_TEST(std::ranges::count(lines, '\n') == 1, lines);
}

BOOST_AUTO_TEST_CASE(times_add_up_over_epochs) {
  auto const history = made_up(20);
  auto const time = history.time();
  BOOST_TEST(time.size() == 2U);
  BOOST_TEST(time[1].compute == 3.0);
  BOOST_TEST(time[0].transfer == 1.0);
  BOOST_TEST(time[0].waiting == 0.5);
  BOOST_TEST(history.images_per_second() == 100.0);
}

BOOST_AUTO_TEST_CASE(waiting_is_what_exceeds_the_shortest_call) {
  nn::detail::epoch_message sum(2, 0, 2);
  sum.clear();
  for (tutti::rank_type rank = 0; rank != 2; ++rank) {  // two ranks, each late in turn
    nn::detail::epoch_message message(2, rank, 2);
    message.clear();
    message.add_compute(1.0 + rank);
    message.add_update(0.25);
    message.set_exchange(0, rank == 0 ? 0.5 : 2.0);
    message.set_exchange(1, rank == 0 ? 4.0 : 1.0);
    message.set_test({1.5F, 3.0F});
    for (std::size_t i = 0; i != sum.numbers().size(); ++i) {
      sum.numbers()[i] += message.numbers()[i];
    }
  }
  auto const time = sum.split();
  BOOST_TEST(time[0].compute == 1.0);
  BOOST_TEST(time[1].compute == 2.0);
  BOOST_TEST(time[0].update == 0.25);
  BOOST_TEST(time[1].update == 0.25);
  BOOST_TEST(time[0].transfer == 1.5);
  BOOST_TEST(time[1].transfer == 1.5);
  BOOST_TEST(time[0].waiting == 3.0);
  BOOST_TEST(time[1].waiting == 1.5);
  BOOST_TEST(sum.test().loss == 3.0F);
  BOOST_TEST(sum.test().correct == 6.0F);
}

BOOST_AUTO_TEST_CASE(json_keeps_every_bit_of_a_loss) {
  auto const history = made_up(50);
  auto const read = nlohmann::json::parse(nn::to_json(nn::settings{}, history).dump());
  for (std::size_t i = 0; i != 50; ++i) {
    BOOST_TEST(read["steps"]["loss"][i].get<float>() == history.steps[i].loss);
  }
  BOOST_TEST(read["epochs"].size() == 2U);
  BOOST_TEST(read["test_accuracy"].get<double>() == 0.95);
  BOOST_TEST(read["ranks"][1]["compute_s"].get<double>() == 3.0);
}

BOOST_AUTO_TEST_CASE(a_line_of_json_for_every_step_and_epoch) {
  auto const history = made_up(20);
  std::string const path = "nn_report_lines.jsonl";
  {
    nn::json_lines lines(path);
    for (auto const& step : history.steps) {
      lines.step(step, 0);
    }
    lines.epoch(history.epochs[0]);  // writes all lines so far to the file
    std::ifstream file(path);
    std::size_t steps = 0;
    std::size_t epochs = 0;
    for (std::string line; std::getline(file, line);) {
      auto const read = nlohmann::json::parse(line);
      if (read["event"] == "step") {
        BOOST_TEST(read["loss"].get<float>() == history.steps[steps++].loss);
      } else {
        BOOST_TEST(read["ranks"][1]["waiting_s"].get<double>() == 0.0);
        ++epochs;
      }
    }
    BOOST_TEST(steps == 20U);
    BOOST_TEST(epochs == 1U);
  }
  BOOST_TEST(std::remove(path.c_str()) == 0);
  BOOST_CHECK_THROW(nn::json_lines("/nowhere/at/all.jsonl"), std::runtime_error);
  nn::json_lines full("/dev/full");
  BOOST_CHECK_THROW(full.epoch(history.epochs[0]), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(lines_continue_where_a_training_was_resumed) {
  auto const history = made_up(20);
  std::string const path = "nn_report_resumed.jsonl";
  auto const contents = [&] {
    std::ifstream file(path);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  auto const write_from = [&](nn::json_lines lines, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i != last; ++i) {
      lines.step(history.steps[i], 0);
    }
    if (last == 20) {
      lines.epoch(history.epochs[0]);
    }
  };
  write_from(nn::json_lines(path), 0, 20);
  std::string const whole = contents();
  for (std::size_t const first : {0U, 7U, 19U, 20U}) {  // 20: the epoch's steps are done, and its test is not
    for (std::size_t const torn_bytes : {0U, 1U, 30U}) {
      std::ofstream(path) << whole.substr(0, whole.size() - torn_bytes);
      write_from(nn::json_lines(path, {0, first}), first, 20);
      BOOST_TEST(contents() == whole);
    }
  }
  std::ofstream(path, std::ios::app) << "shopping list\n";
  BOOST_CHECK_EXCEPTION(nn::json_lines(path, {1, 0}), std::runtime_error, [](std::runtime_error const& e) {
    return std::string_view(e.what()).find("line 22 is no step and no epoch") != std::string_view::npos;
  });
  BOOST_TEST(std::remove(path.c_str()) == 0);
  write_from(nn::json_lines(path, {0, 7}), 0, 20);  // a file that is gone is begun again
  BOOST_TEST(contents() == whole);
  BOOST_TEST(std::remove(path.c_str()) == 0);
}

BOOST_AUTO_TEST_CASE(throughput_leaves_out_what_lies_between_epochs) {
  std::vector<nn::step_result> const steps{
      {0, 0, 10, 1, 0, 1.0}, {0, 1, 10, 1, 0, 2.0}, {1, 0, 10, 1, 0, 9.0}, {1, 1, 10, 1, 0, 11.0}};
  BOOST_TEST(nn::detail::images_per_second(steps, 0, 4) == 20.0 / 3.0);
  BOOST_TEST(nn::detail::images_per_second(steps, 2, 3) == 0.0);
}

BOOST_AUTO_TEST_CASE(pictures_of_short_and_long_trainings) {
  for (std::size_t const steps : {1U, 2U, 150U, 12345U}) {
    auto const svg = nn::plot_svg(made_up(steps), {"a title", "a < b & c"});
    BOOST_TEST(svg.starts_with("<svg xmlns="));
    BOOST_TEST(svg.ends_with("</svg>\n"));
    BOOST_TEST(count(svg, "prefers-color-scheme:dark") == 1U);
    BOOST_TEST(count(svg, "<polyline") == 5U);
    BOOST_TEST(count(svg, "<circle") == 4U);  // two epochs in each panel
    BOOST_TEST(count(svg, "a title") == 1U);
    BOOST_TEST(count(svg, ">a &lt; b &amp; c<") == 1U);
    BOOST_TEST(count(svg, "of all ranks' images") == 2U);
    BOOST_TEST(count(svg, "fault") == 0U);
    BOOST_TEST(count(svg, "nan") == 0U);
    BOOST_TEST(count(svg, "inf") == 0U);
    BOOST_TEST(count(svg, ">-0") == 0U);
    BOOST_TEST(svg.size() < 40000U);
  }
}

BOOST_AUTO_TEST_CASE(bytes_are_drawn_if_they_are_counted) {
  auto history = made_up(150);
  for (std::size_t i = 0; i != history.steps.size(); ++i) {
    history.steps[i].bytes_sent = 3e6 * static_cast<double>(i + 1);
    history.steps[i].bytes_received = 2e6 * static_cast<double>(i + 1);
  }
  auto const svg = nn::plot_svg(history, {.title = "a title", .images = "rank 0's images", .bytes = "server 0"});
  BOOST_TEST(count(svg, "<polyline") == 7U);
  BOOST_TEST(count(svg, "MiB of server 0 so far") == 1U);  // rises to 429
  BOOST_TEST(count(svg, "of rank 0's images") == 2U);
  BOOST_TEST(count(svg, ">300<") == 1U);
  BOOST_TEST(count(svg, ">sent<") == 1U);
  BOOST_TEST(count(svg, ">received<") == 1U);
  auto const read = nlohmann::json::parse(nn::to_json(nn::settings{}, history).dump());
  BOOST_TEST(read["steps"]["sent_bytes"][149].get<double>() == 450e6);
  BOOST_TEST(read["steps"]["received_bytes"][0].get<double>() == 2e6);
}

BOOST_AUTO_TEST_CASE(faults_are_drawn_where_they_were) {
  auto history = made_up(150);
  auto const svg_without_faults = nn::plot_svg(history, {});
  history.faults = {{1.5, 4, 3}, {4.5, 3, 2}};
  auto const svg = nn::plot_svg(history, {});
  BOOST_TEST(count(svg, "<polyline") == count(svg_without_faults, "<polyline") + 2 * 3U);  // two more in each panel
  BOOST_TEST(count(svg, ">fault<") == 1U);
  BOOST_TEST(count(svg, "points=\"297.3,") == 3U);  // a third of the way from 64 to 764
  auto const read = nlohmann::json::parse(nn::to_json(nn::settings{}, history).dump());
  BOOST_TEST(read["faults"][1]["seconds"].get<double>() == 4.5);
  BOOST_TEST(read["faults"][1]["ranks"].get<int>() == 2);
}

BOOST_AUTO_TEST_CASE(texts_are_the_same_whatever_the_language) {
  auto const history = made_up(20);
  std::vector<nn::usage> const ranks{{"worker 0", 0.5, {{0.5, 0.25, 0.1, 1e6, 2e6, 1234, 5678, 1.5e9}}, 0.125}};
  auto const file_texts = [&] {
    return std::vector<std::string>{
        nn::plot_svg(history, {}, ranks), nn::to_json(nn::settings{}, history).dump(), lines_of(history),
        shown_text(history),
        nn::fingerprint().add(nn::settings{}).add("images", nn::dataset{{1, 1, 1}, 2, {1, 2}, {0, 1}}).text()};
  };
  auto const texts_before = file_texts();
  support::comma_locale const language;
  BOOST_TEST(file_texts() == texts_before, boost::test_tools::per_element());
}

namespace {

/// 100 images of each class: most are recognised, some are taken for the next class, few for the class behind it.
nn::confusion_matrix made_up_confusions(std::size_t classes) {
  nn::confusion_matrix matrix(classes);
  for (std::size_t label = 0; label != classes; ++label) {
    for (std::size_t i = 0; i != 100; ++i) {
      matrix.add(label, (label + (i < label % 7 ? 1 : i == 99 ? 2 : 0)) % classes);
    }
  }
  return matrix;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_confusion_matrix_counts_classes) {
  auto const matrix = made_up_confusions(4);
  BOOST_TEST(matrix.images() == 400U);
  BOOST_TEST(matrix.images(3) == 100U);
  BOOST_TEST(matrix.count(3, 0) == 3U);
  BOOST_TEST(matrix.accuracy(3) == 0.96);
  BOOST_TEST(matrix.accuracy() == (99.0 + 98 + 97 + 96) / 400);
  auto const worst = matrix.worst(2);
  BOOST_TEST(worst.size() == 2U);
  BOOST_TEST((worst[0].label == 3 && worst[0].answer == 0 && worst[0].images == 3));
  BOOST_TEST((worst[1].label == 2 && worst[1].answer == 3 && worst[1].images == 2));
  BOOST_TEST(nn::confusion_matrix(2).accuracy() == 0);
  BOOST_TEST(nn::confusion_matrix(2).worst(9).empty());
  BOOST_CHECK_THROW(nn::confusion_matrix(2).add(0, 2), tutti::precondition_error);
  BOOST_CHECK_THROW(nn::confusion_matrix(0), tutti::precondition_error);
  BOOST_CHECK_THROW((void)nn::to_text(matrix, std::vector<std::string>{"a"}), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(a_confusion_matrix_fits_the_terminal) {
  std::vector<std::string> const names{"cat", "d\xc3\xa9j\xc3\xa0 vu", "a<b&c", "a name beyond sixteen letters"};
  auto const text = nn::to_text(made_up_confusions(4), names);
  BOOST_TEST(text ==
             "accuracy 97.5 % of 400 images\n\n"
             "class             images  accuracy  cat d\xc3\xa9j\xc3\xa0 a<b& a na\n"
             "cat                  100    99.0 %   99    0    1    0\n"
             "d\xc3\xa9j\xc3\xa0 vu              100    98.0 %    0   98    1    1\n"
             "a<b&c                100    97.0 %    1    0   97    2\n"
             "a name beyond si     100    96.0 %    3    1    0   96\n");
  for (std::size_t const classes : {1U, 2U, 11U, 12U, 13U, 40U, 256U}) {
    for (std::size_t const columns : {20U, 80U, 200U}) {
      auto const matrix = made_up_confusions(classes);
      auto const report = nn::to_text(matrix, {}, columns);
      std::size_t longest = 0;
      for (std::size_t begin = 0, end = 0; begin != report.size(); begin = end + 1) {
        end = report.find('\n', begin);
        longest = (std::max)(longest, end - begin);
      }
      BOOST_TEST(longest <= (std::max)(columns, std::size_t{60}));
      BOOST_TEST(count(report, "\n") <= 45U);
      BOOST_TEST((count(report, "most frequent") == 1) == (classes > 1 && 23 + 5 * classes > columns));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_confusion_matrix_is_drawn) {
  std::vector<std::string> const names{"cat", "dog", "a<b&c", "a name beyond sixteen letters"};
  auto const picture = nn::plot_svg(made_up_confusions(4), names, "digits");
  BOOST_TEST(count(picture, "<svg") == 1U);
  BOOST_TEST(count(picture, "fill-opacity") == 4U + 3 + 4);  // the diagonal, then the numbers that are not 0
  BOOST_TEST(count(picture, ">a&lt;b&amp;c<") == 2U);
  BOOST_TEST(count(picture, ">97<") == 1U);
  BOOST_TEST(count(picture, ">accuracy 97.5 % of 400 images<") == 1U);
  if (char const* const file = std::getenv("TUTTI_TEST_PICTURE")) {
    std::ofstream(file) << nn::plot_svg(made_up_confusions(10), {}, "a model of digits");
    std::ofstream(std::string(file) + "100.svg") << nn::plot_svg(made_up_confusions(100), {}, "a model of 100 classes");
  }
}

BOOST_AUTO_TEST_CASE(a_terminal_gets_a_moving_line_but_not_that_of_mpirun) {
  auto const terminal_text = [](char const* launcher, unsigned short columns = 0) {
    int const master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    BOOST_REQUIRE((master >= 0 && ::grantpt(master) == 0 && ::unlockpt(master) == 0));
    std::FILE* const terminal = std::fopen(::ptsname(master), "r+e");
    BOOST_REQUIRE(terminal != nullptr);
    if (launcher != nullptr) {
      ::setenv(launcher, "0", 1);
    }
    winsize const size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    BOOST_REQUIRE(::ioctl(master, TIOCSWINSZ, &size) == 0);
    nn::progress bar(terminal, 1, 40);
    if (launcher != nullptr) {
      ::unsetenv(launcher);
    }
    auto const history = made_up(1);
    bar.step({0, 0, 10, 2.0F, 0.1F, 0.5}, 0);
    bar.step({0, 1, 10, 2.0F, 0.1F, 50.0}, 0);
    bar.epoch(history.epochs[0]);
    std::string text;
    for (char c = 0; c != '\n' && ::read(master, &c, 1) == 1;) {
      text += c;
    }
    std::fclose(terminal);
    ::close(master);
    return text;
  };
  BOOST_TEST(count(terminal_text(nullptr), "\r\x1b[Kepoch 1/1  step 2/4  loss 2.0000  0 images/s  0:50 left\r") == 1U);
  for (unsigned short columns = 1; columns != 100; ++columns) {  // the line never wraps
    std::string const text = terminal_text(nullptr, columns);
    std::string const last = text.substr(0, text.rfind("\r\x1b[K"));
    std::string const line = last.substr(last.rfind("\x1b[K") + 3);
    BOOST_TEST(line.size() < columns);
    BOOST_TEST(std::string("epoch 1/1  step 2/4  loss 2.0000  0 images/s  0:50 left").starts_with(line), line);
  }
  for (char const* const launcher : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"}) {
    BOOST_TEST(count(terminal_text(launcher), "\x1b") == 0U, launcher);
    BOOST_TEST(count(terminal_text(launcher), "epoch 1/1: loss") == 1U, launcher);
  }
}

BOOST_AUTO_TEST_CASE(a_pipe_gets_a_line_per_epoch) {
  std::string const text = shown_text(made_up(20));
  BOOST_TEST(count(text, "\n") == 2U);
  BOOST_TEST(count(text, "\r") == 0U);
  BOOST_TEST(count(text, "epoch 2/2: loss ") == 1U);
  BOOST_TEST(count(text, "test accuracy 95.00 %, 100 images/s, 4.5 s") == 1U);
}
