// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/bootstrap/directory.hpp>
#include <tutti/detail/bootstrap/environment_reader.hpp>
#include <tutti/detail/bootstrap/hosts.hpp>
#include <tutti/detail/bootstrap/node_list.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/secret_file.hpp>
#include <tutti/extend/error.hpp>

#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The value of a variable, unless it is unset.
TUTTI_DECL std::optional<std::string_view> find_variable(char const* const* variables, std::string_view name) {
  for (char const* const* variable = variables; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::string_view const text = *variable; text.starts_with(name) && text.substr(name.size()).starts_with('=')) {
      return text.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

/// Reads the variables that a launcher sets.
class environment_reader {
 public:
  TUTTI_COLD environment_reader(char const* const* variables, long parent, std::string host)
      : variables_(variables), parent_(parent), host_(std::move(host)) {}

  /// @throws error(failure::join) that names the variable that is wrong or missing
  [[nodiscard]] TUTTI_COLD environment read() {
    environment settings;
    find_ranks(settings);
    find_job(settings);
    auto const seconds = get("TUTTI_TIMEOUT");
    if (seconds) {
      settings.patience = std::chrono::milliseconds(milliseconds("TUTTI_TIMEOUT", *seconds));
    }
    settings.network_interface = get("TUTTI_INTERFACE").value_or("");
    settings.node = get("TUTTI_NODE").value_or("");
    settings.dumps = get("TUTTI_DUMPS").value_or("");
    find_place(settings);
    require_job(settings);
    settings.secret = read_secret(variables_, settings.size);
    advise_secret(settings);
    return settings;
  }

 private:
  struct launcher {
    char const* name;
    char const* rank;
    char const* size;
    char const* size_too;  ///< an older name, or null
    char const* local_rank;
    char const* local_size;
  };
  static constexpr launcher launchers[] = {
      {"TUTTI_*", "TUTTI_RANK", "TUTTI_SIZE", nullptr, "TUTTI_LOCAL_RANK", "TUTTI_LOCAL_SIZE"},
      {"torchrun", "RANK", "WORLD_SIZE", nullptr, "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
      {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr, "OMPI_COMM_WORLD_LOCAL_RANK",
       "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"MPICH", "PMI_RANK", "PMI_SIZE", nullptr, "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
      {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_LOCALID", nullptr},
  };

  TUTTI_COLD void find_ranks(environment& settings) {
    std::string incomplete;
    auto const hosts = get("TUTTI_HOSTS");
    for (launcher const& entry : launchers) {
      bool const is_tutti = &entry == launchers;
      // A batch script has Slurm's variables but is no rank; only a step is.
      if (entry.name == std::string_view("Slurm") && !get("SLURM_STEP_ID") && !get("SLURM_STEPID")) {
        continue;
      }
      char const* const size_name = entry.size_too != nullptr && !get(entry.size) ? entry.size_too : entry.size;
      auto const rank = is_tutti ? own_rank() : get(entry.rank);
      auto const size = get(size_name);
      if (is_tutti && hosts) {
        settings.launcher = entry.name;
        use_hosts(settings, *hosts, rank, size);
      } else if (!rank && !size) {
        continue;
      } else if (!rank || !size) {
        std::string const text = std::string(rank ? entry.rank : size_name) + "=" + *(rank ? rank : size) +
                                 " is set, but " + (rank ? size_name : entry.rank) + " is not";
        if (is_tutti) {
          fail(text + "; set both");
        }
        incomplete = incomplete.empty() ? text : incomplete;  // other programs may have set such names
        continue;
      } else {
        settings.launcher = entry.name;
        settings.size = number(size_name, *size);
        settings.rank = number(entry.rank, *rank);
        if (settings.size == 0) {
          fail(std::string(size_name) + "=0: a world has at least one rank; set it to the number of ranks");
        }
        if (settings.rank >= settings.size) {
          fail(std::string(entry.rank) + "=" + *rank + " must be below " + size_name + "=" + *size +
               "; ranks are counted from 0");
        }
      }
      find_local(settings, entry);
      return;
    }
    if (!incomplete.empty()) {
      fail(incomplete + "; set both, or TUTTI_RANK and TUTTI_SIZE");
    }
    advise_batch(settings);
  }

  /// TUTTI_RANK; the value `hostname` stands for the number at the end of the host's name.
  [[nodiscard]] TUTTI_COLD std::optional<std::string> own_rank() const {
    auto rank = get("TUTTI_RANK");
    if (rank != "hostname") {
      return rank;
    }
    std::string const name = host_.substr(0, host_.find('.'));
    std::size_t const begin = name.find_last_not_of("0123456789") + 1;
    if (begin == name.size()) {
      fail("TUTTI_RANK=hostname, but the name of this host, " + host_ +
           ", does not end with a number: set TUTTI_RANK to the rank");
    }
    return name.substr(begin);
  }

  /// A batch script of several tasks runs once: its programs are ranks only if srun starts them.
  TUTTI_COLD void advise_batch(environment& settings) const {
    auto const tasks = get("SLURM_NTASKS");
    if (get("SLURM_JOB_ID") && tasks && *tasks != "1") {
      settings.advice = "a world of one in a Slurm job of SLURM_NTASKS=" + *tasks +
                        " tasks: to start a rank for each, run the program by srun";
    }
  }

  /// Without a secret, a program that reaches the ports of ranks may pass for one. Only this host reaches them if the
  /// ranks meet at a loopback address, or all through files of one host, and listen at no other interface.
  TUTTI_COLD static void advise_secret(environment& settings) {
    bool const is_local = settings.directory.empty() ? static_cast<bool>(net::loopback_address(settings.master))
                                                     : settings.local_size == settings.size;
    if (settings.size > 1 && !settings.secret && (!is_local || !settings.network_interface.empty())) {
      settings.advice =
          "strangers may join: any program that reaches a port of these ranks can pass for one; give all ranks one "
          "TUTTI_SECRET_FILE, or let them meet at a loopback address, without TUTTI_INTERFACE";
    }
  }

  TUTTI_COLD void find_local(environment& settings, launcher const& entry) {
    if (auto const local = get(entry.local_rank)) {
      settings.local_rank = number(entry.local_rank, *local);
    }
    if (auto const local = entry.local_size != nullptr ? get(entry.local_size) : std::nullopt) {
      settings.local_size = number(entry.local_size, *local);
    } else if (get("SLURM_STEP_NUM_NODES") == "1" && entry.local_size == nullptr) {
      settings.local_size = settings.size;
    }
    if (settings.local_size > settings.size) {
      fail(std::string(entry.local_size) + "=" + std::to_string(settings.local_size) +
           " is more than the size of the world, " + std::to_string(settings.size) +
           "; set TUTTI_RANK and TUTTI_SIZE by hand if the launcher is wrong");
    }
    if (settings.local_rank != no_rank &&
        settings.local_rank >= (settings.local_size != 0 ? settings.local_size : settings.size)) {
      fail(std::string(entry.local_rank) + "=" + std::to_string(settings.local_rank) +
           " must be below the number of ranks on this host, " +
           std::to_string(settings.local_size != 0 ? settings.local_size : settings.size));
    }
  }

  TUTTI_COLD void use_hosts(environment& settings, std::string const& text, std::optional<std::string> const& rank,
                            std::optional<std::string> const& size) {
    constexpr std::string_view file = "file:";
    host_list const hosts =
        text.starts_with(file) ? read_hosts(text.substr(file.size())) : host_list(text, "TUTTI_HOSTS");
    settings.size = hosts.size();
    if (size && number("TUTTI_SIZE", *size) != settings.size) {
      fail("TUTTI_SIZE=" + *size + ", but TUTTI_HOSTS names " + std::to_string(settings.size) +
           "; leave TUTTI_SIZE unset, or make both agree");
    }
    settings.rank = rank ? number("TUTTI_RANK", *rank) : hosts.find_self();
    if (settings.rank >= settings.size) {
      fail("TUTTI_RANK=" + *rank + " must be below the " + std::to_string(settings.size) +
           " that TUTTI_HOSTS names; ranks are counted from 0");
    }
    settings.role = hosts[settings.rank].role;
    settings.master = hosts.master();
    for (rank_type r = 0; r < hosts.size(); ++r) {
      settings.hosts.push_back(hosts[r].at);
    }
  }

  /// The name that distinguishes the ranks of this job from those of other jobs that may meet at the same place: the
  /// user's, or a value that the launcher gives to exactly its own ranks. A process id is not enough: it is unique
  /// only within one PID namespace of a running system.
  TUTTI_COLD void find_job(environment& settings) const {
    auto const value = [this](char const* name) { return get(name).value_or(""); };
    bool const one_host = settings.local_size == settings.size;
    if (auto const job = get("TUTTI_JOB")) {
      settings.job = *job;
    } else if (settings.launcher == "torchrun") {
      // Restarted workers form another world; the agent numbers the attempts. Without --rdzv-id torchrun calls every
      // job "none".
      std::string const id = value("TORCHELASTIC_RUN_ID");
      settings.job = id == "none" ? name_by_parent(settings) : id;
      if (auto const attempt = get("TORCHELASTIC_RESTART_COUNT"); attempt && !settings.job.empty()) {
        settings.job += "." + *attempt;
      }
    } else if (settings.launcher == "Open MPI") {
      auto const name = get("PMIX_NAMESPACE");
      settings.job = name ? *name : value("OMPI_MCA_ess_base_jobid");
      // The name consists of mpirun's host and process; the key is random for each mpirun.
      auto const key = get("OMPI_MCA_orte_precondition_transports");
      std::string const space = key ? *key : one_host ? process_space() : "";
      settings.job = settings.job.empty() || space.empty() ? "" : settings.job + " " + space;
    } else if (settings.launcher == "MPICH" && get("MPI_LOCALNRANKS")) {
      settings.job = name_by_parent(settings);
    } else if (settings.launcher == "Slurm" || (settings.launcher == "MPICH" && get("SLURM_STEP_ID"))) {
      auto const step = get("SLURM_STEP_ID");
      auto const cluster = get("SLURM_CLUSTER_NAME");
      auto const restart = get("SLURM_RESTART_COUNT");
      settings.job = (cluster ? *cluster + "." : "") + value("SLURM_JOB_ID") + "." +
                     (step ? *step : value("SLURM_STEPID")) + (restart ? "." + *restart : "");
    }
  }

  /// The process that started all ranks if they share a host, else nothing. It outlives them. The id 1 means that a
  /// process was orphaned, and 0 a parent in another namespace.
  [[nodiscard]] std::string name_by_parent(environment const& settings) const {
    std::string const space = process_space();
    bool const is_unique = settings.local_size == settings.size && parent_ > 1 && !space.empty();
    return is_unique ? "parent " + std::to_string(parent_) + " " + space : "";
  }

  /// The running system and its PID namespace, in which a process id is unique at any one time. Empty if unknown.
  [[nodiscard]] TUTTI_COLD static std::string process_space() {
    auto const boot = read_file("/proc/sys/kernel/random/boot_id", 64);
    struct stat space {};
    return boot && ::stat("/proc/self/ns/pid", &space) == 0
               ? boot->substr(0, boot->find('\n')) + " " + std::to_string(space.st_dev) + ":" +
                     std::to_string(space.st_ino)
               : "";
  }

  /// Ranks of two jobs that meet at one place cannot be told apart without a name: both worlds would be completed by
  /// each other's ranks, and both sums wrong.
  TUTTI_COLD static void require_job(environment const& settings) {
    if (settings.size > 1 && settings.job.empty()) {
      fail("nothing tells the ranks of this job from those of another job at the same place (" + settings.launcher +
           " gives the job no name" + (settings.launcher == "torchrun" ? "; torchrun --rdzv-id=run-7 does" : "") +
           "): set TUTTI_JOB to one name on all ranks of a job, and to another name for each job, as TUTTI_JOB=run-7");
    }
  }

  /// Sets the meeting place: the user's, else the launcher's, else files if all ranks share this host.
  TUTTI_COLD void find_place(environment& settings) {
    auto const store = get("TUTTI_STORE");
    if (store && store->starts_with("file:") && store->size() > 5) {
      settings.directory = store->substr(5);
      settings.master = {};
      return;
    }
    if (store && *store != "tcp") {
      fail("TUTTI_STORE=" + *store + " must be tcp or file:PATH");
    }
    auto const host_name = get("TUTTI_MASTER_ADDR");
    auto const torch = settings.launcher == "torchrun" ? get("MASTER_ADDR") : std::nullopt;
    if (host_name || torch) {
      settings.master.host = host_name ? host("TUTTI_MASTER_ADDR", *host_name) : host("MASTER_ADDR", *torch);
    }
    find_port(settings);
    if (!settings.master.host.empty() || settings.size == 1) {
      return;
    }
    if (settings.local_size == settings.size && !store) {
      settings.directory = get("TMPDIR").value_or("/tmp");
      return;
    }
    find_slurm_node(settings);
    if (settings.master.host.empty()) {
      fail("no address of rank 0 is known (" + settings.launcher +
           " gives none): set TUTTI_MASTER_ADDR to the name of its host");
    }
  }

  TUTTI_COLD void find_port(environment& settings) {
    if (auto const port = get("TUTTI_MASTER_PORT")) {
      settings.master.port = port_number("TUTTI_MASTER_PORT", *port);
    } else if (auto const torch = get("MASTER_PORT"); torch && settings.launcher == "torchrun") {
      settings.master.port = port_number("MASTER_PORT", *torch);
      if (get("TORCHELASTIC_USE_AGENT_STORE") == "True") {
        if (settings.master.port == 65535) {
          fail("MASTER_PORT=65535 is used by torchrun, and there is no higher port: set TUTTI_MASTER_PORT");
        }
        ++settings.master.port;  // the agent itself listens at MASTER_PORT
      }
    } else if (settings.master.port == 0) {
      // Below the ephemeral ports, and likely a different port for each job.
      settings.master.port = static_cast<std::uint16_t>(12000 + hash(settings.job) % 17000);
    }
  }

  TUTTI_COLD void find_slurm_node(environment& settings) {
    for (char const* const name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
      if (auto const list = get(name)) {
        auto const first = first_node(*list);
        if (!first) {
          fail(std::string(name) + "=" + *list + " is not a list of up to 65536 nodes: set TUTTI_MASTER_ADDR");
        }
        settings.master.host = *first;
        return;
      }
    }
  }

  /// The value of a variable, unless it is unset or empty.
  [[nodiscard]] TUTTI_COLD std::optional<std::string> get(std::string_view name) const {
    auto const value = find_variable(variables_, name);
    return value && !value->empty() ? std::optional<std::string>(*value) : std::nullopt;
  }

  [[noreturn]] static void fail(std::string const& text) { throw error(failure::join, "the environment: " + text); }

  [[nodiscard]] TUTTI_COLD static rank_type number(char const* name, std::string const& text) {
    if (rank_type value = 0; read_number(text, value) && value < 0xffffffU) {
      return value;
    }
    fail(std::string(name) + "=" + text + " must be a number from 0 to 16777214");
  }

  /// The name or number of a host, without brackets.
  [[nodiscard]] TUTTI_COLD static std::string host(char const* name, std::string const& text) {
    if (host_port endpoint; net::parse(text, endpoint)) {
      fail(std::string(name) + "=" + text + " contains a port: set TUTTI_MASTER_PORT to the port");
    }
    bool const has_brackets = text.size() > 2 && text.front() == '[' && text.back() == ']';
    return has_brackets ? text.substr(1, text.size() - 2) : text;
  }

  [[nodiscard]] TUTTI_COLD static std::uint16_t port_number(char const* name, std::string const& text) {
    std::uint16_t port = 0;
    if (!net::parse_port(text, port) || port == 0) {
      fail(std::string(name) + "=" + text + " must be a port from 1 to 65535");
    }
    return port;
  }

  /// "30", "0.5", ".25": at most seven digits of whole seconds; only the first three decimals count.
  [[nodiscard]] TUTTI_COLD static std::int64_t milliseconds(char const* name, std::string const& text) {
    auto const point = text.find('.');
    std::string const whole = text.substr(0, point);
    std::string rest = point == text.npos ? "" : text.substr(point + 1);
    if (text.find_first_not_of("0123456789", point == text.npos ? 0 : point + 1) == text.npos && whole.size() <= 7 &&
        whole.find_first_not_of("0123456789") == whole.npos) {
      rest.resize(3, '0');
      if (std::int64_t ms = 0; read_number(whole + rest, ms) && ms > 0) {
        return ms;
      }
    }
    fail(std::string(name) + "=" + text + " must be a number of seconds, from 0.001 to 9999999");
  }

  char const* const* variables_;
  long parent_;
  std::string host_;
};

TUTTI_DECL world_secret read_secret(char const* const* variables, rank_type size) {
  auto const file = find_variable(variables, "TUTTI_SECRET_FILE");
  auto const text = find_variable(variables, "TUTTI_SECRET");
  auto const requirement = find_variable(variables, "TUTTI_SECRET_REQUIRED");
  if (file && text) {
    throw error(failure::join, "the environment: TUTTI_SECRET_FILE and TUTTI_SECRET are both set; unset one of them");
  }
  if (requirement && *requirement != "0" && *requirement != "1") {
    throw error(failure::join,
                "the environment: TUTTI_SECRET_REQUIRED=" + std::string(*requirement) + " must be 0 or 1");
  }
  if (!file && !text && requirement == "1" && size > 1) {
    throw error(failure::join,
                "the environment: TUTTI_SECRET_REQUIRED=1, but there is no secret: make one by (umask 077; head -c 32 "
                "/dev/urandom | base64 > FILE), and set TUTTI_SECRET_FILE=FILE for all ranks");
  }
  return file   ? net::read_secret_file(std::string(*file))
         : text ? net::make_secret(*text, "TUTTI_SECRET")
                : world_secret();
}

TUTTI_DECL environment read_environment(char const* const* variables, long parent, std::string host) {
  return environment_reader(variables, parent, std::move(host)).read();
}

}  // namespace tutti::detail::bootstrap
