// SPDX-License-Identifier: Apache-2.0
#include <weak/explorer.hpp>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <ucontext.h>
#include <utility>

extern "C" {
void* __real_memcpy(void*, void const*, std::size_t);
void* __real_memmove(void*, void const*, std::size_t);
void* __real_memset(void*, int, std::size_t);
}

namespace weak {
namespace {

// Limits of a program. All but the last one are checked.
constexpr std::size_t pool_bytes = std::size_t{1} << 20;
constexpr std::size_t thread_pool_bytes = pool_bytes / 16;  ///< at the end of the pool, for each thread
constexpr std::size_t max_places = 128;
constexpr std::size_t max_messages = 64;
constexpr std::size_t max_choices = 1 << 14;
constexpr std::size_t stack_bytes = std::size_t{1} << 18;

constexpr std::size_t granule = 4;  ///< unit in which races are looked for: bytes in one belong together

/// A view of memory: the position of the newest store to each place that its owner must not read behind, and the
/// clocks of all threads up to which everything happens before it.
struct view {
  std::array<std::uint8_t, max_places> newest{};
  std::array<std::uint32_t, max_threads> clock{};
};

/// A store, in the modification order of its place.
struct message {
  std::uint64_t value;
  view release_view;  ///< joined by loads that acquire
  bool is_update;     ///< directly behind the store that it has read
  std::uint64_t digest;
};

/// A word that is accessed atomically. Its number is the same in all executions of a program.
struct place {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  std::uint32_t readers = 0;  ///< a bit for each thread, over all executions
  std::uint32_t writers = 0;
  bool is_contested = false;  ///< one thread writes it, another one accesses it
  // State of one execution
  std::size_t count = 0;    ///< messages; 0 before the first access
  bool is_pending = false;  ///< the last message is a plain store, whose value is in memory
  std::array<message, max_messages> messages;
};

/// The plain and atomic accesses to a granule, by the clocks of threads.
struct shadow {
  std::uint32_t writer = 0;
  std::uint32_t write = 0;
  std::array<std::uint32_t, max_threads> reads{};
  std::array<std::uint32_t, max_threads> atomics{};
};

struct thread {
  ucontext_t begin{};
  std::jmp_buf state;
  std::byte* stack = nullptr;
  std::byte* free = nullptr;  ///< memory left in its part of the pool
  bool has_begun = false;
  bool has_ended = false;
  enum { running, sleeping, polling } activity = running;
  enum { unused, granted, exhausted } refresh = unused;  ///< a last look at all stores, when no thread can run
  unsigned writes_seen = 0;
  unsigned rings = 0;
  view current, acquired, released;  ///< its own; joined by acquire fences; left by release fences
  std::uint64_t past = 0;            ///< hash of all that it has read: together with its views, its whole state
  std::uint64_t reads = 0;           ///< hash of what it has read since it last yielded
  std::uint64_t yielded_reads = 0;
  std::uint64_t yielded_past = 0;
};

struct choice {
  int index;
  int alternatives;
};

/// A set of hashes.
class hash_set {
 public:
  void clear() noexcept {
    count_ = 0;
    std::fill_n(slots_, size_, 0);
  }
  /// Returns false if it was there.
  bool insert(std::uint64_t hash) {
    hash |= 1;
    if (count_ * 2 >= size_) {
      grow();
    }
    std::uint64_t* slot = &slots_[hash >> 1 & (size_ - 1)];
    while (*slot != 0 && *slot != hash) {
      slot = slot + 1 == slots_ + size_ ? slots_ : slot + 1;
    }
    bool const is_new = *slot == 0;
    *slot = hash;
    count_ += is_new ? 1 : 0;
    return is_new;
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  void grow() {
    std::uint64_t* const old = slots_;
    std::size_t const old_size = size_;
    size_ = size_ == 0 ? 1 << 12 : size_ * 2;
    slots_ = static_cast<std::uint64_t*>(std::calloc(size_, sizeof *slots_));
    count_ = 0;
    for (std::size_t i = 0; i < old_size; ++i) {
      if (old[i] != 0) {
        insert(old[i]);
      }
    }
    std::free(old);
  }

  std::uint64_t* slots_ = nullptr;
  std::size_t size_ = 0;
  std::size_t count_ = 0;
};

alignas(4096) std::byte pool[pool_bytes];
std::byte saved_pool[pool_bytes];
std::size_t setup_bytes = 0;
bool is_setting_up = false;
std::uint8_t place_numbers[pool_bytes];  ///< number of the place at an address plus one
shadow shadows[pool_bytes / granule];
std::size_t used_shadows[pool_bytes / granule];
std::size_t used_shadow_count = 0;
place places[max_places];
std::size_t place_count = 0;
thread threads[max_threads];
int thread_count = 0;
scenario* world = nullptr;
view fences;  ///< joined by all sequentially consistent fences
std::uint64_t messages_digest = 0;
std::uint64_t writes_digest = 0;  ///< sum over all plain writes
unsigned write_count = 0;
int self = -1;  ///< the running thread
std::jmp_buf home;
choice choices[max_choices];
std::size_t choice_count = 0;
std::size_t depth = 0;  ///< choices made in this execution
hash_set states;        ///< states from which everything has been seen, or will be
bool has_new_contention = false;
char const* failure_text = nullptr;
mutation const* weaker_sites = nullptr;
std::vector<site>* found_sites = nullptr;

[[noreturn]] void stop(char const* reason) {
  std::fprintf(stderr, "weak: %s\n", reason);
  std::abort();
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29);
}
std::uint64_t mix(std::uint64_t hash, view const& v) noexcept {
  for (std::size_t i = 0; i < place_count; i += 8) {
    std::uint64_t word;
    __builtin_memcpy(&word, v.newest.data() + i, sizeof word);
    hash = mix(hash, word);
  }
  for (std::uint32_t const c : v.clock) {
    hash = mix(hash, c);
  }
  return hash;
}

void join_places(view& target, view const& other) noexcept {
  for (std::size_t i = 0; i < max_places; ++i) {
    target.newest[i] = target.newest[i] < other.newest[i] ? other.newest[i] : target.newest[i];
  }
}
void join(view& target, view const& other) noexcept {
  join_places(target, other);
  for (std::size_t i = 0; i < max_threads; ++i) {
    target.clock[i] = target.clock[i] < other.clock[i] ? other.clock[i] : target.clock[i];
  }
}
/// True if a thread with view `other` knows all that `v` demands.
bool is_part(view const& v, view const& other, std::size_t exempt_place) noexcept {
  for (std::size_t i = 0; i < place_count; ++i) {
    if (i != exempt_place && v.newest[i] > other.newest[i]) {
      return false;
    }
  }
  for (std::size_t i = 0; i < max_threads; ++i) {
    if (v.clock[i] > other.clock[i]) {
      return false;
    }
  }
  return true;
}

int choose(int alternatives) {
  if (alternatives == 1) {
    return 0;
  }
  if (depth == choice_count) {
    if (choice_count == max_choices) {
      stop("an execution has too many choices");
    }
    choices[choice_count++] = {0, alternatives};
  }
  if (choices[depth].alternatives != alternatives) {
    stop("an execution does not repeat itself: a scenario keeps state outside its memory");
  }
  return choices[depth++].index;
}

[[noreturn]] void end_execution() {
  self = -1;
  _longjmp(home, 1);
}
[[noreturn]] void fail(char const* text) {
  failure_text = text;
  end_execution();
}

bool is_watched(void const* p) noexcept {
  auto const* const address = static_cast<std::byte const*>(p);
  return self >= 0 && address >= pool && address < pool + pool_bytes;
}

// Threads

bool can_run(thread const& t) noexcept {
  if (t.has_ended || t.activity == thread::running) {
    return !t.has_ended;
  }
  return t.activity == thread::sleeping ? t.rings != 0 : write_count != t.writes_seen || t.refresh == thread::granted;
}

/// Hash of all on which the rest of an execution depends.
std::uint64_t state() noexcept {
  std::uint64_t hash = mix(mix(messages_digest, writes_digest), fences);
  for (int i = 0; i < thread_count; ++i) {
    thread const& t = threads[i];
    hash = mix(mix(mix(mix(hash, t.past), t.current), t.acquired), t.released);
    hash = mix(mix(hash, t.rings),
               (static_cast<unsigned>(t.refresh) * 2U + (can_run(t) ? 1U : 0U)) * 2U + (t.has_ended ? 1U : 0U));
  }
  return mix(hash, static_cast<std::uint64_t>(self));
}

[[noreturn]] void jump(int next) {
  self = next;
  thread& t = threads[next];
  if (!t.has_begun) {
    t.has_begun = true;
    ::setcontext(&t.begin);
    stop("setcontext failed");
  }
  _longjmp(t.state, 1);
}
void switch_to(int next) {
  if (next != self && _setjmp(threads[self].state) == 0) {
    jump(next);
  }
}

/// Lets any thread continue.
void step() {
  if (depth == choice_count && !states.insert(state())) {
    end_execution();
  }
  int candidates[max_threads] = {self};
  int count = 1;
  for (int i = 0; i < thread_count; ++i) {
    if (i != self && can_run(threads[i])) {
      candidates[count++] = i;
    }
  }
  switch_to(candidates[choose(count)]);
}

/// The next thread, if the running one waits or has ended.
int next_thread() {
  for (;;) {
    int candidates[max_threads];
    int count = 0;
    bool has_refreshed = false;
    bool all_ended = true;
    for (int i = 0; i < thread_count; ++i) {
      all_ended = all_ended && threads[i].has_ended;
      if (can_run(threads[i])) {
        candidates[count++] = i;
      }
    }
    if (count != 0) {
      return candidates[choose(count)];
    }
    if (all_ended) {
      self = -1;
      world->finish();
      end_execution();
    }
    // Stores become visible in the end.
    for (int i = 0; i < thread_count; ++i) {
      thread& t = threads[i];
      if (!t.has_ended && t.activity == thread::polling && t.refresh == thread::unused) {
        t.refresh = thread::granted;
        has_refreshed = true;
        for (std::size_t l = 0; l < place_count; ++l) {
          t.current.newest[l] = static_cast<std::uint8_t>(places[l].count == 0 ? 0 : places[l].count - 1);
        }
      }
    }
    if (!has_refreshed) {
      fail("a thread waits for ever");
    }
  }
}

void run_thread() {
  world->run(self);
  threads[self].has_ended = true;
  int const next = next_thread();
  jump(next);
}

void note_read(thread& t, std::uint64_t value) noexcept {
  t.past = mix(t.past, value + 1);
  t.reads = mix(t.reads, value + 1);
}

// Memory

bool acquires(int order) noexcept {
  return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
         order == __ATOMIC_SEQ_CST;
}
bool releases(int order) noexcept {
  return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

/// The order of an instruction, which a mutation may have weakened.
int order_at(void const* address, int order) noexcept {
  if (weaker_sites != nullptr) {
    for (void const* const weaker : weaker_sites->addresses) {
      if (weaker == address) {
        return weaker_sites->order;
      }
    }
  }
  return order;
}
/// Notes an instruction that orders memory.
void note_site(void const* address, operation_kind kind, int order) {
  if (found_sites == nullptr || order == __ATOMIC_RELAXED || address == nullptr) {
    return;
  }
  for (site const& s : *found_sites) {
    if (s.address == address) {
      return;
    }
  }
  int const running = std::exchange(self, -1);  // the list is not memory of the program
  found_sites->push_back({address, kind, order});
  self = running;
}

std::uint64_t digest_of(std::size_t l, std::size_t position) noexcept {
  message const& m = places[l].messages[position];
  return mix(mix(mix(l, position * 2 + (m.is_update ? 1 : 0)), m.value), m.release_view);
}
void update_digest(std::size_t l, std::size_t position) noexcept {
  message& m = places[l].messages[position];
  messages_digest -= m.digest;
  m.digest = digest_of(l, position);
  messages_digest += m.digest;
}

/// Makes room for a message at a position.
void shift(std::size_t l, std::size_t position) {
  place& target = places[l];
  for (std::size_t i = target.count; i > position; --i) {
    target.messages[i] = target.messages[i - 1];
  }
  target.messages[position].digest = 0;
  auto const move = [&](view& v) {
    if (v.newest[l] >= position) {
      ++v.newest[l];
    }
  };
  for (int i = 0; i < thread_count; ++i) {
    move(threads[i].current);
    move(threads[i].acquired);
    move(threads[i].released);
  }
  move(fences);
  ++target.count;
  for (std::size_t other = 0; other < place_count; ++other) {
    for (std::size_t i = 0; i < places[other].count; ++i) {
      if (other != l || i != position) {
        move(places[other].messages[i].release_view);
        update_digest(other, i);
      }
    }
  }
}

void add_message(std::size_t l, std::size_t position, std::uint64_t value, int order, message const* read) {
  place& target = places[l];
  thread& t = threads[self];
  if (target.count == max_messages) {
    stop("a place has too many stores");
  }
  view release_view = releases(order) ? t.current : t.released;
  if (read != nullptr) {
    join(release_view, read->release_view);  // the release sequence continues
  }
  if (position != target.count) {
    shift(l, position);
    // The view was copied before positions moved.
    if (release_view.newest[l] >= position) {
      ++release_view.newest[l];
    }
  } else {
    ++target.count;
    target.messages[position].digest = 0;
    __real_memcpy(target.address, &value, target.bytes);
  }
  release_view.newest[l] = static_cast<std::uint8_t>(position);
  t.current.newest[l] = static_cast<std::uint8_t>(position);
  message& m = target.messages[position];
  m.value = value;
  m.release_view = release_view;
  m.is_update = read != nullptr;
  update_digest(l, position);
  if (releases(order)) {
    ++t.current.clock[static_cast<std::size_t>(self)];
  }
  ++write_count;
}

/// The place of an atomic access.
std::size_t locate(void* p, std::size_t bytes) {
  auto* const address = static_cast<std::byte*>(p);
  std::uint8_t& number = place_numbers[address - pool];
  if (number == 0) {
    if (place_count == max_places) {
      stop("a program has too many atomic words");
    }
    place& fresh = places[place_count++];
    fresh.address = address;
    fresh.bytes = bytes;
    fresh.readers = 0;
    fresh.writers = 0;
    fresh.is_contested = false;
    fresh.count = 0;
    number = static_cast<std::uint8_t>(place_count);
  }
  std::size_t const l = number - 1U;
  place& target = places[l];
  if (target.bytes != bytes) {
    stop("a word is accessed with two sizes");
  }
  if (target.count == 0) {
    target.count = 1;
    target.is_pending = true;
    message& first = target.messages[0];
    first.value = 0;
    first.release_view = {};
    first.is_update = false;
    first.digest = 0;
  }
  if (target.is_pending) {
    target.is_pending = false;
    std::size_t const last = target.count - 1;
    target.messages[last].value = 0;
    __real_memcpy(&target.messages[last].value, target.address, bytes);
    update_digest(l, last);
  }
  return l;
}

shadow& shadow_at(std::size_t index) {
  shadow& s = shadows[index];
  bool is_unused = s.write == 0;
  for (std::size_t i = 0; i < max_threads; ++i) {
    is_unused = is_unused && s.reads[i] == 0 && s.atomics[i] == 0;
  }
  if (is_unused) {
    used_shadows[used_shadow_count++] = index;
  }
  return s;
}

/// Notes an atomic access, and lets others go first. An order matters only where threads meet.
std::size_t enter_atomic(void* p, std::size_t bytes, operation_kind kind, int order, void const* caller) {
  bool const writes = kind != operation_kind::load;
  if (order == __ATOMIC_SEQ_CST) {
    stop("sequentially consistent accesses are not modelled, only fences");
  }
  auto const me = static_cast<std::size_t>(self);
  std::uint32_t const bit = 1U << me;
  std::uint8_t const number = place_numbers[static_cast<std::byte*>(p) - pool];
  if (number == 0 || !places[number - 1U].is_contested) {
    place& target = places[number == 0 ? locate(p, bytes) : number - 1U];
    (writes ? target.writers : target.readers) |= bit;
    if ((target.writers & ~bit) != 0 || (writes && (target.readers & ~bit) != 0)) {
      target.is_contested = true;
      has_new_contention = true;
    }
  }
  if (places[place_numbers[static_cast<std::byte*>(p) - pool] - 1U].is_contested) {
    note_site(caller, kind, order);
    step();
  }
  thread& t = threads[self];
  auto const first = static_cast<std::size_t>(static_cast<std::byte*>(p) - pool);
  for (std::size_t i = first / granule; i <= (first + bytes - 1) / granule; ++i) {
    shadow& s = shadow_at(i);
    if (s.write != 0 && t.current.clock[s.writer] < s.write) {
      fail("a race of an atomic access with a plain write");
    }
    for (std::size_t other = 0; writes && other < max_threads; ++other) {
      if (t.current.clock[other] < s.reads[other]) {
        fail("a race of an atomic write with a plain read");
      }
    }
    s.atomics[me] = t.current.clock[me];
  }
  return locate(p, bytes);
}

void receive(thread& t, std::size_t l, std::size_t position, int order) noexcept {
  message const& m = places[l].messages[position];
  t.current.newest[l] = std::max(t.current.newest[l], static_cast<std::uint8_t>(position));
  join(t.acquired, m.release_view);
  if (acquires(order)) {
    join(t.current, m.release_view);
  }
  note_read(t, m.value);
}

std::uint64_t load(void const* address, std::size_t bytes, int order, void const* caller) {
  auto* const p = const_cast<void*>(address);
  if (!is_watched(p)) {
    std::uint64_t value = 0;
    __real_memcpy(&value, p, bytes);
    return value;
  }
  std::size_t const l = enter_atomic(p, bytes, operation_kind::load, order, caller);
  order = order_at(caller, order);
  thread& t = threads[self];
  place const& target = places[l];
  std::size_t candidates[max_messages];
  int count = 0;
  for (std::size_t i = target.count; i-- > t.current.newest[l];) {
    // An older store of the same value that demands no more allows all that this one allows.
    bool is_redundant = false;
    for (std::size_t older = t.current.newest[l]; older < i && !is_redundant; ++older) {
      is_redundant = target.messages[older].value == target.messages[i].value &&
                     is_part(target.messages[older].release_view, target.messages[i].release_view, l);
    }
    if (!is_redundant) {
      candidates[count++] = i;
    }
  }
  std::size_t const position = candidates[choose(count)];
  std::uint64_t const value = target.messages[position].value;
  receive(t, l, position, order);
  return value;
}

void store(void* p, std::size_t bytes, std::uint64_t value, int order, void const* caller) {
  if (!is_watched(p)) {
    __real_memcpy(p, &value, bytes);
    return;
  }
  std::size_t const l = enter_atomic(p, bytes, operation_kind::store, order, caller);
  order = order_at(caller, order);
  place const& target = places[l];
  std::size_t candidates[max_messages + 1];
  int count = 0;
  candidates[count++] = target.count;
  for (std::size_t i = target.count; --i > threads[self].current.newest[l];) {
    if (!target.messages[i].is_update) {
      candidates[count++] = i;
    }
  }
  add_message(l, candidates[choose(count)], value, order, nullptr);
}

/// Updates a word. `next(old, fresh)` returns true if it writes `fresh`.
template <class Next>
std::uint64_t update(void* p, std::size_t bytes, int order, void const* caller, Next&& next) {
  std::uint64_t value = 0;
  std::uint64_t fresh = 0;
  if (!is_watched(p)) {
    __real_memcpy(&value, p, bytes);
    if (next(value, fresh)) {
      __real_memcpy(p, &fresh, bytes);
    }
    return value;
  }
  std::size_t const l = enter_atomic(p, bytes, operation_kind::update, order, caller);
  order = order_at(caller, order);
  thread& t = threads[self];
  place const& target = places[l];
  std::size_t candidates[max_messages];
  int count = 0;
  for (std::size_t i = target.count; i-- > t.current.newest[l];) {
    bool const is_last = i + 1 == target.count;
    if (is_last || !target.messages[i + 1].is_update || !next(target.messages[i].value, fresh)) {
      candidates[count++] = i;
    }
  }
  std::size_t const position = candidates[choose(count)];
  message const read = target.messages[position];
  bool const writes = next(read.value, fresh);
  // An update that fails is a load.
  receive(t, l, position, writes ? order : acquires(order) ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);
  if (writes) {
    add_message(l, position + 1, fresh, order, &target.messages[position]);
  }
  return read.value;
}

void fence(thread& t, int order) {
  if (acquires(order)) {
    join(t.current, t.acquired);
  }
  if (order == __ATOMIC_SEQ_CST) {
    join_places(t.current, fences);
    join_places(fences, t.current);
  }
  if (releases(order)) {
    t.released = t.current;
    ++t.current.clock[static_cast<std::size_t>(&t - threads)];
  }
}

void plain(void const* p, std::size_t bytes, bool writes) {
  if (!is_watched(p) || bytes == 0) {
    return;
  }
  auto const me = static_cast<std::size_t>(self);
  thread& t = threads[self];
  auto const first = static_cast<std::size_t>(static_cast<std::byte const*>(p) - pool);
  for (std::size_t i = first / granule; i <= (first + bytes - 1) / granule; ++i) {
    shadow& s = shadow_at(i);
    if (s.write != 0 && t.current.clock[s.writer] < s.write) {
      fail(writes ? "a race of two plain writes" : "a race of a plain read with a plain write");
    }
    for (std::size_t other = 0; other < max_threads; ++other) {
      if (other != me && t.current.clock[other] < s.atomics[other]) {
        fail("a race of a plain with an atomic access");
      }
      if (writes && other != me && t.current.clock[other] < s.reads[other]) {
        fail("a race of a plain write with a plain read");
      }
    }
    if (writes) {
      writes_digest -= mix(mix(i, s.writer), s.write);
      s.writer = static_cast<std::uint32_t>(me);
      s.write = t.current.clock[me];
      writes_digest += mix(mix(i, s.writer), s.write);
    } else {
      s.reads[me] = t.current.clock[me];
    }
  }
  for (std::size_t i = first; writes && i < first + bytes; ++i) {
    if (place_numbers[i] != 0 && places[place_numbers[i] - 1U].count != 0) {
      std::size_t const l = place_numbers[i] - 1U;
      add_message(l, places[l].count, 0, __ATOMIC_RELAXED, nullptr);
      places[l].is_pending = true;
    }
  }
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (!is_setting_up && self < 0) {
    void* const memory = alignment <= alignof(std::max_align_t)
                             ? std::malloc(bytes == 0 ? 1 : bytes)
                             : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    return memory;
  }
  std::byte* const end =
      pool + pool_bytes - static_cast<std::size_t>(max_threads - 1 - (self < 0 ? -1 : self)) * thread_pool_bytes;
  std::byte*& free = is_setting_up ? threads[0].free : threads[self].free;
  auto const address = reinterpret_cast<std::uintptr_t>(free);
  std::byte* const memory = free + ((address + alignment - 1) / alignment * alignment - address);
  if (bytes > static_cast<std::size_t>(end - memory)) {
    stop("a program has too much memory");
  }
  free = memory + bytes;
  return memory;
}
/// Memory of programs is not used again, but nothing may be accessed there any more.
void deallocate(void* p, std::size_t bytes) {
  plain(p, bytes, true);
  auto* const address = static_cast<std::byte*>(p);
  if (address < pool || address >= pool + pool_bytes) {
    std::free(p);
  }
}

/// Prepares an execution.
void restore() {
  __real_memcpy(pool, saved_pool, setup_bytes);
  for (std::size_t i = 0; i < used_shadow_count; ++i) {
    shadows[used_shadows[i]] = {};
  }
  used_shadow_count = 0;
  for (std::size_t l = 0; l < place_count; ++l) {
    places[l].count = 0;
    places[l].is_pending = false;
  }
  fences = {};
  messages_digest = 0;
  writes_digest = 0;
  write_count = 0;
  depth = 0;
  has_new_contention = false;
  static ucontext_t const context = [] {
    ucontext_t c{};
    ::getcontext(&c);
    return c;
  }();
  for (int i = 0; i < thread_count; ++i) {
    thread& t = threads[i];
    t.free = pool + pool_bytes - static_cast<std::size_t>(max_threads - i) * thread_pool_bytes;
    t.has_begun = false;
    t.has_ended = false;
    t.activity = thread::running;
    t.refresh = thread::unused;
    t.rings = 0;
    t.current = t.acquired = t.released = {};
    t.current.clock[static_cast<std::size_t>(i)] = 1;
    t.past = t.reads = t.yielded_reads = t.yielded_past = 0;
    if (t.stack == nullptr) {
      t.stack = static_cast<std::byte*>(std::malloc(stack_bytes));
    }
    t.begin = context;
    t.begin.uc_stack.ss_sp = t.stack;
    t.begin.uc_stack.ss_size = stack_bytes;
    t.begin.uc_link = nullptr;
    ::makecontext(&t.begin, run_thread, 0);
  }
}

}  // namespace

result explore(program const& p, mutation const& weaker, std::vector<site>* sites) {
  for (std::size_t l = 0; l < place_count; ++l) {
    place_numbers[places[l].address - pool] = 0;
  }
  place_count = 0;
  threads[0].free = pool;
  self = -1;
  is_setting_up = true;
  world = p.construct();
  is_setting_up = false;
  setup_bytes = static_cast<std::size_t>(threads[0].free - pool);
  __real_memcpy(saved_pool, pool, setup_bytes);
  thread_count = p.threads;
  weaker_sites = weaker.addresses.empty() ? nullptr : &weaker;
  found_sites = sites;
  failure_text = nullptr;
  choice_count = 0;
  states.clear();
  static result r;
  r = {};
  for (;;) {
    restore();
    if (_setjmp(home) == 0) {
      jump(choose(thread_count));
    }
    ++r.executions;
    r.states = states.size();
    if (failure_text != nullptr) {
      r.failure = failure_text;
      return r;
    }
    if (has_new_contention) {  // begins again, with more places at which threads take turns
      choice_count = 0;
      states.clear();
      continue;
    }
    while (choice_count != 0 && choices[choice_count - 1].index + 1 == choices[choice_count - 1].alternatives) {
      --choice_count;
    }
    if (choice_count == 0) {
      return r;
    }
    ++choices[choice_count - 1].index;
  }
}

void require(bool holds, char const* demand) {
  if (holds) {
    return;
  }
  if (self < 0) {
    failure_text = demand;
  } else {
    fail(demand);
  }
}

void ring(int t) {
  step();
  threads[self].past = mix(threads[self].past, 2);
  ++threads[t].rings;
}

void await_ring() {
  thread& t = threads[self];
  t.activity = thread::sleeping;
  if (!can_run(t)) {
    switch_to(next_thread());
  }
  t.activity = thread::running;
  t.rings = 0;
  t.past = mix(t.past, 3);
  t.reads = t.yielded_reads = 0;
}

void yield() {
  thread& t = threads[self];
  t.activity = thread::polling;
  t.refresh = t.refresh == thread::granted && t.writes_seen == write_count ? thread::exhausted : thread::unused;
  t.writes_seen = write_count;
  if (t.reads == t.yielded_reads) {
    t.past = t.yielded_past;
  } else {
    t.yielded_reads = t.reads;
    t.yielded_past = t.past = mix(t.past, 4);
  }
  t.reads = 0;
  switch_to(next_thread());
  t.activity = thread::running;
}

}  // namespace weak

using namespace weak;

void* operator new(std::size_t bytes) {
  return allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t a) {
  return allocate(bytes, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept {
  deallocate(p, 0);
}
void operator delete(void* p, std::size_t bytes) noexcept {
  deallocate(p, bytes);
}
void operator delete(void* p, std::align_val_t) noexcept {
  deallocate(p, 0);
}
void operator delete(void* p, std::size_t bytes, std::align_val_t) noexcept {
  deallocate(p, bytes);
}

namespace {

template <class Word, class Next>
Word update_word(void volatile* p, int order, void const* caller, Next&& next) {
  return static_cast<Word>(
      update(const_cast<void*>(p), sizeof(Word), order, caller, [&](std::uint64_t old, std::uint64_t& fresh) {
        fresh = next(static_cast<Word>(old));
        return true;
      }));
}
template <class Word>
Word exchange_if(void volatile* p, Word expected, Word value, int order, void const* caller) {
  return static_cast<Word>(
      update(const_cast<void*>(p), sizeof(Word), order, caller, [&](std::uint64_t old, std::uint64_t& fresh) {
        fresh = value;
        return old == expected;
      }));
}

}  // namespace

// Calls that the compiler places, and calls of the C library that order memory or wait.
#define TUTTI_WEAK_PLAIN(n)                 \
  void __tsan_read##n(void* p) {            \
    plain(p, n, false);                     \
  }                                         \
  void __tsan_write##n(void* p) {           \
    plain(p, n, true);                      \
  }                                         \
  void __tsan_unaligned_read##n(void* p) {  \
    plain(p, n, false);                     \
  }                                         \
  void __tsan_unaligned_write##n(void* p) { \
    plain(p, n, true);                      \
  }
