// One instruction of an AMD kernel as the disassembler writes it, and what kind of work it is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wavetune::isa {

/// Which unit does an instruction's work. `wait` are instructions that do none.
enum class Kind {
  mfma,           ///< matrix core: v_mfma_*
  lds,            ///< ds_*
  global_load,    ///< global_/buffer_/flat_ loads into registers
  global_to_lds,  ///< the same straight into LDS
  global_store,   ///< stores and atomics
  scratch,        ///< scratch_*: spilled registers and private arrays
  valu,
  salu,
  smem,    ///< scalar loads (s_load_*, s_buffer_load_*) and cache control
  wait,    ///< s_waitcnt*, s_barrier, s_nop, s_sleep
  branch,  ///< s_branch, s_cbranch_*, s_endpgm, s_setpc_b64, s_swappc_b64
  other,   ///< hints (s_setprio, s_sethalt, ...) and what is not known
};
inline constexpr std::array all_kinds = {Kind::mfma,         Kind::lds,  Kind::global_load, Kind::global_to_lds,
                                         Kind::global_store, Kind::valu, Kind::scratch,     Kind::salu,
                                         Kind::smem,         Kind::wait, Kind::branch,      Kind::other};
std::string_view to_string(Kind kind);

struct Instruction {
  std::uint64_t address = 0;
  int size = 4;          ///< bytes
  std::string mnemonic;  ///< "v_mfma_f32_16x16x32_bf16", without the encoding suffixes _e32, _e64, _dpp, _sdwa
  std::string operands;  ///< "a[0:3], v[0:3], v[4:7], a[0:3] cbsz:4"
  Kind kind = Kind::other;
  /// Where a branch goes to; nothing for indirect ones and everything else.
  std::optional<std::uint64_t> target;

  std::string text() const;
  /// Value of a modifier written "name:value" ("cbsz", "blgp"), 0 when it is not there.
  int modifier(std::string_view name) const;
};

/// Takes one line of disassembly apart. `text` holds mnemonic and operands without the address. A branch's operand is
/// the signed distance in words from the next instruction, as SOPP encodes it (printed unsigned, "65400").
Instruction parse_instruction(std::uint64_t address, int size, std::string_view text);

/// True for branches that may fall through to the next instruction (s_cbranch_*), calls included.
bool falls_through(const Instruction& instruction);

/// Bytes that one lane moves by a load or store, from the mnemonic ("dwordx4" 16, "ubyte" 1, "short_d16" 2); 0 when the
/// mnemonic does not tell (atomics count the bytes of their operand).
int bytes_per_lane(const Instruction& instruction);

}  // namespace wavetune::isa
