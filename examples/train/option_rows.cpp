// SPDX-License-Identifier: Apache-2.0
#include "option_rows.hpp"

#include "option_readers.hpp"

#include <cstddef>
#include <cstdint>

// A row has a name, the place of the value with its range, help, conditions, and the value that asks for nothing, if
// the option has one. clang-format would spread them over many lines.
// clang-format off

namespace {

using namespace tutti::nn;

constexpr std::size_t max_count = 1'000'000'000;
constexpr std::size_t most_images = 10'000'000;

auto const nothing_computed = not_with("--pretend", ", which computes nothing");

/// Sizes such as 1M; 0 is one, too.
option_value bytes(std::size_t& target, std::size_t low, std::size_t high) {
  auto const add = [&target, low, high](CLI::App& app, std::string const& option) {
    return app.add_option(option, target)->transform(CLI::AsSizeValue(false))->default_str("0")
        ->check((CLI::Range(std::size_t{0}, std::size_t{0}) | CLI::Range(low, high)).description("0, or 1K to 1024M"));
  };
  return {add, "BYTES", "0, or 1K to 1024M"};
}

/// A file of options, a line each.
option_value configuration_file() {
  auto const add = [](CLI::App& app, std::string const& option) {
    app.allow_config_extras(CLI::config_extras_mode::error);  // a typing error is not a default
    return app.set_config(option);
  };
  return {add, "FILE", "", true};
}

option_group data_group(options& o) {
  auto& s = o.settings;
  return {"data", "images, and what is done with them", {
    {"--data", local(text(o.data, "FOLDER")), "Pictures in a subfolder for each class, MNIST's files, CIFAR-10, "
        "CIFAR-100 or NumPy's arrays; or builtin, drawn digits", {nothing_computed}, "builtin"},
    {"--image-size", integer(o.image_size, 8, 1024), "Rows and columns to which pictures are scaled and cropped",
        {nothing_computed}},
    {"--validation", real(o.validation, 0.001, 0.9), "Share of the images that are the test set, where the folder has "
        "none; 0.1 if not given", {nothing_computed}},
    {"--samples", integer(o.samples, 1, 1'000'000), "Training images to draw",
        {needs("--data builtin", "; a folder is used whole")}},
    {"--test-samples", integer(o.test_samples, 1, 1'000'000), "Test images to draw",
        {needs("--data builtin", "; a folder is used whole"), not_with("--pretend", ", which has no test")}},
    {"--shards", one_of(s.images, {ownership::common, ownership::iid, ownership::labels}),
        "Division of training images: each batch over all ranks, or a part for each rank, of all classes (iid) or of "
        "few (labels)", {if_is("labels", nothing_computed)}},
    {"--augment", one_of(o.augment, {"none", "crop", "flip", "crop_flip"}),
        "Move training images by up to 4 pixels (crop), turn every other one (flip)", {nothing_computed}, "none"},
    {"--standardise", flag(s.standardise), "Give each channel mean 0 and deviation 1 over the training set",
        {nothing_computed}},
    {"--prefetch", flag(s.prefetch), "Prepare the next batch's images in a thread of each rank", {nothing_computed}},
  }};
}

option_group model_group(options& o) {
  return {"model", "the network", {
    {"--model", one_of(o.model, {"mlp", "lenet5", "cnn", "resnet20", "alexnet", "vgg16", "vgg19", "resnet50",
        "resnet152"}), "The network; from alexnet on for images of 32 x 32, to which smaller ones are padded"},
    {"--hidden", custom(o.hidden_sizes, read_hidden, "N,...", "256,128"),
        "Sizes of hidden layers, or none for a linear model", {needs("--model mlp")}},
    {"--activation", one_of(o.activation, {"relu", "tanh", "sigmoid"}), "Function of hidden layers",
        {needs("--model mlp")}},
    {"--dropout", real(o.dropout, 0, 0.95), "Probability with which inputs of dense layers behind the first are dropped "
        "in training; the model's own if not given", {nothing_computed}},
    {"--weights", text(o.weights, "FILE"), "Begin with the weights of this file of safetensors, instead of drawn ones; "
        "the last layer is drawn if the classes are others", {nothing_computed}},
    {"--synchronised-statistics", flag(o.settings.synchronised_statistics),
        "Normalise over the batch of all ranks, instead of each rank's part",
        {needs("--strategy synchronous or network_server"), nothing_computed}},
  }};
}

option_group training_group(options& o) {
  auto& s = o.settings;
  return {"training", "length, batches, and settings from files", {
    {"--recipe", local(text(o.recipe, "NAME")), "Settings that are known to reach an accuracy, below those of "
        "--config and the command line; list shows all"},
    {"--config", configuration_file(), "Read options from a file, a line each, such as epochs=10; the command line "
        "wins"},
    {"--epochs", integer(s.epochs, 1, 100'000), "Passes over the training set"},
    {"--batch", integer(s.batch, 1, most_images), "Images in one step, divided among the ranks"},
    {"--batch-per-rank", integer(o.batch_per_rank, 1, most_images), "Instead of --batch: images of each rank in a step",
        {not_with("--batch", "; leave one of them out")}},
    {"--micro-batch", integer(s.micro_batch, 1, most_images), "Largest number of images that a rank computes at a "
        "time; gradients of the parts of a batch are added up", {nothing_computed}},
    {"--seed", integer(s.seed, 0, UINT64_MAX), "Seed of initial weights, the order of images and built-in digits"},
    {"--reproducible", flag(s.reproducible), "The same weights, bit for bit, for any number of ranks; with "
        "micro-batches of 16 images if not given",
        {needs("--strategy synchronous"), needs("--shards shared"), not_with("--compress"),
         not_with("--synchronised-statistics", ", whose statistics are not of micro-batches"), nothing_computed}},
  }};
}

option_group optimizer_group(options& o) {
  auto& s = o.settings;
  using rates = rate_schedule_kind;
  constexpr char const* adam = "--optimizer adam or adamw";
  return {"optimizer", "the rule by which weights follow gradients, and its rate", {
    {"--optimizer", one_of(s.optimizer, {optimizer_kind::sgd, optimizer_kind::nesterov, optimizer_kind::lars,
        optimizer_kind::adam, optimizer_kind::adamw}),
        "The rule; lars: each layer at a rate of its own; adam, adamw: each weight, from --lr 0.001 if not given",
        {if_is("adam or adamw", not_with("--strategy parameter_server")),
         if_is("adam or adamw", not_with("--momentum", "; --beta1 is Adam's momentum"))}},
    {"--lr", real(s.rate, 0, 1e6), "Learning rate of the first step"},
    {"--lr-end", real(s.last_rate, 0, 1e6), "Learning rate of the last step, with --schedule linear or cosine"},
    {"--lr-for", integer(s.rate_is_for, 1, most_images), "Batch that --lr and --lr-end are meant for: they are "
        "multiplied by --batch over this"},
    {"--momentum", real(s.momentum, 0, 0.9999), "Share of the last step that is repeated"},
    {"--beta1", real(s.beta1, 0, 0.9999), "Share of the mean gradient that is kept", {needs(adam)}},
    {"--beta2", real(s.beta2, 0, 0.999999), "Share of the mean squared gradient that is kept", {needs(adam)}},
    {"--epsilon", real(s.epsilon, 1e-12, 1), "Least divisor of a step", {needs(adam)}},
    {"--weight-decay", real(s.weight_decay, 0, 1), "Pull of weights towards zero, not of biases and normalisation"},
    {"--decay-all", flag(s.decays_all), "Weight decay and lars treat biases and normalisation like weights"},
    {"--clip-norm", real(s.clip_norm, 1e-9, 1e9), "Scale the gradient of all weights down to this norm",
        {not_with("--strategy parameter_server"), not_with("--strategy network_server"),
         not_with("--momentum-correction", "; --local-clipping goes with it")}},
    {"--label-smoothing", real(s.label_smoothing, 0, 0.99), "Share of each training label that is spread over all "
        "classes", {nothing_computed}},
    {"--trust", real(s.trust, 1e-9, 1), "Step as a share of a layer's weights, at rate 1",
        {needs("--optimizer lars")}},
    {"--schedule", one_of(s.schedule, {rates::constant, rates::linear, rates::cosine, rates::step,
        rates::growing_batch}),
        "Course of the rate: to --lr-end linearly or by a cosine wave, or divided at --change-at; or the batch grows",
        {if_is("step or growing_batch", needs("--change-at")),
         if_is("growing_batch", not_with("--strategy federated", "; choose another schedule"))}},
    {"--change-at", custom(s.changes.epochs, read_changes, "N,..."),
        "Epochs, such as 30,60,80, after which the rate or the batch changes",
        {needs("--schedule step or growing_batch")}},
    {"--change-by", real(s.changes.factor, 1, 1e6), "Factor of each change"},
    {"--decay-by", real(s.decay, 1, 1e6), "Divisor of the rate at each change of the batch",
        {needs("--schedule growing_batch")}},
    {"--warmup", real(s.warm_up, 0, 1e5), "Epochs in which the rate rises: from nothing, or with --lr-for from --lr"},
  }};
}

option_group ranks_group(options& o) {
  using tutti::nn::precision;
  return {"ranks", "processes or threads, their network, and GPUs", {
    {"--ranks", local(integer(o.ranks, 1, 1024)), "How many to start; a launcher brings its own"},
    {"--threads-per-rank", local(integer(o.threads, 1, 1024)), "Threads that compute in each rank"},
    {"--transport", one_of(o.transport, {"loopback", "shared_memory", "tcp", "verbs", "by_locality", "fpga_nic",
        "udp_multicast"}),
        "Path of messages: threads (loopback) or processes; by_locality: shared memory on a host, tcp between hosts; "
        "fpga_nic: a device sums. Default: loopback, under a launcher tcp",
        {if_is("fpga_nic", not_with("--reproducible")), if_is("fpga_nic", not_with("--on-fault continue")),
         if_is("fpga_nic", not_with("--strategy parameter_server")),
         if_is("fpga_nic", not_with("--compress", ", because the device sums floats or --sums")),
         if_is("udp_multicast", needs("--strategy synchronous")), if_is("udp_multicast", not_with("--bucket")),
         if_is("udp_multicast", not_with("--compress")), if_is("udp_multicast", not_with("--sums")),
         if_is("udp_multicast", not_with("--reproducible")), if_is("udp_multicast", not_with("--on-fault continue"))}},
    {"--topology", one_of(o.topology, {"ring", "chain", "binary_tree", "double_tree", "doubling", "butterfly", "star",
        "direct", "hierarchical", "hosts_ring", "hosts_doubling", "hosts_butterfly", "in_network", "automatic"}),
        "Schedule of messages; hosts_... on each host first, hierarchical being hosts_ring; automatic measures",
        {if_is("in_network", needs("--transport fpga_nic or udp_multicast"))}},
    {"--ranks-per-host", integer(o.ranks_per_host, 1, 1024), "This many ranks count as a host, wherever they are",
        {needs("--transport by_locality")}},
    {"--device", text(o.device, "HOST:PORT"), "Address of the device; else TUTTI_FPGA_NIC, or rank 0 takes its place",
        {needs("--transport fpga_nic")}},
    {"--gpu", custom(o.gpus, read_gpus, "RANKS"), "Ranks on GPUs of NVIDIA: all, or RANK[:CARD],..., such as 1,3:0; "
        "a host's cards in turns if none is named",
        {not_with("--reproducible", ", whose sums are made on hosts"), nothing_computed}},
    {"--precision", one_of(o.gpus.numbers, {precision::float32, precision::bfloat16, precision::float16}),
        "Numbers between layers on GPUs",
        {needs("--gpu", ", since hosts compute in float"),
         if_is("fp16", not_with("--synchronised-statistics", "; take bf16 or float"))}},
  }};
}

option_group strategies_group(options& o) {
  auto& s = o.strategy;
  return {"strategies", "what ranks exchange, and when", {
    {"--strategy", one_of(s.name, {"synchronous", "local_sgd", "gossip", "federated", "parameter_server",
        "network_server"}),
        "The sum of gradients at each step, or of weights every few steps, or after rounds in which some train "
        "(federated); weights with neighbours (gossip); or the first ranks, or a device, hold the weights",
        {if_is("network_server", needs("--transport fpga_nic")), if_is("network_server", needs("--optimizer sgd"))}},
    {"--every", integer(o.averaging.interval, 1, max_count), "Steps between averages", {needs("--strategy local_sgd")}},
    {"--neighbours", one_of(o.neighbours, {"ring", "exponential"}), "Pairs of ranks that exchange weights",
        {needs("--strategy gossip")}},
    {"--participation", real(o.averaging.participation, 0, 1), "Share of the ranks that train in a round",
        {needs("--strategy federated")}},
    {"--local-epochs", integer(o.averaging.local_epochs, 1, max_count), "Epochs in a round",
        {needs("--strategy federated")}},
    {"--servers", integer(s.servers, 1, 1023), "How many ranks are servers", {needs("--strategy parameter_server")}},
    {"--staleness", custom(s.staleness, read_staleness, "N", "0"),
        "Steps by which a worker may be ahead of the slowest, or unbounded; age of a neighbour's weights",
        {needs("--strategy parameter_server or gossip")}},
    {"--server-sends", flag(s.server_sends), "Send new weights without a request",
        {needs("--strategy parameter_server")}},
    {"--l1", real(s.l1, 0, 1), "Pull of all weights towards zero, by this times the rate",
        {needs("--strategy parameter_server")}},
  }};
}

option_group compression_group(options& o) {
  auto& c = o.compress;
  return {"compression", "gradients in fewer bytes", {
    {"--compress", one_of(c.kind, {"none", "fp16", "bf16", "int8", "top_k", "threshold"}),
        "Send numbers of 16 or 8 bits, or only the largest ones (top_k), or those from --threshold on",
        {needs("--strategy synchronous")}, "none"},
    {"--keep", real(c.keep, 1e-6, 1), "Share of the gradients that is sent in a step", {needs("--compress top_k")}},
    {"--sparsity-warmup", real(c.warm_up, 0, 1e5), "Epochs in which the share falls, from a quarter to --keep",
        {needs("--compress top_k")}},
    {"--threshold", real(c.threshold, 1e-30, 1e30), "Least magnitude that is sent", {needs("--compress threshold")}},
    {"--momentum-correction", flag(c.momentum_correction), "Run the momentum on each rank, before the selection",
        {needs("--compress top_k or threshold"), needs("--optimizer sgd or nesterov")}},
    {"--momentum-masking", flag(c.momentum_masking), "Reset the momentum of what is sent",
        {needs("--momentum-correction")}},
    {"--local-clipping", real(c.local_clipping, 1e-30, 1e30), "Shrink each rank's gradients to this norm over the "
        "root of the ranks", {needs("--compress top_k or threshold")}},
  }};
}

option_group sums_group(options& o) {
  return {"sums", "when gradients are summed, and in which numbers", {
    {"--bucket", bytes(o.bucket, 1024, 1 << 30), "Sum gradients in parts of this size, such as 1M, while others are "
        "computed; 0: all at the end of a step",
        {needs("--strategy synchronous"), needs("--compress none, fp16 or bf16")}, "0"},
    {"--progress-thread", flag(o.progress_thread), "Advance the sums in a thread of each rank, for spare cores",
        {not_with("--reproducible"), not_with("--compare-sums"), needs("--sums float"), needs("--bucket")}},
    {"--sums", one_of(o.sums.kind, {"float", "fixed_point", "shared_exponents"}), "Add floats; or integers, as "
        "switches do: times --factor, or a power of two for each block",
        {needs("--strategy synchronous"), not_with("--compress"), not_with("--reproducible")}, "float"},
    {"--factor", real(o.sums.factor, 1e-20, 1e30), "The last bit of an integer is worth 1 over this",
        {needs("--sums fixed_point")}},
    {"--exponent-block", integer(o.sums.block, 1, 1 << 30), "Gradients of a block",
        {needs("--sums shared_exponents")}},
    {"--compare-sums", flag(o.sums.has_shadow_sum), "Also add the gradients in double, and report by how much the "
        "weights differ",
        {needs("--strategy synchronous"), needs("--optimizer sgd"), not_with("--compress"), not_with("--reproducible"),
         nothing_computed}},
  }};
}

option_group checkpoints_group(options& o) {
  auto& c = o.checkpoints;
  return {"checkpoints", "resuming, and lost ranks", {
    {"--checkpoint", local(text(c.folder, "FOLDER")), "Keep checkpoints here, after each epoch", {nothing_computed}},
    {"--checkpoint-every", integer(c.interval, 1, max_count), "Instead: after this many steps each, and after the last",
        {needs("--checkpoint"), not_with("--strategy parameter_server")}},
    {"--checkpoint-keep", integer(c.keep, 1, 1'000'000), "How many of the last ones stay", {needs("--checkpoint")}},
    {"--sharded-checkpoints", flag(c.is_sharded), "Each rank writes its part, into a folder that all hosts see; "
        "always so where ranks have weights of their own, or gradients that they owe",
        {needs("--checkpoint"), not_with("--strategy parameter_server")}},
    {"--resume", flag(c.resume), "Continue from the last good checkpoint, or from the beginning if there is none",
        {needs("--checkpoint")}},
    {"--on-fault", one_of(o.on_fault, {"stop", "continue"}),
        "If ranks are lost: the others stop, or continue and share the work",
        {not_with("--strategy parameter_server", ", where servers continue without a lost worker"),
         if_is("continue", needs("--strategy synchronous")), if_is("continue", not_with("--compress"))}},
    {"--max-ranks", integer(o.faults.max_ranks, 1, 65536), "Let processes enter, up to this number of ranks: TUTTI_JOB "
        "names the job, TUTTI_STORE=file:FOLDER or TUTTI_HOSTS the place where they wait",
        {needs("--on-fault continue"), not_with("--batch-per-rank"), not_with("--transport loopback")}},
    {"--enter", local(flag(o.faults.enters)), "Enter a running training as a further rank, or wait for a lost one: "
        "the same options, TUTTI_JOB and place; waits for TUTTI_TIMEOUT seconds (60)", {needs("--max-ranks")}},
  }};
}

option_group output_group(options& o) {
  auto const no_thread = not_with("--progress-thread", "; leave one of them out");
  return {"output", "files that the training writes", {
    {"--save", local(text(o.saved_model, "FILE")), "The trained model (safetensors), for train predict and PyTorch; "
        "with --checkpoint also written with each checkpoint", {nothing_computed}},
    {"--plot", local(text(o.plot, "FILE")), "A picture (SVG) of loss, accuracy, images per second, bytes and the "
        "activity of ranks over time"},
    {"--usage", local(text(o.usage, "FILE")), "JSON of the activity of each rank over time: computing, updating and "
        "waiting, bytes and messages, resident memory", {no_thread}},
    {"--report", local(text(o.report, "FILE")), "JSON of everything that was measured"},
    {"--metrics", local(text(o.metrics, "FILE")), "A line of JSON for every step and epoch as they end"},
    {"--trace", text(o.trace, "FILE"), "JSON for ui.perfetto.dev of when each rank computed, sent and waited; and "
        "prints which rank waited for which", {no_thread}},
    {"--trace-events", integer(o.trace_events, 1000, 10'000'000), "Events that --trace keeps of each rank, the last "
        "ones"},
  }};
}

option_group experiments_group(options& o) {
  return {"experiments", "slow, simulated and failing ranks", {
    {"--slow", custom(o.speeds, read_slow, "RANK:FACTOR,..."), "These ranks take FACTOR times as long, such as 2:4; "
        "random:FACTOR: each gradient takes 1 to FACTOR times as long"},
    {"--pretend", custom(o.speeds, read_pretend, "TIME"), "Gradients are zeros that take this many seconds for a "
        "rank's part of a batch, or that many images a second, such as 154/s; there are no data and no test"},
    {"--side", one_of(o.speeds.side, {224, 32}), "Rows of the pretended images of a model from alexnet on",
        {needs("--pretend")}},
    {"--die", custom(o.faults.deaths, read_deaths, "RANK:STEP,..."), "End these ranks, as kill -9 would, after that "
        "step; a server after as many updates"},
  }};
}

}  // namespace

std::vector<option_group> options_of_run(options& o) {
  return {data_group(o), model_group(o), training_group(o), optimizer_group(o), ranks_group(o), strategies_group(o),
          compression_group(o), sums_group(o), checkpoints_group(o), output_group(o), experiments_group(o)};
}
