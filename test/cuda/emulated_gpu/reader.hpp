// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"
#include "operations.hpp"
#include "registers.hpp"

#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace emulated_gpu {

/// Parses the PTX text of a kernel.
class reader {
 public:
  /// Reads the kernel of that name in a module's text.
  [[nodiscard]] static kernel read(std::string_view module, std::string const& name) {
    reader r;
    r.k_.name = name;
    for (std::size_t at = module.find("\n.shared "); at != module.npos; at = module.find("\n.shared ", at + 1)) {
      std::string const text(module.substr(at + 1, module.find(';', at) - at - 1));
      r.outside_.emplace(r.variable(text).name, text);
    }
    std::size_t const entry = module.find(".entry " + name + "(");
    if (entry == module.npos) {
      fail("a program's text has no kernel " + name);
    }
    std::size_t const open = module.find("\n{", entry) + 1;
    std::size_t close = open + 1;
    for (int depth = 1; depth != 0; ++close) {
      depth += module[close] == '{' ? 1 : module[close] == '}' ? -1 : 0;
    }
    r.read_head(std::string(module.substr(entry, open - entry)));
    r.read_body(module.substr(open + 1, close - open - 2));
    r.end();
    return std::move(r.k_);
  }

 private:
  [[nodiscard]] static std::string trimmed(std::string_view s) {
    constexpr std::string_view blank = " \t\n\r";
    std::size_t const first = s.find_first_not_of(blank);
    return first == s.npos ? std::string() : std::string(s.substr(first, s.find_last_not_of(blank) - first + 1));
  }
  [[nodiscard]] static std::vector<std::string> split(std::string_view s, char at) {
    std::vector<std::string> all;
    int depth = 0;
    std::size_t first = 0;
    for (std::size_t k = 0; k <= s.size(); ++k) {
      if (k == s.size() || (s[k] == at && depth == 0)) {
        all.push_back(trimmed(s.substr(first, k - first)));
        first = k + 1;
      } else {
        depth += s[k] == '{' ? 1 : s[k] == '}' ? -1 : 0;
      }
    }
    return all;
  }
  [[nodiscard]] static bool is_number(std::string_view s) {
    return !s.empty() && (s[0] == '-' || (s[0] >= '0' && s[0] <= '9'));
  }
  [[nodiscard]] std::uint64_t number(std::string const& s) const {
    if (s.starts_with("0f") || s.starts_with("0d")) {
      return std::stoull(s.substr(2), nullptr, 16);
    }
    return s[0] == '-' ? 0 - std::stoull(s.substr(1), nullptr, 0) : std::stoull(s, nullptr, 0);
  }
  [[noreturn]] void unknown(std::string const& statement) const {
    fail(k_.name + " has what is not known here: " + statement);
  }

  /// ".param .align 8 .b8 NAME[768]", ".param .u64 NAME", ".maxntid 512, 1, 1"
  void read_head(std::string const& head) {
    std::size_t const open = head.find('(');
    std::size_t const close = head.find(')', open);
    for (std::string const& p : split(std::string_view(head).substr(open + 1, close - open - 1), ',')) {
      if (!p.empty()) {
        auto const [name, align, bytes] = variable(p);
        k_.parameter_bytes = (k_.parameter_bytes + align - 1) / align * align;
        k_.parameters.emplace_back(k_.parameter_bytes, bytes);
        parameters_[name] = k_.parameter_bytes;
        k_.parameter_bytes += bytes;
      }
    }
    if (std::size_t const most = head.find(".maxntid"); most != head.npos) {
      k_.most_threads = 1;
      for (std::string const& n :
           split(std::string_view(head).substr(most + 8, head.find('\n', most) - most - 8), ',')) {
        k_.most_threads *= static_cast<std::uint32_t>(std::stoul(n));
      }
    }
  }
  struct declared {
    std::string name;
    std::size_t align = 1;
    std::size_t bytes = 0;
  };
  [[nodiscard]] declared variable(std::string const& text) const {
    declared d;
    std::size_t width = 0;
    std::size_t aligned = 0;
    auto const words = split(text, ' ');
    for (std::size_t w = 0; w != words.size(); ++w) {
      std::string const& word = words[w];
      if (word == ".align") {
        aligned = std::stoul(words[++w]);
      } else if (word.size() > 2 && word[0] == '.' && word.find_first_of("123468") == 2) {
        width = std::stoul(word.substr(2)) / 8;
      } else if (word[0] != '.') {
        std::size_t const bracket = word.find('[');
        d.name = word.substr(0, bracket);
        d.bytes = width * (bracket == word.npos ? 1 : std::stoul(word.substr(bracket + 1)));
      }
    }
    if (width == 0 || d.bytes == 0) {
      unknown(text);
    }
    d.align = aligned != 0 ? aligned : width;
    return d;
  }

