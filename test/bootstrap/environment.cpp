// SPDX-License-Identifier: Apache-2.0
// test: address comma (one thread)
#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/environment_reader.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/secret_file.hpp>
#include <tutti/environment.hpp>
#include <tutti/error.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <malloc.h>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// A text that no memory may hold when it is freed, or null.
std::string_view const* wiped_text = nullptr;
bool is_text_freed = false;

}  // namespace

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (wiped_text != nullptr && memory != nullptr) {
    std::string_view const bytes(static_cast<char const*>(memory), ::malloc_usable_size(memory));
    is_text_freed = is_text_freed || bytes.find(*wiped_text) != std::string_view::npos;
  }
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* const memory = std::calloc(1, size == 0 ? 1 : size)) {
    return memory;
  }
  throw std::bad_alloc();
}

namespace {

using variables = std::map<std::string, std::string>;

tutti::environment read(variables const& set, std::string const& host = "node0", long parent = 4242) {
  std::vector<std::string> texts;
  for (auto const& [name, value] : set) {
    texts.push_back(name + "=" + value);
  }
  std::vector<char const*> pointers;
  for (std::string const& text : texts) {
    pointers.push_back(text.c_str());
  }
  pointers.push_back(nullptr);
  return tutti::detail::read_environment(pointers.data(), parent, host);
}

variables extend(variables base, variables const& more) {
  for (auto const& [name, value] : more) {
    base[name] = value;
  }
  return base;
}

/// The text of the error for these variables; empty if there is none.
std::string complaint(variables const& set) {
  try {
    (void)read(set);
    return {};
  } catch (tutti::error const& e) {
    return e.kind() == tutti::failure::join ? e.what() : "of another kind";
  }
}

void check_complaint(variables const& set, std::vector<std::string> const& words) {
  std::string const text = complaint(set);
  BOOST_TEST(!text.empty());
  for (auto const& w : words) {
    BOOST_TEST(text.find(w) != std::string::npos, "'" << text << "' lacks '" << w << "'");
  }
}

variables const torch{
    {"RANK", "3"},         {"WORLD_SIZE", "8"},      {"LOCAL_RANK", "1"},           {"LOCAL_WORLD_SIZE", "2"},
    {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29400"}, {"TORCHELASTIC_RUN_ID", "run"}};
variables const open_mpi{{"OMPI_COMM_WORLD_RANK", "2"},         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},   {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                         {"PMIX_NAMESPACE", "prterun-n0-77@1"}, {"OMPI_MCA_orte_precondition_transports", "07ff-f77c"}};
variables const mpich{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
variables const slurm{{"SLURM_PROCID", "5"},         {"SLURM_NTASKS", "9"},
                      {"SLURM_STEP_NUM_TASKS", "6"}, {"SLURM_LOCALID", "1"},
                      {"SLURM_JOB_ID", "1234"},      {"SLURM_STEP_ID", "0"},
                      {"SLURM_STEP_NUM_NODES", "3"}, {"SLURM_STEP_NODELIST", "node[08-10]"},
                      {"SLURM_JOB_NODELIST", "x1"}};
variables const user{{"TUTTI_RANK", "1"},
                     {"TUTTI_SIZE", "3"},
                     {"TUTTI_MASTER_ADDR", "host9"},
                     {"TUTTI_MASTER_PORT", "7000"},
                     {"TUTTI_JOB", "mine"}};

}  // namespace

BOOST_AUTO_TEST_CASE(no_launcher_is_a_world_of_one) {
  auto const e = read({{"PATH", "/bin"}});
  BOOST_TEST(e.launcher == "none");
  BOOST_TEST(e.rank == 0U);
  BOOST_TEST(e.size == 1U);
  BOOST_TEST((e.patience == tutti::join_timeout));
}

BOOST_AUTO_TEST_CASE(torchrun_is_read) {
  auto const e = read(torch);
  BOOST_TEST(e.launcher == "torchrun");
  BOOST_TEST(e.rank == 3U);
  BOOST_TEST(e.size == 8U);
  BOOST_TEST(e.local_rank == 1U);
  BOOST_TEST(e.local_size == 2U);
  BOOST_TEST(tutti::detail::net::format(e.master) == "n0:29400");
  BOOST_TEST(e.directory.empty());
  BOOST_TEST(read(extend(torch, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})).master.port == 29401);
  BOOST_TEST(read(extend(torch, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).master.port == 29400);
  BOOST_TEST(tutti::detail::net::format(read(extend(torch, {{"TUTTI_MASTER_ADDR", "n9"}})).master) == "n9:29400");
  BOOST_TEST(tutti::detail::net::format(read(extend(torch, {{"MASTER_ADDR", "fe80::1%eth0"}})).master) ==
             "[fe80::1%eth0]:29400");
  BOOST_TEST(tutti::detail::net::format(read(extend(torch, {{"MASTER_ADDR", "[::1]"}})).master) == "[::1]:29400");
  BOOST_TEST(read(extend(torch, {{"TORCHELASTIC_RUN_ID", "abc"}, {"TORCHELASTIC_RESTART_COUNT", "2"}})).job == "abc.2");
}

BOOST_AUTO_TEST_CASE(open_mpi_on_one_host_meets_through_files_of_the_job) {
  auto const e = read(open_mpi);
  BOOST_TEST(e.launcher == "Open MPI");
  BOOST_TEST(e.rank == 2U);
  BOOST_TEST(e.size == 4U);
  BOOST_TEST(e.local_rank == 2U);
  BOOST_TEST(e.local_size == 4U);
  BOOST_TEST(e.job == "prterun-n0-77@1 07ff-f77c");
  BOOST_TEST(e.directory == "/tmp");
  BOOST_TEST(read(extend(open_mpi, {{"TMPDIR", "/var/tmp"}})).directory == "/var/tmp");
  auto older = open_mpi;
  older.erase("PMIX_NAMESPACE");
  BOOST_TEST(read(extend(older, {{"OMPI_MCA_ess_base_jobid", "4711"}})).job == "4711 07ff-f77c");
}

BOOST_AUTO_TEST_CASE(open_mpi_on_several_hosts_needs_an_address) {
  auto const two_hosts = extend(open_mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
  check_complaint(two_hosts, {"Open MPI", "set TUTTI_MASTER_ADDR"});
  auto const e = read(extend(two_hosts, {{"TUTTI_MASTER_ADDR", "10.0.0.5"}}));
  BOOST_TEST(e.launcher == "Open MPI");
  BOOST_TEST(e.master.host == "10.0.0.5");
  BOOST_TEST(e.master.port >= 12000);
  BOOST_TEST(e.master.port < 29000);
  BOOST_TEST(read(extend(two_hosts, {{"SLURM_JOB_NODELIST", "x[3-4]"}})).master.host == "x3");
}

BOOST_AUTO_TEST_CASE(mpich_on_one_host_meets_through_files_of_the_parent) {
  auto const e = read(mpich);
  BOOST_TEST(e.launcher == "MPICH");
  BOOST_TEST(e.rank == 1U);
  BOOST_TEST(e.size == 2U);
  BOOST_TEST(e.local_rank == 1U);
  BOOST_TEST(e.local_size == 2U);
  BOOST_TEST(e.directory == "/tmp");
  BOOST_TEST(e.job.starts_with("parent 4242 "));
  check_complaint({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, {"MPICH", "set TUTTI_MASTER_ADDR"});
}

BOOST_AUTO_TEST_CASE(slurm_meets_at_the_first_node_of_the_step) {
  auto const e = read(slurm);
  BOOST_TEST(e.launcher == "Slurm");
  BOOST_TEST(e.rank == 5U);
  BOOST_TEST(e.size == 6U);  // the size of the step, not of the job
  BOOST_TEST(e.local_rank == 1U);
  BOOST_TEST(e.job == "1234.0");
  BOOST_TEST(e.master.host == "node08");
  BOOST_TEST(e.master.port == read(extend(slurm, {{"SLURM_PROCID", "0"}})).master.port);
  BOOST_TEST(e.master.port != read(extend(slurm, {{"SLURM_STEP_ID", "1"}})).master.port);
  BOOST_TEST(!read(extend(slurm, {{"SLURM_STEP_NUM_NODES", "1"}})).directory.empty());
  check_complaint(extend(slurm, {{"SLURM_STEP_NODELIST", "node[8"}}),
                  {"SLURM_STEP_NODELIST=node[8", "TUTTI_MASTER_ADDR"});
  auto older = slurm;
  older.erase("SLURM_STEP_NUM_TASKS");
  BOOST_TEST(read(older).size == 9U);
}

BOOST_AUTO_TEST_CASE(a_batch_script_of_slurm_is_no_rank) {
  auto batch = slurm;
  batch.erase("SLURM_STEP_ID");
  BOOST_TEST(read(batch).size == 1U);
}

BOOST_AUTO_TEST_CASE(a_batch_script_of_several_tasks_gives_advice) {
  variables const batch{{"SLURM_JOB_ID", "1234"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}};
  auto const e = read(batch);
  BOOST_TEST(e.size == 1U);
  BOOST_TEST(e.advice.find("SLURM_NTASKS=4") != std::string::npos);
  BOOST_TEST(e.advice.find("by srun") != std::string::npos);
  BOOST_TEST(read(extend(batch, {{"SLURM_NTASKS", "1"}})).advice.empty());
  BOOST_TEST(read(extend(batch, user)).advice.find("by srun") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_rank_may_be_the_number_in_the_name_of_its_host) {
  variables const set = extend(user, {{"TUTTI_RANK", "hostname"}, {"TUTTI_SIZE", "20"}});
  BOOST_TEST(read(set, "worker-2").rank == 2U);
  BOOST_TEST(read(set, "worker-17.ranks.default.svc.cluster.local").rank == 17U);
  BOOST_TEST(read(set, "7").rank == 7U);
  try {
    (void)read(set, "worker-2-a");
    BOOST_ERROR("a name without a number was taken");
  } catch (tutti::error const& e) {
    std::string const text = e.what();
    BOOST_TEST(text.find("worker-2-a") != std::string::npos);
    BOOST_TEST(text.find("set TUTTI_RANK") != std::string::npos);
  }
  try {
    (void)read(set, "worker-20");
    BOOST_ERROR("a rank beyond the world was taken");
  } catch (tutti::error const& e) {
    BOOST_TEST(std::string(e.what()).find("TUTTI_SIZE=20") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(what_the_user_sets_wins_over_every_launcher) {
  for (auto const& launcher : {torch, open_mpi, mpich, slurm}) {
    auto const e = read(extend(launcher, user));
    BOOST_TEST(e.launcher == "TUTTI_*");
    BOOST_TEST(e.rank == 1U);
    BOOST_TEST(e.size == 3U);
    BOOST_TEST(tutti::detail::net::format(e.master) == "host9:7000");
    auto const address = read(extend(launcher, {{"TUTTI_MASTER_ADDR", "host9"}, {"TUTTI_MASTER_PORT", "7000"}}));
    BOOST_TEST(address.launcher != "TUTTI_*");
    BOOST_TEST(tutti::detail::net::format(address.master) == "host9:7000");
    BOOST_TEST(address.directory.empty());
    auto const file = read(extend(launcher, {{"TUTTI_STORE", "file:/scratch/x"}}));
    BOOST_TEST(file.directory == "/scratch/x");
    BOOST_TEST(file.master.host.empty());
  }
  auto const e = read(extend(user, {{"TUTTI_TIMEOUT", "0.25"},
                                    {"TUTTI_INTERFACE", "ib0"},
                                    {"TUTTI_NODE", "rack 3"},
                                    {"TUTTI_JOB", "j"},
                                    {"TUTTI_DUMPS", "/shared/run 7"},
                                    {"TUTTI_LOCAL_RANK", "0"},
                                    {"TUTTI_LOCAL_SIZE", "2"}}));
  BOOST_TEST((e.patience == 250ms));
  BOOST_TEST(e.network_interface == "ib0");
  BOOST_TEST(e.node == "rack 3");
  BOOST_TEST(e.job == "j");
  BOOST_TEST(e.dumps == "/shared/run 7");
  BOOST_TEST(read(user).dumps.empty());
  BOOST_TEST(e.local_rank == 0U);
  BOOST_TEST(e.local_size == 2U);
  BOOST_TEST((read(extend(user, {{"TUTTI_TIMEOUT", "90"}})).patience == 90s));
  check_complaint(extend(open_mpi, {{"TUTTI_STORE", "tcp"}}), {"set TUTTI_MASTER_ADDR"});
}

BOOST_AUTO_TEST_CASE(torchrun_inside_slurm_wins_over_slurm) {
  BOOST_TEST(read(extend(slurm, torch)).launcher == "torchrun");
  variables const hydra{{"MPI_LOCALNRANKS", "1"}, {"MPI_LOCALRANKID", "0"}, {"TUTTI_JOB", "j"}};
  BOOST_TEST(read(extend(extend(slurm, mpich), hydra)).master.host == "node08");
}

BOOST_AUTO_TEST_CASE(hosts_give_size_role_and_rendezvous) {
  variables const hosts{{"TUTTI_HOSTS", "ps:0=a:7000,worker:0=b:7001,worker:1=c:7002"}, {"TUTTI_JOB", "j"}};
  auto const e = read(extend(hosts, {{"TUTTI_RANK", "2"}}));
  BOOST_TEST(e.size == 3U);
  BOOST_TEST(e.rank == 2U);
  BOOST_TEST(e.role == "worker:1");
  BOOST_TEST(tutti::detail::net::format(e.master) == "a:7000");
  BOOST_TEST(read(extend(extend(torch, hosts), {{"TUTTI_RANK", "0"}})).role == "ps:0");
  check_complaint(extend(hosts, {{"TUTTI_RANK", "3"}}), {"TUTTI_RANK=3", "the 3 that TUTTI_HOSTS names"});
  check_complaint(extend(hosts, {{"TUTTI_RANK", "0"}, {"TUTTI_SIZE", "4"}}), {"TUTTI_SIZE=4", "names 3"});
  check_complaint({{"TUTTI_HOSTS", "file:/no/such/list"}}, {"/no/such/list", "No such file"});
  auto const local = read({{"TUTTI_HOSTS", "worker:4=127.0.0.1:7000,192.0.2.9:7000"}, {"TUTTI_JOB", "j"}});
  BOOST_TEST(local.rank == 0U);
  BOOST_TEST(local.role == "worker:4");
}

/// Jobs that may meet at the same place have different names; without one, the error asks for it.
BOOST_AUTO_TEST_CASE(ranks_of_two_jobs_are_told_apart_or_asked_for_a_name) {
  struct difference {
    char const* kind;
    variables first;
    variables second;
  };
  auto const erase = [](variables base, char const* name) {
    base.erase(name);
    return base;
  };
  difference const differences[] = {
      {"keys of mpirun", open_mpi, extend(open_mpi, {{"OMPI_MCA_orte_precondition_transports", "aaaa-bbbb"}})},
      {"restarts of torchrun", extend(torch, {{"TORCHELASTIC_RESTART_COUNT", "0"}}),
       extend(torch, {{"TORCHELASTIC_RESTART_COUNT", "1"}})},
      {"runs of torchrun", torch, extend(torch, {{"TORCHELASTIC_RUN_ID", "b"}})},
      {"clusters", extend(slurm, {{"SLURM_CLUSTER_NAME", "a"}}), extend(slurm, {{"SLURM_CLUSTER_NAME", "b"}})},
      {"jobs of Slurm", slurm, extend(slurm, {{"SLURM_JOB_ID", "1235"}})},
      {"steps", slurm, extend(slurm, {{"SLURM_STEP_ID", "1"}})},
      {"attempts of Slurm", slurm, extend(slurm, {{"SLURM_RESTART_COUNT", "1"}})},
      {"names by hand", user, extend(user, {{"TUTTI_JOB", "other"}})}};
  for (difference const& d : differences) {
    BOOST_TEST(read(d.first).job != read(d.second).job, d.kind);
  }
  BOOST_TEST(read(mpich, "node0", 4242).job != read(mpich, "node0", 4243).job);
  auto const by_hand = erase(user, "TUTTI_JOB");
  auto const by_rank_alone = erase(torch, "TORCHELASTIC_RUN_ID");
  auto const called_none = extend(torch, {{"TORCHELASTIC_RUN_ID", "none"}});
  auto const mpi_over_hosts =
      extend(erase(open_mpi, "OMPI_MCA_orte_precondition_transports"),
             {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"TUTTI_MASTER_ADDR", "n0"}});
  variables const over_hosts =
      extend(mpich, {{"MPI_LOCALNRANKS", "1"}, {"MPI_LOCALRANKID", "0"}, {"TUTTI_MASTER_ADDR", "n0"}});
  variables const at_place{{"TUTTI_STORE", "file:/scratch/x"}};
  for (auto const& set :
       {by_hand, extend(by_hand, at_place), by_rank_alone, called_none, over_hosts, extend(over_hosts, at_place),
        mpi_over_hosts, erase(open_mpi, "PMIX_NAMESPACE"), extend(extend(slurm, over_hosts), {{"SLURM_STEP_ID", "3"}}),
        variables{{"TUTTI_HOSTS", "127.0.0.1:7000,192.0.2.9:7000"}}}) {
    check_complaint(set, {"nothing tells the ranks of this job from those of another", "set TUTTI_JOB"});
    BOOST_TEST(complaint(extend(set, {{"TUTTI_JOB", "j"}})) == "");
  }
  // A process whose parent has ended is adopted by process 1, and so may be processes of several jobs.
  for (long const parent : {0L, 1L}) {
    BOOST_CHECK_EXCEPTION((void)read(mpich, "node0", parent), tutti::error, [](tutti::error const& e) {
      return std::string_view(e.what()).find("set TUTTI_JOB") != std::string_view::npos;
    });
  }
  // Without a key, mpirun of Open MPI names a job after its own process: unique on this system, in this process
  // namespace.
  auto const open_mpi_without_key = erase(open_mpi, "OMPI_MCA_orte_precondition_transports");
  BOOST_TEST(read(open_mpi_without_key).job.starts_with("prterun-n0-77@1 "));
  BOOST_TEST(read(open_mpi_without_key).job.substr(16) == read(mpich).job.substr(12));
  // torchrun names every job without --rdzv-id "none": the ranks of one host are children of one process.
  auto const on_one_host = extend(called_none, {{"LOCAL_WORLD_SIZE", "8"}, {"LOCAL_RANK", "3"}});
  BOOST_TEST(read(on_one_host, "node0", 4242).job == read(mpich, "node0", 4242).job);
  BOOST_TEST(read(on_one_host, "node0", 4242).job != read(on_one_host, "node0", 4243).job);
  BOOST_TEST(read({{"TUTTI_RANK", "0"}, {"TUTTI_SIZE", "1"}}).job == "");  // a world of one meets no other rank
}

BOOST_AUTO_TEST_CASE(contradictions_are_named_with_their_values) {
  check_complaint(extend(user, {{"TUTTI_RANK", "3"}}), {"TUTTI_RANK=3", "TUTTI_SIZE=3"});
  check_complaint(extend(user, {{"TUTTI_RANK", "-1"}}), {"TUTTI_RANK=-1", "must be a number"});
  check_complaint(extend(user, {{"TUTTI_SIZE", "4x"}}), {"TUTTI_SIZE=4x", "must be a number"});
  check_complaint(extend(user, {{"TUTTI_SIZE", "99999999999"}}), {"TUTTI_SIZE=99999999999"});
  check_complaint({{"TUTTI_RANK", "0"}, {"TUTTI_SIZE", "0"}}, {"TUTTI_SIZE=0"});
  check_complaint({{"TUTTI_RANK", "1"}}, {"TUTTI_RANK=1 is set, but TUTTI_SIZE is not"});
  check_complaint({{"TUTTI_SIZE", "2"}}, {"TUTTI_SIZE=2 is set, but TUTTI_RANK is not"});
  check_complaint({{"WORLD_SIZE", "2"}}, {"WORLD_SIZE=2 is set, but RANK is not"});
  check_complaint({{"PMI_SIZE", "2"}}, {"PMI_SIZE=2 is set, but PMI_RANK is not"});
  check_complaint(extend(torch, {{"RANK", "8"}}), {"RANK=8", "WORLD_SIZE=8"});
  check_complaint(extend(torch, {{"LOCAL_RANK", "2"}}), {"LOCAL_RANK=2", "2"});
  check_complaint(extend(torch, {{"LOCAL_WORLD_SIZE", "9"}}), {"LOCAL_WORLD_SIZE=9", "8"});
  check_complaint(extend(torch, {{"MASTER_PORT", "port"}}), {"MASTER_PORT=port"});
  check_complaint(extend(user, {{"TUTTI_MASTER_PORT", "65536"}}), {"TUTTI_MASTER_PORT=65536"});
  check_complaint(extend(user, {{"TUTTI_MASTER_PORT", "0"}}), {"TUTTI_MASTER_PORT=0"});
  check_complaint(extend(user, {{"TUTTI_MASTER_ADDR", "n9:7000"}}), {"TUTTI_MASTER_ADDR=n9:7000", "TUTTI_MASTER_PORT"});
  check_complaint(extend(torch, {{"MASTER_ADDR", "[::1]:7000"}}), {"MASTER_ADDR=[::1]:7000"});
  check_complaint(extend(user, {{"TUTTI_STORE", "redis"}}), {"TUTTI_STORE=redis"});
  check_complaint(extend(user, {{"TUTTI_STORE", "file:"}}), {"TUTTI_STORE=file:"});
  for (char const* time : {"0", "-1", "1e3", "soon", "1.5.2", "99999999", ".", "0.0001"}) {
    check_complaint(extend(user, {{"TUTTI_TIMEOUT", time}}), {std::string("TUTTI_TIMEOUT=") + time});
  }
  check_complaint({{"TUTTI_RANK", "0"}, {"TUTTI_SIZE", "2"}}, {"set TUTTI_MASTER_ADDR"});
  // An incomplete set of one launcher's variables does not hide a complete set of another's.
  BOOST_TEST(read(extend(open_mpi, {{"WORLD_SIZE", "2"}})).launcher == "Open MPI");
  // An empty variable counts as unset.
  BOOST_TEST(read({{"TUTTI_RANK", ""}, {"RANK", ""}}).size == 1U);
}

namespace {

/// A temporary file with a text, which is a secret unless a test says otherwise.
struct secret_file {
  explicit secret_file(std::string const& text = "a text that nobody else knows\n") {
    char name[] = "/tmp/tutti-test-XXXXXX";
    int const file = ::mkstemp(name);
    BOOST_REQUIRE(file >= 0);
    ::close(file);
    path = name;
    std::ofstream(path) << text;
  }
  secret_file(secret_file const&) = delete;
  secret_file& operator=(secret_file const&) = delete;
  ~secret_file() { std::filesystem::remove(path); }

  [[nodiscard]] variables settings(mode_t mode) const {
    BOOST_REQUIRE(::chmod(path.c_str(), mode) == 0);
    return extend(user, {{"TUTTI_SECRET_FILE", path}});
  }

  std::string path;
};

bool equal(tutti::world_secret const& a, tutti::world_secret const& b) {
  return a && b && std::ranges::equal(a.key(), b.key());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_and_a_variable_of_one_text_give_one_secret) {
  secret_file const file;
  auto const in_variable = read(extend(user, {{"TUTTI_SECRET", "a text that nobody else knows"}})).secret;
  BOOST_TEST(equal(read(file.settings(0600)).secret, in_variable));
  BOOST_TEST(equal(read(file.settings(0400)).secret, in_variable));
  BOOST_TEST(!equal(read(extend(user, {{"TUTTI_SECRET", "another text, as long as it"}})).secret, in_variable));
  BOOST_TEST(!read(user).secret);
  check_complaint(extend(file.settings(0600), {{"TUTTI_SECRET", "a text that nobody else knows"}}),
                  {"TUTTI_SECRET_FILE and TUTTI_SECRET are both set"});
}

/// The environment of the process has the text for as long as the process lives; no other memory keeps it.
BOOST_AUTO_TEST_CASE(a_secret_is_in_no_memory_that_is_freed) {
  std::string_view const text = "a text that nobody else knows";
  secret_file const file;
  std::string const in_variable = "TUTTI_SECRET=" + std::string(text);
  std::string const in_file = "TUTTI_SECRET_FILE=" + file.path;
  BOOST_REQUIRE(::chmod(file.path.c_str(), 0600) == 0);
  for (std::string const& variable : {in_variable, in_file}) {
    char const* const set[] = {"TUTTI_RANK=0", "TUTTI_SIZE=1", variable.c_str(), nullptr};
    is_text_freed = false;
    wiped_text = &text;
    bool const has_secret = static_cast<bool>(tutti::detail::read_environment(set, 1, "node0").secret);
    wiped_text = nullptr;
    BOOST_TEST(has_secret);
    BOOST_TEST(!is_text_freed, variable);
  }
}

BOOST_AUTO_TEST_CASE(secret_files_that_others_may_read_or_write_are_refused) {
  secret_file const file;
  for (auto const& [mode, reason] :
       {std::pair<mode_t, char const*>{0604, "may read"}, {0602, "may write"}, {0620, "may write"}, {0666, "may"}}) {
    check_complaint(file.settings(mode), {file.path, "is not safe: other users " + std::string(reason), "chmod 600"});
  }
  bool const is_root = ::geteuid() == 0;
  BOOST_TEST((complaint(file.settings(0440)) == "") == is_root);  // root gives a file to a group
  if (is_root) {
    BOOST_REQUIRE(::chown(file.path.c_str(), 65534, 65534) == 0);
    check_complaint(file.settings(0600), {"it belongs to another user"});
  }
  check_complaint(extend(user, {{"TUTTI_SECRET_FILE", "/"}}), {"it is not a regular file"});
  check_complaint(extend(user, {{"TUTTI_SECRET_FILE", "/no/such/file"}}), {"'/no/such/file'", "No such file"});
  check_complaint(secret_file(std::string(5000, 'x')).settings(0600), {"longer than 4096 bytes"});
}

/// No mistake in a variable makes a world without a secret.
BOOST_AUTO_TEST_CASE(short_secrets_are_refused_with_the_command_that_makes_one) {
  for (char const* const text : {"", "fifteen letters"}) {
    check_complaint(extend(user, {{"TUTTI_SECRET", text}}), {"TUTTI_SECRET has", "16 or more", "/dev/urandom"});
    check_complaint(secret_file(std::string(text) + "\n").settings(0600), {"the secret file '", "16 or more"});
  }
  check_complaint(extend(user, {{"TUTTI_SECRET_FILE", ""}}), {"the secret file ''"});
}

BOOST_AUTO_TEST_CASE(a_program_without_a_library_refuses_a_secret) {
  auto const* const hash = std::exchange(tutti::detail::net::registered_hash, nullptr);
  check_complaint(extend(user, {{"TUTTI_SECRET", "sixteen or more letters"}}), {"include <tutti/secure.hpp>"});
  BOOST_TEST(complaint(user) == "");
  tutti::detail::net::registered_hash = hash;
}

BOOST_AUTO_TEST_CASE(a_secret_may_be_required) {
  variables const strict = extend(user, {{"TUTTI_SECRET_REQUIRED", "1"}});
  check_complaint(strict, {"TUTTI_SECRET_REQUIRED=1", "there is no secret", "/dev/urandom"});
  BOOST_TEST(complaint(extend(strict, {{"TUTTI_SECRET", "sixteen or more letters"}})) == "");
  BOOST_TEST(complaint(extend(user, {{"TUTTI_SECRET_REQUIRED", "0"}})) == "");
  BOOST_TEST(complaint({{"TUTTI_SECRET_REQUIRED", "1"}}) == "");  // a world of one meets no other rank
  check_complaint(extend(user, {{"TUTTI_SECRET_REQUIRED", "yes"}}), {"TUTTI_SECRET_REQUIRED=yes", "0 or 1"});
}

BOOST_AUTO_TEST_CASE(a_world_that_strangers_may_join_is_advised) {
  auto const has_advice = [](variables const& set) {
    return read(set).advice.find("strangers may join") != std::string::npos;
  };
  BOOST_TEST(has_advice(user));
  BOOST_TEST(has_advice(slurm));
  BOOST_TEST(has_advice(extend(user, {{"TUTTI_STORE", "file:/tmp"}})));  // ranks of other hosts listen to all
  BOOST_TEST(!has_advice(extend(user, {{"TUTTI_SECRET", "sixteen or more letters"}})));
  BOOST_TEST(!has_advice(open_mpi));  // through files of one host
  for (char const* const host : {"localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"}) {
    BOOST_TEST(!has_advice(extend(user, {{"TUTTI_MASTER_ADDR", host}})), host);
    BOOST_TEST(has_advice(extend(user, {{"TUTTI_MASTER_ADDR", host}, {"TUTTI_INTERFACE", "eth0"}})), host);
  }
  BOOST_TEST(has_advice(extend(open_mpi, {{"TUTTI_INTERFACE", "eth0"}})));
  BOOST_TEST(!has_advice({{"TUTTI_RANK", "0"}, {"TUTTI_SIZE", "1"}}));
}
