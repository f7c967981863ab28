// SPDX-License-Identifier: Apache-2.0
#include "read_data.hpp"
#include "subcommands.hpp"
#include <tutti/nn/saved_model/classifier.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

int predict_command(int argc, char** argv) {
  CLI::App app("Prints the most probable classes of pictures: file, class, probability.", "train predict");
  std::string path;
  std::vector<std::string> files;
  std::size_t top = 1;
  app.add_option("MODEL", path, "Folder of checkpoints, or a file of safetensors")->required();
  app.add_option("IMAGE", files, "PNG and JPEG pictures of any size")->required();
  app.add_option("--top", top, "Classes to print for each picture")->check(CLI::Range(1, 256))->capture_default_str();
  app.footer("Example: train predict model.safetensors --top 3 *.jpg");
  return run_with_arguments(app, argc, argv, [&] {
    auto model = tutti::nn::load_model(path);
    std::vector<std::size_t> classes(model.classes());
    std::iota(classes.begin(), classes.end(), std::size_t{0});
    for (auto const& file : files) {
      auto const answer = model.predict(read_picture(file, model.shape()));
      std::ranges::stable_sort(classes, std::greater(), [&](std::size_t c) { return answer.probabilities[c]; });
      std::printf("%s:", file.c_str());
      for (std::size_t i = 0; i != std::min(top, classes.size()); ++i) {
        double const probability = answer.probabilities[classes[i]];
        std::printf("%s %s %.1f %%", i == 0 ? "" : ",", model.description().class_name(classes[i]).c_str(),
                    100 * probability);
      }
      std::printf("\n");
    }
  });
}