  void read_body(std::string_view body) {
    std::string text;
    while (!body.empty()) {
      std::size_t const end = std::min(body.find('\n'), body.size());
      std::string_view const line = body.substr(0, end);
      text += line.substr(0, std::min(line.find("//"), line.size()));
      text += ' ';
      body.remove_prefix(std::min(end + 1, body.size()));
    }
    std::size_t first = 0;
    while (first < text.size()) {
      std::size_t end = std::min(text.find(';', first), text.size());
      std::string statement = trimmed(std::string_view(text).substr(first, end - first));
      first = end + 1;
      read_labels(statement);
      if (!statement.empty()) {
        read_statement(statement);
      }
    }
  }
  /// Strips labels and the braces of scopes from a statement.
  void read_labels(std::string& s) {
    while (!s.empty()) {
      if (s[0] == '{' || s[0] == '}') {
        if (s[0] == '{') {
          rooms_.emplace_back();
        } else {
          rooms_.pop_back();
        }
        s = trimmed(std::string_view(s).substr(1));
      } else if (std::size_t const colon = s.find(':'); s[0] == '$' && colon != s.npos) {
        labels_[s.substr(0, colon)] = static_cast<std::uint32_t>(k_.code.size());
        s = trimmed(std::string_view(s).substr(colon + 1));
      } else {
        return;
      }
    }
  }

  /// Allocates a variable in shared memory.
  std::size_t share(std::string const& text) {
    auto const [name, align, bytes] = variable(text);
    std::size_t const at = (k_.shared_bytes + align - 1) / align * align;
    k_.shared_bytes = at + bytes;
    shared_[name] = at;
    return at;
  }
  /// Declares registers: "%r<9>" in the whole kernel, "%t" or "a, b" in a scope.
  void read_registers(std::string const& text) {
    for (std::string const& name : split(text, ',')) {
      if (std::size_t const many = name.find('<'); many != name.npos) {
        numbered_.insert(name.substr(0, many));
      } else {
        rooms_.back()[name] = count_++;
      }
    }
  }
  void read_statement(std::string const& statement) {
    if (statement.starts_with(".pragma")) {
      return;
    }
    if (statement.starts_with(".reg")) {
      read_registers(trimmed(statement.substr(statement.find_first_of(" \t", statement.find('.', 1)))));
      return;
    }
    if (statement.starts_with(".shared")) {
      share(statement);
      return;
    }
    if (statement[0] == '.') {
      unknown(statement);
    }
    instruction i;
    i.line = static_cast<std::uint32_t>(k_.lines.size());
    k_.lines.push_back(statement);
    std::string rest = statement;
    if (rest[0] == '@') {
      i.unless = rest[1] == '!';
      std::size_t const end = rest.find_first_of(" \t");
      std::size_t const begin = i.unless ? 2 : 1;
      i.guard = operand(rest.substr(begin, end - begin));
      rest = trimmed(std::string_view(rest).substr(end));
    }
    std::size_t const end = std::min(rest.find_first_of(" \t"), rest.size());
    std::string const name = rest.substr(0, end);
    std::string const operands = trimmed(std::string_view(rest).substr(end));
    read_instruction(i, name, operands.empty() ? std::vector<std::string>() : split(operands, ','));
    k_.code.push_back(i);
  }

