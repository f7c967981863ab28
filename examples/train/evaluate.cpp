// SPDX-License-Identifier: Apache-2.0
#include "read_data.hpp"
#include "subcommands.hpp"
#include <tutti/nn/data/pad.hpp>
#include <tutti/nn/report/confusion_matrix.hpp>
#include <tutti/nn/saved_model/classifier.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace nn = tutti::nn;

std::string list(std::vector<std::string> const& names) {
  std::string text;
  for (auto const& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

/// Reads the test set of a folder, or all of its images if it has none, as images for this model.
nn::dataset images_for(nn::classifier const& model, std::string const& folder) {
  auto data = read_data(folder, model.shape().rows, model.shape().channels);
  bool const has_test = data.test.size() != 0;
  auto set = std::move(has_test ? data.test : data.training);
  std::printf("data   %s: %zu images, %s\n", folder.c_str(), set.size(),
              has_test ? "the test set" : "all, because there is no test set");
  if (!model.class_names().empty() && !set.class_names.empty() && set.class_names != model.class_names()) {
    throw std::runtime_error("the classes of " + folder + " are " + list(set.class_names) +
                             "; those of the model are " + list(model.class_names()) + ": name the folders like these");
  }
  if (std::max(set.shape.rows, set.shape.columns) < model.shape().rows) {
    set = nn::pad(set, model.shape().rows);
  }
  return set;
}

}  // namespace

int evaluate_command(int argc, char** argv) {
  CLI::App app("Tests a model: accuracy, accuracy of each class, and which classes it confuses.", "train evaluate");
  std::string path;
  std::string folder;
  std::string plot;
  app.add_option("MODEL", path, "Folder of checkpoints, or a file of safetensors")->required();
  app.add_option("--data", folder, "Folder with images of the model's classes, of any kind that train run takes")
      ->required();
  app.add_option("--plot", plot, "Write the confusion matrix as a picture (SVG)");
  app.footer("Example: train evaluate model.safetensors --data pets --plot confusion.svg");
  return run_with_arguments(app, argc, argv, [&] {
    auto model = nn::load_model(path);
    auto const result = nn::evaluate(model, images_for(model, folder));
    std::vector<std::string> names;
    for (std::size_t c = 0; c != model.classes(); ++c) {
      names.push_back(model.description().class_name(c));
    }
    std::printf("\n%s", nn::to_text(result, names).c_str());
    if (!plot.empty()) {
      std::ofstream file(plot, std::ios::binary);
      file << nn::plot_svg(result, names, path + " on " + folder);
      if (!file.flush()) {
        throw std::runtime_error("cannot write " + plot + "; name a file in a folder that exists");
      }
    }
  });
}