#define TUTTI_WEAK_UPDATE(bits, name, expression)                                                \
  word##bits __tsan_atomic##bits##_##name(void volatile* p, word##bits v, int order) {           \
    return update_word<word##bits>(p, order, __builtin_return_address(0),                        \
                                   [&]([[maybe_unused]] word##bits old) { return expression; }); \
  }
#define TUTTI_WEAK_EXCHANGE(bits, name)                                                                              \
  int __tsan_atomic##bits##_compare_exchange_##name(void volatile* p, word##bits* expected, word##bits v, int order, \
                                                    int) {                                                           \
    word##bits const value = *expected;                                                                              \
    *expected = exchange_if(p, value, v, order, __builtin_return_address(0));                                        \
    return *expected == value;                                                                                       \
  }
#define TUTTI_WEAK_ATOMIC(bits)                                                                                     \
  using word##bits = std::uint##bits##_t;                                                                           \
  word##bits __tsan_atomic##bits##_load(void const volatile* p, int order) {                                        \
    return static_cast<word##bits>(load(const_cast<void const*>(p), bits / 8, order, __builtin_return_address(0))); \
  }                                                                                                                 \
  void __tsan_atomic##bits##_store(void volatile* p, word##bits v, int order) {                                     \
    store(const_cast<void*>(p), bits / 8, v, order, __builtin_return_address(0));                                   \
  }                                                                                                                 \
  TUTTI_WEAK_UPDATE(bits, exchange, v)                                                                              \
  TUTTI_WEAK_UPDATE(bits, fetch_add, static_cast<word##bits>(old + v))                                              \
  TUTTI_WEAK_UPDATE(bits, fetch_sub, static_cast<word##bits>(old - v))                                              \
  TUTTI_WEAK_UPDATE(bits, fetch_and, static_cast<word##bits>(old & v))                                              \
  TUTTI_WEAK_UPDATE(bits, fetch_or, static_cast<word##bits>(old | v))                                               \
  TUTTI_WEAK_EXCHANGE(bits, strong)                                                                                 \
  TUTTI_WEAK_EXCHANGE(bits, weak)                                                                                   \
  word##bits __tsan_atomic##bits##_compare_exchange_val(void volatile* p, word##bits expected, word##bits v,        \
                                                        int order, int) {                                           \
    return exchange_if(p, expected, v, order, __builtin_return_address(0));                                         \
  }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void** p, void*) {
  plain(p, sizeof *p, true);
}
TUTTI_WEAK_PLAIN(1)
TUTTI_WEAK_PLAIN(2)
TUTTI_WEAK_PLAIN(4)
TUTTI_WEAK_PLAIN(8)
TUTTI_WEAK_PLAIN(16)
void __tsan_read_range(void* p, unsigned long bytes) {
  plain(p, bytes, false);
}
void __tsan_write_range(void* p, unsigned long bytes) {
  plain(p, bytes, true);
}
TUTTI_WEAK_ATOMIC(8)
TUTTI_WEAK_ATOMIC(16)
TUTTI_WEAK_ATOMIC(32)
TUTTI_WEAK_ATOMIC(64)
void __tsan_atomic_signal_fence(int) {}
void __tsan_atomic_thread_fence(int order) {
  if (self < 0) {
    return;
  }
  note_site(__builtin_return_address(0), operation_kind::fence, order);
  order = order_at(__builtin_return_address(0), order);
  if (order == __ATOMIC_SEQ_CST) {
    step();
  }
  threads[self].past = mix(threads[self].past, 5);
  fence(threads[self], order);
}

void* __wrap_memcpy(void* target, void const* source, std::size_t bytes) {
  plain(source, bytes, false);
  plain(target, bytes, true);
  return __real_memcpy(target, source, bytes);
}
void* __wrap_memmove(void* target, void const* source, std::size_t bytes) {
  plain(source, bytes, false);
  plain(target, bytes, true);
  return __real_memmove(target, source, bytes);
}
void* __wrap_memset(void* target, int value, std::size_t bytes) {
  plain(target, bytes, true);
  return __real_memset(target, value, bytes);
}
void* __tsan_memcpy(void* target, void const* source, std::size_t bytes) {
  return __wrap_memcpy(target, source, bytes);
}
void* __tsan_memmove(void* target, void const* source, std::size_t bytes) {
  return __wrap_memmove(target, source, bytes);
}
void* __tsan_memset(void* target, int value, std::size_t bytes) {
  return __wrap_memset(target, value, bytes);
}

/// The only system call of the headers is membarrier: every thread passes a fence, wherever it is.
long __wrap_syscall(long, ...) {
  if (self < 0) {
    return 0;
  }
  note_site(__builtin_return_address(0), operation_kind::membarrier, __ATOMIC_SEQ_CST);
  if (order_at(__builtin_return_address(0), __ATOMIC_SEQ_CST) == __ATOMIC_SEQ_CST) {
    step();
    threads[self].past = mix(threads[self].past, 6);
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < thread_count; ++i) {
        fence(threads[i], __ATOMIC_SEQ_CST);
      }
    }
  }
  return 0;
}
int __wrap_pthread_mutex_lock(void* mutex) {
  for (;;) {
    bool is_taken = false;
    update(mutex, sizeof(int), __ATOMIC_ACQUIRE, nullptr, [&](std::uint64_t old, std::uint64_t& fresh) {
      fresh = 1;
      return is_taken = old == 0;
    });
    if (is_taken || self < 0) {
      return 0;
    }
    yield();
  }
}
int __wrap_pthread_mutex_unlock(void* mutex) {
  store(mutex, sizeof(int), 0, __ATOMIC_RELEASE, nullptr);
  return 0;
}
int __wrap_sched_yield() {
  if (self >= 0) {
    yield();
  }
  return 0;
}
}