  void read_instruction(instruction& i, std::string const& name, std::vector<std::string> const& of) {
    if (name == "bra" || name == "bra.uni") {
      i.what = instruction::kind::jump;
      jumps_.emplace_back(k_.code.size(), of.at(0));
    } else if (name == "ret" || name == "exit") {
      i.what = instruction::kind::leave;
    } else if (name == "bar.sync" || name == "barrier.sync") {
      i.what = instruction::kind::barrier;
      expect_barrier_zero(of);
    } else if (name == "bar.red.and.pred" || name == "barrier.red.and.pred") {
      i.what = instruction::kind::barrier_of_all;
      expect_barrier_zero({of.at(1)});
      i.to[0] = operand(of.at(0));
      i.from[0] = operand(of.at(2));
    } else if (name == "nanosleep.u32") {
      i.what = instruction::kind::pause;
    } else if (name == "bar.warp.sync") {
      i.what = instruction::kind::meeting;
      i.members = operand(of.at(0));
    } else if (name.starts_with("shfl.sync")) {
      i.what = instruction::kind::meeting;
      i.run = known(name);
      std::size_t const bar = of.at(0).find('|');
      i.to[0] = operand(of[0].substr(0, bar));
      if (bar != of[0].npos) {
        i.to[1] = operand(of[0].substr(bar + 1));
      }
      i.from = {operand(of.at(1)), operand(of.at(2)), operand(of.at(3)), instruction::none};
      i.members = operand(of.at(4));
    } else if (name.starts_with("ld.")) {
      read_memory(i, name, of.at(0), of.at(1), i.to);
    } else if (name.starts_with("st.")) {
      read_memory(i, name, of.at(1), of.at(0), i.from);
    } else if (name.starts_with("mov.") && of.size() == 2) {
      read_move(i, name, of[0], of[1]);
    } else {
      i.run = known(name);
      for (std::size_t k = 0; k != of.size(); ++k) {
        (k == 0 ? i.to[0] : i.from.at(k - 1)) = operand(of[k]);
      }
    }
  }
  void expect_barrier_zero(std::vector<std::string> const& of) const {
    if (of.size() != 1 || of[0] != "0") {
      unknown("a barrier other than 0, or for some threads");
    }
  }
  [[nodiscard]] action known(std::string const& name) const {
    action const a = operation(name);
    if (a == nullptr) {
      unknown(name);
    }
    return a;
  }
  /// "ld.acquire.sys.global.v4.f32 {a, b, c, d}, [p+16]"
  void read_memory(instruction& i, std::string const& name, std::string const& numbers, std::string const& place,
                   std::array<std::uint32_t, 4>& operands) {
    i.run = known(access(i, name));
    std::size_t k = 0;
    for (std::string const& one : parts(numbers)) {
      operands.at(k++) = operand(one);
    }
    std::string const inside = place.substr(1, place.size() - 2);
    std::size_t const plus = inside.find('+');
    std::string const base = trimmed(std::string_view(inside).substr(0, plus));
    i.offset = plus == inside.npos ? 0 : static_cast<std::int64_t>(number(trimmed(inside.substr(plus + 1))));
    i.address = operand(base);
  }
  /// An instruction's name without the address space and the memory order, which are set in `i`.
  [[nodiscard]] static std::string access(instruction& i, std::string const& name) {
    using room = instruction::room;
    std::string rest;
    for (std::string const& word : split(name, '.')) {
      if (word == "param") {
        i.where = room::parameters;
      } else if (word == "global") {
        i.where = room::global;
      } else if (word == "shared") {
        i.where = room::shared;
      } else if (word == "volatile" || word == "relaxed" || word == "acquire" || word == "release") {
        i.is_weak = false;
        i.fence_before = word == "release";
        i.fence_behind = word == "acquire";
      } else if (word != "nc" && word != "weak" && word != "sys") {
        rest += rest.empty() ? word : "." + word;
      }
    }
    return rest;
  }
  [[nodiscard]] static std::vector<std::string> parts(std::string const& s) {
    return s[0] == '{' ? split(std::string_view(s).substr(1, s.size() - 2), ',') : std::vector<std::string>{s};
  }
  void read_move(instruction& i, std::string const& name, std::string const& to, std::string const& from) {
    auto const tos = parts(to);
    auto const froms = parts(from);
    for (std::size_t k = 0; k != tos.size(); ++k) {
      i.to.at(k) = operand(tos[k]);
    }
    if (from[0] == '%' && operation(from) != nullptr) {  // a special register that describes the thread
      i.run = known(from);
      return;
    }
    for (std::size_t k = 0; k != froms.size(); ++k) {
      i.from.at(k) = operand(froms[k]);
    }
    i.run = known(froms.size() != 1 ? name + ".pack" + std::to_string(froms.size())
                  : tos.size() != 1 ? name + ".unpack" + std::to_string(tos.size())
                                    : name);
  }

