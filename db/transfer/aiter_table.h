// Tuned tables of ROCm/aiter (aiter/configs/*.csv): a header line, then a row for each problem with the kernel that
// AITER takes and its time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/published_time.h"

namespace wavetune::db {

inline constexpr std::string_view aiter = "aiter";
/// What a kernel's name begins with in rows about our own winners (aiter_winners.h).
inline constexpr std::string_view own_kernel = "wavetune:";

/// Told apart by the columns alone. a8w8_blockscale and a8w8_blockscale_bpreshuffle have the same.
enum class AiterTable {
  bf16_gemm,             ///< columns dtype and outdtype
  a8w8_gemm,             ///< column q_dtype_w: FP8 or int8, a scale for each token and output channel
  a8w8_blockscale_gemm,  ///< neither, but libtype: FP8, scales of blocks of 1x128 and 128x128
  a4w4_blockscale_gemm,  ///< none of these: MXFP4
  fused_moe,             ///< columns token, model_dim, inter_dim, expert, topk; times of two stages
};

/// Nothing when `header` is not that of such a table.
std::optional<AiterTable> aiter_table(std::string_view header);

/// The tables that are known, for messages and help.
std::string aiter_table_names();

struct UnreadRow {
  std::size_t line = 0;  ///< in the file; the header is line 1
  std::string reason;
};

struct AiterRows {
  std::vector<PublishedTime> rows;  ///< created_at is empty
  std::vector<UnreadRow> unread;
  std::size_t own = 0;  ///< rows about wavetune's winners, left out
};

/// Reads a table. The last part of `name`, its path, becomes the origin of its rows. A row that cannot be read is named
/// and left out: fields are missing or too many, a number is none or out of range, a word is unknown, the time is not
/// positive and finite (AITER writes 0 and inf where it has none). Only the last column _tag may be missing. Tables
/// without a column gfx are read as AITER reads them (chip_info.py): 256 compute units are gfx950, 80 and 304 gfx942.
/// Line ends may be \n or \r\n. Throws Error bad_data for an unknown header.
AiterRows read_aiter_table(std::string_view text, const std::string& name);

}  // namespace wavetune::db
