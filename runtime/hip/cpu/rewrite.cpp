#include "runtime/hip/cpu/rewrite.h"

#include <fmt/format.h>

#include <algorithm>

#include "templates/source_scan.h"

namespace wavetune::hip::cpu {
namespace {

using namespace templates::source;

class Rewriter {
 public:
  explicit Rewriter(std::string_view source) : source_(source), code_(code_only(source)) {}

  Rewritten run() {
    size_t i = 0;
    while (i < code_.size()) {
      const char c = code_[i];
      if (is_word(c)) {
        const std::string_view word = word_at(code_, i);
        if (word == "__shared__") {
          i = shared(i);
          continue;
        }
        if (word == "__global__") kernel(i + word.size());
        i += word.size();
        continue;
      }
      if (c == '{') open_scope(i);
      if (c == '}' && !scopes_.empty()) scopes_.pop_back();
      if (c == ';' || c == '{' || c == '}') statement_ = i + 1;
      ++i;
    }
    result_.text.append(source_.substr(copied_));
    append_table();
    return std::move(result_);
  }

 private:
  struct Scope {
    bool function = false;
    std::string name;  ///< of a namespace
  };
  struct Found {
    std::string qualified, name, launch_bounds;
  };

  bool in_function() const { return !scopes_.empty() && scopes_.back().function; }

  void open_scope(size_t brace) {
    const std::string_view head = trim(std::string_view(code_).substr(statement_, brace - statement_));
    Scope scope;
    if (contains_word(head, "namespace")) {
      scope.name = std::string(trim(head.substr(head.find("namespace") + 9)));
    } else {
      const bool linkage = head == "extern";
      const bool type = head.find('(') == std::string_view::npos &&
                        (contains_word(head, "struct") || contains_word(head, "class") || contains_word(head, "union"));
      scope.function = in_function() || (!linkage && !type);
    }
    scopes_.push_back(std::move(scope));
  }

  /// Replaces [begin, end) of the source, keeping its line breaks.
  void replace(size_t begin, size_t end, const std::string& text) {
    result_.text.append(source_.substr(copied_, begin - copied_)).append(text);
    const std::string_view old = source_.substr(begin, end - begin);
    result_.text.append(static_cast<size_t>(std::count(old.begin(), old.end(), '\n')), '\n');
    copied_ = end;
  }

  /// `at` is the word __shared__. Returns the position after the declaration.
  size_t shared(size_t at) {
    const size_t semicolon = find_top_level(code_, at, ";");
    const std::string_view before = std::string_view(code_).substr(statement_, at - statement_);
    const bool dynamic = contains_word(before, "extern");
    // Alignment attributes are dropped: every variable is aligned to 64 bytes or to what its type wants.
    size_t type_begin = at + std::string_view("__shared__").size();
    for (;;) {
      type_begin = skip_space(code_, type_begin);
      const std::string_view word = word_at(code_, type_begin);
      if (word != "__align__" && word != "alignas" && word != "__attribute__") break;
      type_begin = after_brackets(code_, code_.find('(', type_begin));
    }
    const size_t first_end = find_top_level(code_, type_begin, "[,;");
    size_t name_end = first_end;
    while (name_end > type_begin && is_space(code_[name_end - 1])) --name_end;
    size_t name_begin = name_end;
    while (name_begin > type_begin && is_word(code_[name_begin - 1])) --name_begin;
    const std::string type(trim(source_.substr(type_begin, name_begin - type_begin)));

    std::string text;
    for (size_t i = name_begin; i < semicolon;) {
      const size_t comma = std::min(find_top_level(code_, i, ",;"), semicolon);
      const std::string_view declarator = trim(source_.substr(i, comma - i));
      const std::string_view name = word_at(declarator, 0);
      text += declaration(type, name, declarator.substr(name.size()), dynamic);
      i = skip_space(code_, comma + 1);
    }
    replace(statement_ + (before.size() - trim_left(before).size()), std::min(semicolon + 1, code_.size()), text);
    statement_ = semicolon + 1;
    return semicolon + 1;
  }

  static std::string_view trim_left(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    return text;
  }

  std::string declaration(const std::string& type, std::string_view name, std::string_view extents,
                          bool dynamic) const {
    if (dynamic && in_function()) return fmt::format("{0}* const {1} = wt_cpu::dynamic_lds<{0}>();", type, name);
    if (dynamic) return fmt::format("\n#define {} (wt_cpu::dynamic_lds<{}>())\n", name, type);
    if (!in_function()) {
      return fmt::format(
          "\n#error \"__shared__ variable {} stands outside of a function; the CPU device does not take that\"\n",
          name);
    }
    return fmt::format(
        "typedef {0} wt_type_{1} {2}; static unsigned wt_slot_{1}; "
        "wt_type_{1}& {1} = wt_cpu::shared_variable<wt_type_{1}>(&wt_slot_{1});",
        type, name, extents);
  }

  /// `i` is behind the word __global__.
  void kernel(size_t i) {
    const std::string_view head = std::string_view(code_).substr(statement_, i - statement_);
    if (contains_word(head, "template")) return;
    Found found;
    for (;;) {
      i = skip_space(code_, i);
      const std::string_view word = word_at(code_, i);
      if (word.empty()) return;
      const size_t next = skip_space(code_, i + word.size());
      const bool open = next < code_.size() && code_[next] == '(';
      if (open && word == "__launch_bounds__") {
        const size_t comma = find_top_level(code_, next + 1, ",)");
        found.launch_bounds = std::string(trim(source_.substr(next + 1, comma - next - 1)));
      }
      if (open && (word == "__launch_bounds__" || word == "__attribute__")) {
        i = after_brackets(code_, next);
        continue;
      }
      if (open) {
        found.name = std::string(word);
        const size_t body = skip_space(code_, after_brackets(code_, next));
        if (body >= code_.size() || code_[body] != '{') return;
        break;
      }
      i = next;
    }
    for (const Scope& scope : scopes_) {
      if (!scope.name.empty()) found.qualified += "::" + scope.name;
    }
    found.qualified += "::" + found.name;
    result_.kernels.push_back(found.name);
    found_.push_back(std::move(found));
  }

  void append_table() {
    std::string& text = result_.text;
    text += "\nnamespace wt_cpu {\nstatic constexpr Entry entries[] = {\n";
    for (const Found& found : found_) {
      text += fmt::format(
          "  Kernel<&{}>::entry(\"{}\", {}),\n", found.qualified, found.name,
          found.launch_bounds.empty() ? "max_threads" : "static_cast<unsigned>(" + found.launch_bounds + ")");
    }
    text += fmt::format(
        "  {{}}}};\n}}\nextern \"C\" WT_CPU_EXPORT const wt_cpu::Table wt_cpu_table = "
        "{{wt_cpu::abi_version, {}, wt_cpu::entries}};\n",
        found_.size());
  }

  std::string_view source_;
  std::string code_;
  std::vector<Scope> scopes_;
  std::vector<Found> found_;
  size_t statement_ = 0;  ///< where the current statement began
  size_t copied_ = 0;     ///< how much of the source is in the result
  Rewritten result_;
};

}  // namespace

Rewritten rewrite_for_cpu(std::string_view source) { return Rewriter(source).run(); }

}  // namespace wavetune::hip::cpu
