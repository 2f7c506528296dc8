#include "search/layout/node.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "db/base/error.h"

namespace wavetune::search {
namespace {

constexpr std::int64_t glm_hidden = 6144;

struct Measured {
  std::int64_t m;
  double us;
};

// All-reduce of m rows of 6144 bf16 (12,288 bytes) over 8 MI355X: vLLM pull request 39080, "after".
constexpr std::array<Measured, 7> all_reduce_tp8 = {
    {{2, 6.4}, {4, 6.7}, {8, 6.8}, {16, 7.0}, {32, 7.5}, {64, 9.6}, {128, 12.9}}};
// Sparse MLA decode, 16 heads, 2048 selected tokens, FP8 cache, Triton: sglang pull request 39106.
constexpr std::array<Measured, 5> mla_16_heads = {{{4, 14.33}, {64, 27.40}, {128, 33.48}, {256, 51.06}, {512, 73.60}}};
// What one MI355X sends its peers, bytes a second, by tensor-parallel degree: each of the 7 links carries 76.8 GB/s one
// way (vLLM pull request 39080).
constexpr double link_gb_per_s = 76.8;

/// Seconds for each byte reduced, up to a constant: a two-shot all-reduce sends 2 (n - 1) / n of the message over n - 1
/// links.
double all_reduce_cost(int ranks) {
  const double n = ranks;
  return 2 * (n - 1) / n / ((n - 1) * link_gb_per_s);
}

void add_all_reduce(Node& node) {
  for (const int ranks : {2, 4, 8}) {
    const double scale = all_reduce_cost(ranks) / all_reduce_cost(8);
    const double latency = all_reduce_tp8.front().us;
    for (const auto& [m, us] : all_reduce_tp8) {
      node.references.push_back({{"all_reduce", "bf16", {{"m", m}, {"n", glm_hidden}, {"ranks", ranks}}},
                                 latency + (us - latency) * scale,
                                 ranks == 8 ? CostSource::published : CostSource::estimated});
    }
  }
}

void add_attention(Node& node) {
  for (const int heads : {8, 16, 32, 64}) {
    const double groups = std::max(1, heads / 16);
    for (const auto& [m, us] : mla_16_heads) {
      node.references.push_back(
          {{"mla_attention", "bf16", {{"heads", heads}, {"latent", 512}, {"m", m}, {"rope", 64}, {"topk", 2048}}},
           us * groups,
           heads <= 16 ? CostSource::published : CostSource::estimated});
    }
  }
}

Node mi355x(int devices) {
  Node node;
  node.devices = devices;
  node.name = "AMD Instinct MI355X";
  node.arch = "gfx950";
  node.cu_count = 256;
  node.memory_bytes = std::size_t{288} * 1000 * 1000 * 1000;
  // 256 CUs at the 1.5 GHz that matrix kernels hold under load; HBM: 8 TB/s by the data sheet, of which 7 sustained.
  node.peak = {7.0e6, {{"bf16", 1.57e9}, {"fp8", 3.15e9}, {"mxfp8", 3.15e9}, {"mxfp4", 6.3e9}, {"f32", 0.157e9}}};
  add_all_reduce(node);
  add_attention(node);
  node.assumptions = {
      "device: 288 GB, 7.0 TB/s sustained, matrix units at 1.5 GHz (bf16 1.57, FP8 3.15, MXFP4 6.3 PFLOP/s)",
      "all-reduce over 8 ranks: vLLM pull request 39080, 6.4 us for 24 KB to 12.9 us for 1.5 MB, beyond that at the "
      "same slope; over 4 and 2 ranks: the same latency, the part that grows with the bytes 2.0 and 4.0 times as much "
      "(2 (n-1)/n of the message over n-1 links of 76.8 GB/s)",
      "sparse MLA: sglang pull request 39106 (Triton, 16 heads, 2048 tokens, FP8 cache), beyond batch 512 at the same "
      "slope; 8 heads take as long as 16 (kernels pad), 32 twice and 64 four times as long",
  };
  return node;
}

}  // namespace

Node named_node(const std::string& text) {
  constexpr int most = 8;  // one replica never leaves a node
  const std::size_t cross = text.find_first_of("xX*");
  int count = 0;
  const char* begin = text.data();
  const bool counted = cross != std::string::npos &&
                       std::from_chars(begin, begin + cross, count).ptr == begin + cross && count >= 1 && count <= most;
  const std::string name = cross == std::string::npos ? text : text.substr(cross + 1);
  if (counted && (name == "MI355X" || name == "mi355x")) return mi355x(count);
  fail(ErrorKind::usage,
       "--devices '{}' is not a number from 1 to {} with a known device, as in 8xMI355X (known: MI355X); for devices "
       "of this machine write --device hip, cuda or cpu:4",
       text, most);
}

std::vector<ReferenceTime> references_of(const std::vector<db::PublishedTime>& rows) {
  std::vector<ReferenceTime> references;
  references.reserve(rows.size());
  for (const db::PublishedTime& row : rows) references.push_back({row.problem, row.us, CostSource::published});
  return references;
}

}  // namespace wavetune::search
