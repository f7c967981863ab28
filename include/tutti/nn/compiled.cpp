// SPDX-License-Identifier: Apache-2.0
//
// The parts of the trainer that are compiled once if TUTTI_SEPARATE_COMPILATION is defined. Add this file to a
// program, or link tutti::nn_compiled.

#ifndef TUTTI_SEPARATE_COMPILATION
#error "define TUTTI_SEPARATE_COMPILATION for all units of the program, this one included"
#endif

#include <tutti/nn/base/usage.ipp>
#include <tutti/nn/checkpoint/base/fingerprint.ipp>
#include <tutti/nn/checkpoint/base/history_text.ipp>
#include <tutti/nn/checkpoint/base/state.ipp>
#include <tutti/nn/checkpoint/read_checkpoint.ipp>
#include <tutti/nn/data/cifar10.ipp>
#include <tutti/nn/data/cifar100.ipp>
#include <tutti/nn/data/class_counts.ipp>
#include <tutti/nn/data/digits.ipp>
#include <tutti/nn/data/idx.ipp>
#include <tutti/nn/data/image_source.ipp>
#include <tutti/nn/data/normalisation.ipp>
#include <tutti/nn/data/npy.ipp>
#include <tutti/nn/data/read_folder.ipp>
#include <tutti/nn/data/split.ipp>
#include <tutti/nn/detail/batches/batch_loader.ipp>
#include <tutti/nn/detail/batches/own_batches.ipp>
#include <tutti/nn/detail/batches/partition.ipp>
#include <tutti/nn/detail/checkpoint/atomic_file.ipp>
#include <tutti/nn/detail/checkpoint/folder.ipp>
#include <tutti/nn/detail/checkpoint/folder_lock.ipp>
#include <tutti/nn/detail/checkpoint/format.ipp>
#include <tutti/nn/detail/checkpoint/names.ipp>
#include <tutti/nn/detail/data/cifar.ipp>
#include <tutti/nn/detail/data/count_classes.ipp>
#include <tutti/nn/detail/data/file_names.ipp>
#include <tutti/nn/detail/data/gz_file.ipp>
#include <tutti/nn/detail/data/npy_file.ipp>
#include <tutti/nn/detail/parallel/cut_layers.ipp>
#include <tutti/nn/detail/parameter_server/layout.ipp>
#include <tutti/nn/detail/parameter_server/scheduler.ipp>
#include <tutti/nn/detail/parameter_server/server.ipp>
#include <tutti/nn/detail/parameter_server/work.ipp>
#include <tutti/nn/detail/parameter_server/worker.ipp>
#include <tutti/nn/detail/report/plot_panel.ipp>
#include <tutti/nn/detail/report/training_curves.ipp>
#include <tutti/nn/detail/report/usage_panels.ipp>
#include <tutti/nn/detail/saved_model/load_tensors.ipp>
#include <tutti/nn/detail/saved_model/tensor_file.ipp>
#include <tutti/nn/detail/saved_model/tensor_place.ipp>
#include <tutti/nn/detail/trainer/test_pass.ipp>
#include <tutti/nn/host_learner.ipp>
#include <tutti/nn/layer/instances.ipp>
#include <tutti/nn/optimizer/make_optimizer.ipp>
#include <tutti/nn/replica.ipp>
#include <tutti/nn/report/confusion_matrix.ipp>
#include <tutti/nn/report/json.ipp>
#include <tutti/nn/report/json_lines.ipp>
#include <tutti/nn/report/progress.ipp>
#include <tutti/nn/report/svg.ipp>
#include <tutti/nn/saved_model/base/description.ipp>
#include <tutti/nn/saved_model/base/json.ipp>
#include <tutti/nn/saved_model/base/module_names.ipp>
#include <tutti/nn/saved_model/classifier.ipp>
#include <tutti/nn/saved_model/layers_of.ipp>
#include <tutti/nn/saved_model/load_weights.ipp>
#include <tutti/nn/saved_model/save_model.ipp>
#include <tutti/nn/schedule/learning_rate.ipp>
#include <tutti/nn/strategy/instances.ipp>
#include <tutti/nn/trainer.ipp>