  /// The number of a register or a constant. Constants begin at `constants_begin` until all registers are known.
  static constexpr std::uint32_t constants_begin = 1U << 24;
  [[nodiscard]] std::uint32_t operand(std::string const& s) {
    for (auto room = rooms_.rbegin(); room != rooms_.rend(); ++room) {
      if (auto const it = room->find(s); it != room->end()) {
        return it->second;
      }
    }
    if (s[0] == '%') {
      if (!numbered_.contains(s.substr(0, s.find_first_of("0123456789")))) {
        unknown(s);
      }
      return rooms_.front()[s] = count_++;
    }
    if (is_number(s)) {
      return constant_of({constant::kind::number, number(s)});
    }
    if (s == "WARP_SZ") {
      return constant_of({constant::kind::number, warp_size});
    }
    if (auto const p = parameters_.find(s); p != parameters_.end()) {
      return constant_of({constant::kind::parameter, p->second});
    }
    if (auto const p = shared_.find(s); p != shared_.end()) {
      return constant_of({constant::kind::number, p->second});
    }
    if (auto const p = outside_.find(s); p != outside_.end()) {
      return constant_of({constant::kind::number, share(p->second)});
    }
    unknown(s);
  }
  [[nodiscard]] std::uint32_t constant_of(constant const& c) {
    auto const key = std::pair(c.what, c.value);
    auto const [it, is_new] = constants_.emplace(key, static_cast<std::uint32_t>(k_.constants.size()));
    if (is_new) {
      k_.constants.push_back(c);
    }
    return constants_begin + it->second;
  }

  void end() {
    for (auto const& [at, label] : jumps_) {
      auto const it = labels_.find(label);
      if (it == labels_.end()) {
        unknown(label);
      }
      k_.code[at].target = it->second;
    }
    instruction leave;
    leave.what = instruction::kind::leave;
    leave.line = static_cast<std::uint32_t>(k_.lines.size());
    k_.lines.push_back("the end");
    k_.code.push_back(leave);
    k_.registers = count_;
    auto const put = [&](std::uint32_t& r) {
      if (r != instruction::none && r >= constants_begin) {
        r = r - constants_begin + k_.registers;
      }
    };
    for (instruction& i : k_.code) {
      std::for_each(i.to.begin(), i.to.end(), put);
      std::for_each(i.from.begin(), i.from.end(), put);
      put(i.address);
      put(i.members);
      put(i.guard);
    }
    placing::of(k_);
  }

  kernel k_;
  using names = std::unordered_map<std::string, std::uint32_t>;
  std::vector<names> rooms_{1};     ///< registers of the kernel, then of nested scopes
  std::set<std::string> numbered_;  ///< prefixes of the kernel's numbered registers
  std::uint32_t count_ = 0;         ///< number of registers
  std::unordered_map<std::string, std::size_t> parameters_;
  std::unordered_map<std::string, std::size_t> shared_;
  std::unordered_map<std::string, std::string> outside_;  ///< shared variables declared outside of kernels
  std::unordered_map<std::string, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> jumps_;
  std::map<std::pair<constant::kind, std::uint64_t>, std::uint32_t> constants_;
};

}  // namespace emulated_gpu
