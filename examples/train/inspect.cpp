// SPDX-License-Identifier: Apache-2.0
#include "subcommands.hpp"
#include <tutti/nn/checkpoint/read_checkpoint.hpp>
#include <tutti/nn/extend/activation_kind.hpp>
#include <tutti/nn/saved_model/classifier.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

namespace {

namespace nn = tutti::nn;

std::string words(nn::image_shape const& shape) {
  return std::to_string(shape.channels) + " x " + std::to_string(shape.rows) + " x " + std::to_string(shape.columns);
}

/// Describes a layer in a line.
struct layer_text {
  std::string operator()(nn::geometry::dense const& d) const {
    return "dense " + std::to_string(d.inputs) + " to " + std::to_string(d.outputs) + name_of(d.activation);
  }
  std::string operator()(nn::geometry::convolution const& c) const {
    auto const side = std::to_string(c.filter_window.side);
    return "convolution " + side + " x " + side + ", " + words(c.input) + " to " + words(c.output) +
           name_of(c.activation);
  }
  std::string operator()(nn::geometry::pooling const& p) const {
    return std::string(p.kind == nn::geometry::pooling_kind::mean ? "mean" : "largest") + " of pixels, " +
           words(p.input) + " to " + words(p.output);
  }
  std::string operator()(nn::geometry::batch_norm const& b) const {
    return "batch normalisation of " + std::to_string(b.image.channels) + " channels" + name_of(b.activation);
  }
  std::string operator()(nn::geometry::dropout const& d) const {
    return "dropout of " + std::to_string(d.numbers) + " values";
  }
  std::string operator()(nn::geometry::channels_last const&) const { return "pixels with their channels together"; }
  std::string operator()(nn::geometry::residual const& r) const {
    std::string text = "residual block:";
    for (auto const& layer : r.body) {
      text += "\n    " + layer.visit(*this);
    }
    for (auto const& layer : r.shortcut) {
      text += "\n    shortcut: " + layer.visit(*this);
    }
    return text;
  }
  std::string operator()(nn::geometry::weight_norm const& n) const {
    return "weight normalisation of " + n.layer.front().visit(*this);
  }

 private:
  static std::string name_of(nn::activation_kind kind) {
    constexpr std::array<std::string_view, 4> names{"", ", relu", ", tanh", ", sigmoid"};
    return std::string(names[static_cast<std::size_t>(kind)]);
  }
};

void show(nn::model_description const& model, std::size_t parameters) {
  std::printf("images      %s, %zu classes:", words(model.image).c_str(), model.classes);
  for (std::size_t c = 0; c != model.classes && c != 20; ++c) {
    std::printf("%s %s", c == 0 ? "" : ",", model.class_name(c).c_str());
  }
  std::printf("%s\ntrained     %s, by tutti %s\nparameters  %zu\nlayers\n", model.classes > 20 ? ", ..." : "",
              model.training.c_str(), model.version.c_str(), parameters);
  for (auto const& layer : model.layers) {
    std::printf("  %s\n", layer.visit(layer_text()).c_str());
  }
}

void show(nn::saved_training const& training) {
  std::printf("checkpoint  %s\nposition    %llu steps: %zu epochs and %zu batches, %u ranks\n", training.file.c_str(),
              static_cast<unsigned long long>(training.step), training.place.epoch, training.place.batch,
              training.ranks);
  if (!training.results.epochs.empty()) {
    auto const& last = training.results.epochs.back();
    std::printf("results     test accuracy %.2f %%, test loss %.4f after epoch %zu\n", 100 * last.test_accuracy,
                last.test_loss, last.epoch + 1);
  }
  show(training.model, training.parameters.size());
  std::printf("settings\n");
  std::istringstream lines(training.settings);
  for (std::string line; std::getline(lines, line);) {
    std::printf("  %s\n", line.c_str());
  }
  for (auto const& note : training.notes) {
    std::fprintf(stderr, "train: %s\n", note.c_str());
  }
}

}  // namespace

int inspect_command(int argc, char** argv) {
  CLI::App app("Shows what a checkpoint or a saved model holds.", "train inspect");
  std::string path;
  app.add_option("MODEL", path, "Folder of checkpoints, or a file of safetensors")->required();
  app.footer("Example: train inspect checkpoints");
  return run_with_arguments(app, argc, argv, [&] {
    if (std::filesystem::is_directory(path)) {
      show(nn::read_checkpoint(path));
    } else {
      auto model = nn::load_model(path);
      std::printf("model       %s\n", path.c_str());
      show(model.description(), model.parameters().size());
    }
  });
}
