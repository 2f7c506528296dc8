// Which number formats AITER's columns mean, in our words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wavetune::db {

/// Columns q_dtype_a, q_dtype_w and q_type of a fused MoE.
struct AiterQuantisation {
  std::string activations, weights, type;
};

/// Number format of a dense product in 16 bits, from the columns dtype, outdtype and bias: "bf16", "bf16_f32" (float32
/// result), "f16", each with "_bias" where there is one. Nothing for other words.
std::optional<std::string> dtype_of_dense(std::string_view dtype, std::string_view outdtype, std::string_view bias);

/// Number format of one operand: torch.float8_e4m3fn (or fnuz) in QuantType.per_1x128 is "fp8_block", in per_Token
/// "fp8_token", in per_Tensor "fp8_tensor", in per_1x32 "mxfp8"; torch.float4_e2m1fn_x2 in per_1x32 is "mxfp4"; int8
/// and int4 are named likewise ("int8_token", "int4_1x32"). torch.bfloat16 and torch.float16 are not quantised. Nothing
/// for other words.
std::optional<std::string> operand_dtype(std::string_view torch_type, std::string_view quant_type);

/// That of a fused MoE: the weights' when the activations have the same, else both ("bf16_mxfp4").
std::optional<std::string> dtype_of_moe(const AiterQuantisation& columns);

/// Inverse of dtype_of_moe for the formats that grouped_gemm has; nothing where AITER has no such kernel.
std::optional<AiterQuantisation> moe_columns(std::string_view dtype);

}  // namespace wavetune::db
