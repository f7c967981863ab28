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
    r.kernel_.name = name;
    for (std::size_t place = module.find("\n.shared "); place != module.npos;
         place = module.find("\n.shared ", place + 1)) {
      std::string const text(module.substr(place + 1, module.find(';', place) - place - 1));
      r.module_variables_.emplace(r.parse_variable(text).name, text);
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
    r.finish();
    return std::move(r.kernel_);
  }

 private:
  [[nodiscard]] static std::string trim(std::string_view s) {
    constexpr std::string_view blank = " \t\n\r";
    std::size_t const first = s.find_first_not_of(blank);
    return first == s.npos ? std::string() : std::string(s.substr(first, s.find_last_not_of(blank) - first + 1));
  }
  [[nodiscard]] static std::vector<std::string> split(std::string_view s, char separator) {
    std::vector<std::string> pieces;
    int depth = 0;
    std::size_t first = 0;
    for (std::size_t k = 0; k <= s.size(); ++k) {
      if (k == s.size() || (s[k] == separator && depth == 0)) {
        pieces.push_back(trim(s.substr(first, k - first)));
        first = k + 1;
      } else {
        depth += s[k] == '{' ? 1 : s[k] == '}' ? -1 : 0;
      }
    }
    return pieces;
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
  [[noreturn]] void reject(std::string const& statement) const {
    fail(kernel_.name + " has what is not known here: " + statement);
  }

  /// ".param .align 8 .b8 NAME[768]", ".param .u64 NAME", ".maxntid 512, 1, 1"
  void read_head(std::string const& head) {
    std::size_t const open = head.find('(');
    std::size_t const close = head.find(')', open);
    for (std::string const& p : split(std::string_view(head).substr(open + 1, close - open - 1), ',')) {
      if (!p.empty()) {
        auto const [name, align, bytes] = parse_variable(p);
        kernel_.parameter_bytes = (kernel_.parameter_bytes + align - 1) / align * align;
        kernel_.parameters.emplace_back(kernel_.parameter_bytes, bytes);
        parameters_[name] = kernel_.parameter_bytes;
        kernel_.parameter_bytes += bytes;
      }
    }
    if (std::size_t const bound = head.find(".maxntid"); bound != head.npos) {
      kernel_.max_threads = 1;
      for (std::string const& n :
           split(std::string_view(head).substr(bound + 8, head.find('\n', bound) - bound - 8), ',')) {
        kernel_.max_threads *= static_cast<std::uint32_t>(std::stoul(n));
      }
    }
  }
  struct declaration {
    std::string name;
    std::size_t align = 1;
    std::size_t bytes = 0;
  };
  [[nodiscard]] declaration parse_variable(std::string const& text) const {
    declaration d;
    std::size_t width = 0;
    std::size_t alignment = 0;
    auto const words = split(text, ' ');
    for (std::size_t w = 0; w != words.size(); ++w) {
      std::string const& word = words[w];
      if (word == ".align") {
        alignment = std::stoul(words[++w]);
      } else if (word.size() > 2 && word[0] == '.' && word.find_first_of("123468") == 2) {
        width = std::stoul(word.substr(2)) / 8;
      } else if (word[0] != '.') {
        std::size_t const bracket = word.find('[');
        d.name = word.substr(0, bracket);
        d.bytes = width * (bracket == word.npos ? 1 : std::stoul(word.substr(bracket + 1)));
      }
    }
    if (width == 0 || d.bytes == 0) {
      reject(text);
    }
    d.align = alignment != 0 ? alignment : width;
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
      std::string statement = trim(std::string_view(text).substr(first, end - first));
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
          scopes_.emplace_back();
        } else {
          scopes_.pop_back();
        }
        s = trim(std::string_view(s).substr(1));
      } else if (std::size_t const colon = s.find(':'); s[0] == '$' && colon != s.npos) {
        labels_[s.substr(0, colon)] = static_cast<std::uint32_t>(kernel_.code.size());
        s = trim(std::string_view(s).substr(colon + 1));
      } else {
        return;
      }
    }
  }

  /// Allocates a variable in shared memory.
  std::size_t allocate_shared(std::string const& text) {
    auto const [name, align, bytes] = parse_variable(text);
    std::size_t const offset = (kernel_.shared_bytes + align - 1) / align * align;
    kernel_.shared_bytes = offset + bytes;
    shared_offsets_[name] = offset;
    return offset;
  }
  /// Declares registers: "%r<9>" in the whole kernel, "%t" or "a, b" in a scope.
  void read_registers(std::string const& text) {
    for (std::string const& name : split(text, ',')) {
      if (std::size_t const bracket = name.find('<'); bracket != name.npos) {
        register_prefixes_.insert(name.substr(0, bracket));
      } else {
        scopes_.back()[name] = register_count_++;
      }
    }
  }
  void read_statement(std::string const& statement) {
    if (statement.starts_with(".pragma")) {
      return;
    }
    if (statement.starts_with(".reg")) {
      read_registers(trim(statement.substr(statement.find_first_of(" \t", statement.find('.', 1)))));
      return;
    }
    if (statement.starts_with(".shared")) {
      allocate_shared(statement);
      return;
    }
    if (statement[0] == '.') {
      reject(statement);
    }
    instruction i;
    i.line = static_cast<std::uint32_t>(kernel_.lines.size());
    kernel_.lines.push_back(statement);
    std::string rest = statement;
    if (rest[0] == '@') {
      i.is_guard_negated = rest[1] == '!';
      std::size_t const end = rest.find_first_of(" \t");
      std::size_t const begin = i.is_guard_negated ? 2 : 1;
      i.guard = operand(rest.substr(begin, end - begin));
      rest = trim(std::string_view(rest).substr(end));
    }
    std::size_t const end = std::min(rest.find_first_of(" \t"), rest.size());
    std::string const name = rest.substr(0, end);
    std::string const operands = trim(std::string_view(rest).substr(end));
    read_instruction(i, name, operands.empty() ? std::vector<std::string>() : split(operands, ','));
    kernel_.code.push_back(i);
  }

  void read_instruction(instruction& i, std::string const& name, std::vector<std::string> const& operands) {
    if (name == "bra" || name == "bra.uni") {
      i.kind = instruction::kind_type::jump;
      jumps_.emplace_back(kernel_.code.size(), operands.at(0));
    } else if (name == "ret" || name == "exit") {
      i.kind = instruction::kind_type::leave;
    } else if (name == "bar.sync" || name == "barrier.sync") {
      i.kind = instruction::kind_type::barrier;
      expect_barrier_zero(operands);
    } else if (name == "bar.red.and.pred" || name == "barrier.red.and.pred") {
      i.kind = instruction::kind_type::barrier_and;
      expect_barrier_zero({operands.at(1)});
      i.destinations[0] = operand(operands.at(0));
      i.sources[0] = operand(operands.at(2));
    } else if (name == "nanosleep.u32") {
      i.kind = instruction::kind_type::pause;
    } else if (name == "bar.warp.sync") {
      i.kind = instruction::kind_type::warp_sync;
      i.members = operand(operands.at(0));
    } else if (name.starts_with("shfl.sync")) {
      i.kind = instruction::kind_type::warp_sync;
      i.run = find_operation(name);
      std::size_t const bar = operands.at(0).find('|');
      i.destinations[0] = operand(operands[0].substr(0, bar));
      if (bar != operands[0].npos) {
        i.destinations[1] = operand(operands[0].substr(bar + 1));
      }
      i.sources = {operand(operands.at(1)), operand(operands.at(2)), operand(operands.at(3)), instruction::none};
      i.members = operand(operands.at(4));
    } else if (name.starts_with("ld.")) {
      read_memory(i, name, operands.at(0), operands.at(1), i.destinations);
    } else if (name.starts_with("st.")) {
      read_memory(i, name, operands.at(1), operands.at(0), i.sources);
    } else if (name.starts_with("mov.") && operands.size() == 2) {
      read_move(i, name, operands[0], operands[1]);
    } else {
      i.run = find_operation(name);
      for (std::size_t k = 0; k != operands.size(); ++k) {
        (k == 0 ? i.destinations[0] : i.sources.at(k - 1)) = operand(operands[k]);
      }
    }
  }
  void expect_barrier_zero(std::vector<std::string> const& operands) const {
    if (operands.size() != 1 || operands[0] != "0") {
      reject("a barrier other than 0, or for some threads");
    }
  }
  [[nodiscard]] action find_operation(std::string const& name) const {
    action const a = operation(name);
    if (a == nullptr) {
      reject(name);
    }
    return a;
  }
  /// "ld.acquire.sys.global.v4.f32 {a, b, c, d}, [p+16]"
  void read_memory(instruction& i, std::string const& name, std::string const& numbers, std::string const& address_text,
                   std::array<std::uint32_t, 4>& operands) {
    i.run = find_operation(strip_qualifiers(i, name));
    std::size_t k = 0;
    for (std::string const& item : parts(numbers)) {
      operands.at(k++) = operand(item);
    }
    std::string const expression = address_text.substr(1, address_text.size() - 2);
    std::size_t const plus = expression.find('+');
    std::string const base = trim(std::string_view(expression).substr(0, plus));
    i.offset = plus == expression.npos ? 0 : static_cast<std::int64_t>(number(trim(expression.substr(plus + 1))));
    i.address = operand(base);
  }
  /// An instruction's name without the address space and the memory order, which are set in `i`.
  [[nodiscard]] static std::string strip_qualifiers(instruction& i, std::string const& name) {
    using space = instruction::address_space;
    std::string rest;
    for (std::string const& word : split(name, '.')) {
      if (word == "param") {
        i.space = space::parameters;
      } else if (word == "global") {
        i.space = space::global;
      } else if (word == "shared") {
        i.space = space::shared;
      } else if (word == "volatile" || word == "relaxed" || word == "acquire" || word == "release") {
        i.is_weak = false;
        i.fence_before = word == "release";
        i.fence_after = word == "acquire";
      } else if (word != "nc" && word != "weak" && word != "sys") {
        rest += rest.empty() ? word : "." + word;
      }
    }
    return rest;
  }
  [[nodiscard]] static std::vector<std::string> parts(std::string const& s) {
    return s[0] == '{' ? split(std::string_view(s).substr(1, s.size() - 2), ',') : std::vector<std::string>{s};
  }
  void read_move(instruction& i, std::string const& name, std::string const& destination, std::string const& source) {
    auto const destination_parts = parts(destination);
    auto const source_parts = parts(source);
    for (std::size_t k = 0; k != destination_parts.size(); ++k) {
      i.destinations.at(k) = operand(destination_parts[k]);
    }
    if (source[0] == '%' && operation(source) != nullptr) {  // a special register that describes the thread
      i.run = find_operation(source);
      return;
    }
    for (std::size_t k = 0; k != source_parts.size(); ++k) {
      i.sources.at(k) = operand(source_parts[k]);
    }
    i.run = find_operation(source_parts.size() != 1        ? name + ".pack" + std::to_string(source_parts.size())
                           : destination_parts.size() != 1 ? name + ".unpack" + std::to_string(destination_parts.size())
                                                           : name);
  }

  /// The number of a register or a constant. Constants begin at `constants_begin` until all registers are known.
  static constexpr std::uint32_t constants_begin = 1U << 24;
  [[nodiscard]] std::uint32_t operand(std::string const& s) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (auto const entry = scope->find(s); entry != scope->end()) {
        return entry->second;
      }
    }
    if (s[0] == '%') {
      if (!register_prefixes_.contains(s.substr(0, s.find_first_of("0123456789")))) {
        reject(s);
      }
      return scopes_.front()[s] = register_count_++;
    }
    if (is_number(s)) {
      return constant_operand({constant::kind_type::number, number(s)});
    }
    if (s == "WARP_SZ") {
      return constant_operand({constant::kind_type::number, warp_size});
    }
    if (auto const p = parameters_.find(s); p != parameters_.end()) {
      return constant_operand({constant::kind_type::parameter, p->second});
    }
    if (auto const p = shared_offsets_.find(s); p != shared_offsets_.end()) {
      return constant_operand({constant::kind_type::number, p->second});
    }
    if (auto const p = module_variables_.find(s); p != module_variables_.end()) {
      return constant_operand({constant::kind_type::number, allocate_shared(p->second)});
    }
    reject(s);
  }
  [[nodiscard]] std::uint32_t constant_operand(constant const& c) {
    auto const key = std::pair(c.kind, c.value);
    auto const [entry, is_new] = constants_.emplace(key, static_cast<std::uint32_t>(kernel_.constants.size()));
    if (is_new) {
      kernel_.constants.push_back(c);
    }
    return constants_begin + entry->second;
  }

  void finish() {
    for (auto const& [index, label] : jumps_) {
      auto const entry = labels_.find(label);
      if (entry == labels_.end()) {
        reject(label);
      }
      kernel_.code[index].target = entry->second;
    }
    instruction last;
    last.kind = instruction::kind_type::leave;
    last.line = static_cast<std::uint32_t>(kernel_.lines.size());
    kernel_.lines.push_back("the end");
    kernel_.code.push_back(last);
    kernel_.registers = register_count_;
    auto const renumber = [&](std::uint32_t& r) {
      if (r != instruction::none && r >= constants_begin) {
        r = r - constants_begin + kernel_.registers;
      }
    };
    for (instruction& i : kernel_.code) {
      std::for_each(i.destinations.begin(), i.destinations.end(), renumber);
      std::for_each(i.sources.begin(), i.sources.end(), renumber);
      renumber(i.address);
      renumber(i.members);
      renumber(i.guard);
    }
    register_allocation::run(kernel_);
  }

  kernel kernel_;
  using names = std::unordered_map<std::string, std::uint32_t>;
  std::vector<names> scopes_{1};             ///< registers of the kernel, then of nested scopes
  std::set<std::string> register_prefixes_;  ///< prefixes of the kernel's numbered registers
  std::uint32_t register_count_ = 0;         ///< number of registers
  std::unordered_map<std::string, std::size_t> parameters_;
  std::unordered_map<std::string, std::size_t> shared_offsets_;
  std::unordered_map<std::string, std::string> module_variables_;  ///< shared variables declared outside of kernels
  std::unordered_map<std::string, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> jumps_;
  std::map<std::pair<constant::kind_type, std::uint64_t>, std::uint32_t> constants_;
};

}  // namespace emulated_gpu
