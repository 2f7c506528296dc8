#include "db/transfer/aiter_formats.h"

namespace wavetune::db {
namespace {

struct Word {
  std::string_view theirs, ours;
};

constexpr Word plain_types[] = {{"torch.bfloat16", "bf16"}, {"torch.float16", "f16"}};
constexpr Word narrow_types[] = {{"torch.float8_e4m3fn", "fp8"},
                                 {"torch.float8_e4m3fnuz", "fp8"},
                                 {"torch.float4_e2m1fn_x2", "fp4"},
                                 {"torch.int8", "int8"},
                                 {"torch.int4", "int4"}};
// per_128x128 says it of the weights' blocks, per_1x128 of the activations': the same kernels.
constexpr Word scalings[] = {{"QuantType.per_1x32", "1x32"},
                             {"QuantType.per_1x128", "block"},
                             {"QuantType.per_128x128", "block"},
                             {"QuantType.per_Token", "token"},
                             {"QuantType.per_Tensor", "tensor"}};
constexpr std::string_view our_moe_dtypes[] = {"bf16", "fp8_block", "fp8_token", "mxfp4", "bf16_mxfp4"};

template <std::size_t size>
std::optional<std::string> find(const Word (&words)[size], std::string_view theirs) {
  for (const Word& word : words) {
    if (word.theirs == theirs) return std::string(word.ours);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> dtype_of_dense(std::string_view dtype, std::string_view outdtype, std::string_view bias) {
  auto format = find(plain_types, dtype);
  if (!format) return std::nullopt;
  if (outdtype == "torch.float32") {
    *format += "_f32";
  } else if (outdtype != dtype) {
    return std::nullopt;
  }
  if (bias == "True") return *format + "_bias";
  return bias == "False" ? format : std::nullopt;
}

std::optional<std::string> operand_dtype(std::string_view torch_type, std::string_view quant_type) {
  if (auto plain = find(plain_types, torch_type)) return plain;
  const auto type = find(narrow_types, torch_type);
  const auto scaling = find(scalings, quant_type);
  if (!type || !scaling) return std::nullopt;
  // Blocks of 32 with a scale that is a power of two are the OCP's microscaling formats; they have none of integers.
  if (*scaling == "1x32" && type->starts_with("fp")) return "mx" + *type;
  return *type + '_' + *scaling;
}

std::optional<std::string> dtype_of_moe(const AiterQuantisation& columns) {
  const auto activations = operand_dtype(columns.activations, columns.type);
  const auto weights = operand_dtype(columns.weights, columns.type);
  if (!activations || !weights) return std::nullopt;
  return *activations == *weights ? weights : *activations + '_' + *weights;
}

std::optional<AiterQuantisation> moe_columns(std::string_view dtype) {
  bool ours = false;
  for (const std::string_view known : our_moe_dtypes) ours = ours || known == dtype;
  if (!ours) return std::nullopt;
  if (dtype == "bf16") return AiterQuantisation{"torch.bfloat16", "torch.bfloat16", "QuantType.No"};
  for (const Word& a : narrow_types) {
    for (const Word& scaling : scalings) {
      AiterQuantisation same{std::string(a.theirs), std::string(a.theirs), std::string(scaling.theirs)};
      if (dtype_of_moe(same) == dtype) return same;
      same.activations = "torch.bfloat16";
      if (dtype_of_moe(same) == dtype) return same;
    }
  }
  return std::nullopt;
}

}  // namespace wavetune::db
