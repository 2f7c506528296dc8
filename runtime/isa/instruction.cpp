#include "runtime/isa/instruction.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace wavetune::isa {
namespace {

constexpr std::string_view blanks = " \t";

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::string_view without_encoding(std::string_view mnemonic) {
  for (const std::string_view suffix : {"_e32", "_e64", "_dpp", "_sdwa"}) {
    if (mnemonic.ends_with(suffix)) return mnemonic.substr(0, mnemonic.size() - suffix.size());
  }
  return mnemonic;
}

bool has_word(std::string_view operands, std::string_view word) {
  std::size_t at = operands.find(word);
  while (at != std::string_view::npos) {
    const bool begins = at == 0 || operands[at - 1] == ' ' || operands[at - 1] == ',';
    const std::size_t end = at + word.size();
    if (begins && (end == operands.size() || operands[end] == ' ' || operands[end] == ',')) return true;
    at = operands.find(word, end);
  }
  return false;
}

/// The first prefix that fits decides.
constexpr std::pair<std::string_view, Kind> prefixes[] = {{"v_mfma_", Kind::mfma},
                                                          {"v_smfmac_", Kind::mfma},
                                                          {"v_nop", Kind::wait},
                                                          {"v_", Kind::valu},
                                                          {"ds_", Kind::lds},
                                                          {"scratch_", Kind::scratch},
                                                          {"s_load_", Kind::smem},
                                                          {"s_buffer_", Kind::smem},
                                                          {"s_scratch_", Kind::smem},
                                                          {"s_store_", Kind::smem},
                                                          {"s_dcache_", Kind::smem},
                                                          {"s_memtime", Kind::smem},
                                                          {"s_memrealtime", Kind::smem},
                                                          {"s_atomic_", Kind::smem},
                                                          {"s_waitcnt", Kind::wait},
                                                          {"s_barrier", Kind::wait},
                                                          {"s_nop", Kind::wait},
                                                          {"s_sleep", Kind::wait},
                                                          {"s_branch", Kind::branch},
                                                          {"s_cbranch_", Kind::branch},
                                                          {"s_endpgm", Kind::branch},
                                                          {"s_setpc_", Kind::branch},
                                                          {"s_swappc_", Kind::branch},
                                                          {"s_call_", Kind::branch},
                                                          {"s_set_gpr_idx", Kind::salu},
                                                          {"s_setreg", Kind::salu},
                                                          {"s_setprio", Kind::other},
                                                          {"s_sethalt", Kind::other},
                                                          {"s_sendmsg", Kind::other},
                                                          {"s_trap", Kind::other},
                                                          {"s_ttrace", Kind::other},
                                                          {"s_icache", Kind::other},
                                                          {"s_inst_prefetch", Kind::other},
                                                          {"s_code_end", Kind::other},
                                                          {"s_", Kind::salu}};

/// buffer_wbl2, buffer_inv and the like order memory and move nothing.
bool is_memory_order(std::string_view mnemonic) {
  return mnemonic.starts_with("buffer_wb") || mnemonic.starts_with("buffer_inv") || mnemonic.starts_with("buffer_gl");
}

Kind kind_of(std::string_view mnemonic, std::string_view operands) {
  const bool memory =
      mnemonic.starts_with("global_") || mnemonic.starts_with("buffer_") || mnemonic.starts_with("flat_");
  if (memory) {
    if (is_memory_order(mnemonic)) return Kind::wait;
    if (mnemonic.find("_load_lds_") != std::string_view::npos || has_word(operands, "lds")) return Kind::global_to_lds;
    return mnemonic.find("_load_") != std::string_view::npos ? Kind::global_load : Kind::global_store;
  }
  for (const auto& [prefix, kind] : prefixes) {
    if (mnemonic.starts_with(prefix)) return kind;
  }
  return Kind::other;
}

std::optional<std::uint64_t> target_of(std::uint64_t next, std::string_view mnemonic, std::string_view operands) {
  if (!mnemonic.starts_with("s_branch") && !mnemonic.starts_with("s_cbranch_")) return std::nullopt;
  const std::string_view last = trim(operands.substr(operands.find_last_of(',') + 1));
  std::int64_t words = 0;
  const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), words);
  if (error != std::errc() || end != last.data() + last.size()) return std::nullopt;
  if (words >= 0x8000) words -= 0x10000;
  return next + static_cast<std::uint64_t>(words * 4);
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::mfma:
      return "MFMA";
    case Kind::lds:
      return "LDS";
    case Kind::global_load:
      return "global load";
    case Kind::global_to_lds:
      return "global to LDS";
    case Kind::global_store:
      return "global store";
    case Kind::scratch:
      return "scratch";
    case Kind::valu:
      return "VALU";
    case Kind::salu:
      return "SALU";
    case Kind::smem:
      return "scalar memory";
    case Kind::wait:
      return "wait";
    case Kind::branch:
      return "branch";
    case Kind::other:
      return "other";
  }
  return "unknown";
}

std::string Instruction::text() const { return operands.empty() ? mnemonic : mnemonic + " " + operands; }

int Instruction::modifier(std::string_view name) const {
  const std::string wanted = std::string(name) + ":";
  const std::size_t at = operands.find(wanted);
  if (at == std::string::npos) return 0;
  int value = 0;
  const char* begin = operands.data() + at + wanted.size();
  std::from_chars(begin, operands.data() + operands.size(), value);
  return value;
}

Instruction parse_instruction(std::uint64_t address, int size, std::string_view text) {
  text = trim(text);
  const std::size_t gap = text.find_first_of(blanks);
  Instruction result;
  result.address = address;
  result.size = size;
  result.mnemonic = without_encoding(text.substr(0, gap));
  if (gap != std::string_view::npos) result.operands = trim(text.substr(gap));
  result.kind = kind_of(result.mnemonic, result.operands);
  if (result.kind == Kind::branch)
    result.target = target_of(address + static_cast<std::uint64_t>(size), result.mnemonic, result.operands);
  return result;
}

bool falls_through(const Instruction& instruction) {
  if (instruction.kind != Kind::branch) return true;
  return instruction.mnemonic.starts_with("s_cbranch_") || instruction.mnemonic.starts_with("s_call_") ||
         instruction.mnemonic.starts_with("s_swappc_");
}

int bytes_per_lane(const Instruction& instruction) {
  constexpr std::pair<std::string_view, int> widths[] = {
      {"dwordx4", 16}, {"dwordx3", 12}, {"dwordx2", 8}, {"b128", 16},  {"b96", 12},  {"b64", 8},
      {"dword", 4},    {"b32", 4},      {"ubyte", 1},   {"sbyte", 1},  {"byte", 1},  {"short", 2},
      {"ushort", 2},   {"b16", 2},      {"u16", 2},     {"i16", 2},    {"b8", 1},    {"u8", 1},
      {"i8", 1},       {"x2", 8},       {"f64", 8},     {"pk_add", 4}, {"atomic", 4}};
  const std::string_view mnemonic = instruction.mnemonic;
  for (const auto& [word, bytes] : widths) {
    if (mnemonic.find(word) == std::string_view::npos) continue;
    const bool pair = mnemonic.starts_with("ds_read2") || mnemonic.starts_with("ds_write2");
    return pair ? 2 * bytes : bytes;
  }
  return 0;
}

}  // namespace wavetune::isa
