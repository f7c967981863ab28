// SPDX-License-Identifier: Apache-2.0
//
// The parts of the trainer that are compiled once where TUTTI_SEPARATE_COMPILATION is defined. Add this file to a
// program, or link tutti::nn_compiled.

#ifndef TUTTI_SEPARATE_COMPILATION
#error "define TUTTI_SEPARATE_COMPILATION for all units of the program, this one included"
#endif

#include <tutti/nn/detail/impl/checkpoint/atomic_file.ipp>
#include <tutti/nn/detail/impl/checkpoint/fingerprint.ipp>
#include <tutti/nn/detail/impl/checkpoint/folder.ipp>
#include <tutti/nn/detail/impl/checkpoint/format.ipp>
#include <tutti/nn/detail/impl/checkpoint/history_text.ipp>
#include <tutti/nn/detail/impl/checkpoint/names.ipp>
#include <tutti/nn/detail/impl/checkpoint/state.ipp>
#include <tutti/nn/detail/impl/core/any_layer.ipp>
#include <tutti/nn/detail/impl/core/basic_replica.ipp>
#include <tutti/nn/detail/impl/core/host_learner.ipp>
#include <tutti/nn/detail/impl/core/replica.ipp>
#include <tutti/nn/detail/impl/core/test_pass.ipp>
#include <tutti/nn/detail/impl/data/batch_loader.ipp>
#include <tutti/nn/detail/impl/data/cifar10.ipp>
#include <tutti/nn/detail/impl/data/digits.ipp>
#include <tutti/nn/detail/impl/data/file_names.ipp>
#include <tutti/nn/detail/impl/data/gz_file.ipp>
#include <tutti/nn/detail/impl/data/idx.ipp>
#include <tutti/nn/detail/impl/data/image_source.ipp>
#include <tutti/nn/detail/impl/data/normalisation.ipp>
#include <tutti/nn/detail/impl/data/own_batches.ipp>
#include <tutti/nn/detail/impl/data/partition.ipp>
#include <tutti/nn/detail/impl/data/read_folder.ipp>
#include <tutti/nn/detail/impl/optimizer/any_optimizer.ipp>
#include <tutti/nn/detail/impl/parallel/cut_layers.ipp>
#include <tutti/nn/detail/impl/parameter_server/layout.ipp>
#include <tutti/nn/detail/impl/parameter_server/roles.ipp>
#include <tutti/nn/detail/impl/parameter_server/scheduler.ipp>
#include <tutti/nn/detail/impl/report/json.ipp>
#include <tutti/nn/detail/impl/report/json_lines.ipp>
#include <tutti/nn/detail/impl/report/plot_panel.ipp>
#include <tutti/nn/detail/impl/report/progress.ipp>
#include <tutti/nn/detail/impl/report/svg.ipp>
#include <tutti/nn/detail/impl/report/training_curves.ipp>
#include <tutti/nn/detail/impl/report/usage.ipp>
#include <tutti/nn/detail/impl/report/usage_panels.ipp>
#include <tutti/nn/detail/impl/schedule/learning_rate.ipp>
