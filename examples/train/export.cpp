// SPDX-License-Identifier: Apache-2.0
#include "subcommands.hpp"
#include <tutti/nn/saved_model/classifier.hpp>
#include <tutti/nn/saved_model/save_model.hpp>

#include <cstdio>
#include <string>

int export_command(int argc, char** argv) {
  CLI::App app("Writes the model of a checkpoint as a file of safetensors, with PyTorch's names and shapes.",
               "train export");
  std::string model;
  std::string file;
  app.add_option("MODEL", model, "Folder of checkpoints, or a file of safetensors")->required();
  app.add_option("FILE", file, "File to write, such as model.safetensors")->required();
  app.footer("Example: train export checkpoints model.safetensors");
  return run_with_arguments(app, argc, argv, [&] {
    auto source = tutti::nn::load_model(model);
    tutti::nn::save_model(file, source.description(), source);
    std::printf("wrote  %s: %zu parameters, %zu classes\n", file.c_str(), source.parameters().size(), source.classes());
  });
}
