#include <nlohmann/json.hpp>
#include <set>

#include "db/base/error.h"
#include "search/inspect/inspection.h"

namespace wavetune::search {
namespace {

using Json = nlohmann::ordered_json;

std::string or_unknown(const std::optional<int>& value) { return value ? std::to_string(*value) : "?"; }

std::string occupancy_text(const isa::OccupancyResult& result) {
  if (const auto* misfit = std::get_if<isa::NotResident>(&result)) return "cannot be resident: " + misfit->reason();
  const auto& fits = std::get<isa::Occupancy>(result);
  std::string text = fmt::format("{} waves per SIMD; blocks per CU: {}, limited by {}", fits.waves_per_simd,
                                 fits.blocks_per_cu, isa::to_string(fits.limiter));
  if (fits.compiler_waves_per_simd != fits.waves_per_simd)
    text += fmt::format(" (the compiler counts {} waves, without whole blocks and LDS granules)",
                        fits.compiler_waves_per_simd);
  return text;
}

std::string mix_text(const isa::LoopReport& loop) {
  std::string text;
  for (const isa::Kind kind : isa::all_kinds) {
    if (loop.count(kind) > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", isa::to_string(kind), loop.count(kind));
  }
  return text;
}

std::string kernel_text(const KernelInspection& kernel) {
  const db::Resources& r = kernel.resources;
  std::string text = "\n" + kernel.kernel;
  if (kernel.blocks) text += fmt::format(": {} blocks of {} threads", *kernel.blocks, kernel.threads);
  if (!kernel.blocks) text += fmt::format(": blocks of {} threads", kernel.threads);
  if (kernel.looked_into) {
    text += fmt::format("\n  registers    VGPR {} (AGPR {} of them), SGPR {}; {} spilled, {} bytes of scratch\n",
                        or_unknown(r.vgpr), or_unknown(r.agpr), or_unknown(r.sgpr), or_unknown(r.spills),
                        or_unknown(r.scratch_bytes));
  } else {
    text += fmt::format("\n  registers    {} a thread; {} spilled, {} bytes of local memory\n", or_unknown(r.vgpr),
                        or_unknown(r.spills), or_unknown(r.scratch_bytes));
  }
  text += fmt::format("  LDS          {} bytes ({} static, {} dynamic)\n",
                      r.lds_bytes.value_or(0) + kernel.dynamic_lds_bytes, r.lds_bytes.value_or(0),
                      kernel.dynamic_lds_bytes);
  text += fmt::format("  occupancy    {}\n", occupancy_text(kernel.occupancy));
  if (!kernel.looked_into) {
    return text +
           "  machine code not looked into: the inner loop's mix and cycles are known for AMD only; cuobjdump -sass "
           "shows it\n";
  }
  const isa::LoopReport& loop = kernel.loop;
  text += loop.is_loop ? fmt::format("  inner loop   {} instructions at {:#x} to {:#x}, depth {}\n", loop.instructions,
                                     loop.begin, loop.end, loop.depth)
                       : fmt::format("  no loop; of the whole kernel, {} instructions:\n", loop.instructions);
  text += fmt::format("  mix          {}\n", mix_text(loop));
  text += fmt::format("  a wave's round  {:.0f} MFMA flops, {:.0f} bytes from global memory, {:.0f} bytes of LDS",
                      loop.flops, loop.global_bytes, loop.lds_bytes);
  if (loop.flops > 0 && loop.global_bytes > 0) text += fmt::format("; {:.4g} bytes per flop", loop.bytes_per_flop());
  if (loop.flops > 0 && loop.global_bytes == 0) text += "; its global loads are outside of it";
  const isa::IssueCycles& cycles = loop.cycles;
  if (cycles.matrix > 0) {
    text += fmt::format("\n  MFMA cycles  {}: {:.1f} % of {:.0f} issue cycles (overlapped), {:.1f} % of {} (serial)",
                        cycles.matrix, 100 * cycles.overlapped_share(), cycles.overlapped, 100 * cycles.serial_share(),
                        cycles.serial());
  } else {
    text += fmt::format("\n  cycles       {} to issue, no MFMA", cycles.other);
  }
  return text + "\n";
}

std::string listing(const KernelInspection& kernel) {
  const std::set<std::size_t> loop(kernel.loop.body.begin(), kernel.loop.body.end());
  std::string text = fmt::format("\n{}:\n", kernel.kernel);
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    const isa::Instruction& instruction = kernel.instructions[i];
    const bool marked = kernel.loop.is_loop && loop.contains(i);
    text += fmt::format("{} {:6x}  {}", marked ? '|' : ' ', instruction.address, instruction.text());
    if (instruction.target) text += fmt::format("  // to {:x}", *instruction.target);
    text += '\n';
  }
  return text;
}

Json resources_json(const KernelInspection& kernel) {
  Json json = Json::object();
  const auto put = [&json](const char* name, const std::optional<int>& value) {
    if (value) json[name] = *value;
  };
  put("vgpr", kernel.resources.vgpr);
  put("agpr", kernel.resources.agpr);
  put("sgpr", kernel.resources.sgpr);
  put("spills", kernel.resources.spills);
  put("scratch_bytes", kernel.resources.scratch_bytes);
  json["static_lds_bytes"] = kernel.resources.lds_bytes.value_or(0);
  json["dynamic_lds_bytes"] = kernel.dynamic_lds_bytes;
  return json;
}

Json occupancy_json(const isa::OccupancyResult& result) {
  if (const auto* misfit = std::get_if<isa::NotResident>(&result)) {
    return {{"resident", false}, {"limiter", isa::to_string(misfit->limiter)}, {"reason", misfit->reason()}};
  }
  const auto& fits = std::get<isa::Occupancy>(result);
  return {{"resident", true},
          {"waves_per_simd", fits.waves_per_simd},
          {"compiler_waves_per_simd", fits.compiler_waves_per_simd},
          {"blocks_per_cu", fits.blocks_per_cu},
          {"limiter", isa::to_string(fits.limiter)}};
}

Json loop_json(const isa::LoopReport& loop) {
  Json mix = Json::object();
  for (const isa::Kind kind : isa::all_kinds) mix[std::string(isa::to_string(kind))] = loop.count(kind);
  return {{"is_loop", loop.is_loop},
          {"depth", loop.depth},
          {"begin", loop.begin},
          {"end", loop.end},
          {"instructions", loop.instructions},
          {"mix", mix},
          {"flops", loop.flops},
          {"global_bytes", loop.global_bytes},
          {"lds_bytes", loop.lds_bytes},
          {"bytes_per_flop", loop.bytes_per_flop()},
          {"mfma_cycles", loop.cycles.matrix},
          {"issue_cycles_serial", loop.cycles.serial()},
          {"issue_cycles_overlapped", loop.cycles.overlapped},
          {"mfma_share_serial", loop.cycles.serial_share()},
          {"mfma_share_overlapped", loop.cycles.overlapped_share()}};
}

}  // namespace

std::string inspection_text(const Inspection& inspection, bool disassembly) {
  std::string text = fmt::format("{} on {}", inspection.title, inspection.arch);
  if (!inspection.compiler.empty()) text += fmt::format(" ({})", inspection.compiler);
  text += "\n";
  if (!inspection.configuration.empty())
    text += fmt::format("configuration ({}): {}\n", inspection.origin, inspection.configuration);
  for (const KernelInspection& kernel : inspection.kernels) text += kernel_text(kernel);
  if (inspection.bounds) {
    const Bounds& bounds = *inspection.bounds;
    text += fmt::format(
        "\nbounds: arithmetic {:.4g} us ({:.4g} GFLOP at {:.4g} PFLOP/s), memory {:.4g} us ({:.4g} MB at {:.3g} "
        "TB/s)\n",
        bounds.arithmetic_us, bounds.flops * 1e-9, bounds.flops_per_s * 1e-15, bounds.memory_us, bounds.bytes * 1e-6,
        bounds.bytes_per_s * 1e-12);
  }
  if (disassembly) {
    for (const KernelInspection& kernel : inspection.kernels) {
      if (kernel.looked_into) text += listing(kernel);
    }
  }
  return text;
}

Json inspection_json(const Inspection& inspection, bool disassembly) {
  Json json = {{"title", inspection.title}, {"arch", inspection.arch}};
  if (!inspection.compiler.empty()) json["compiler"] = inspection.compiler;
  if (!inspection.configuration.empty()) {
    Json values = Json::object();
    for (const auto& [name, value] : db::named_ints_from_text(inspection.configuration)) values[name] = value;
    json["config"] = values;
    json["config_from"] = inspection.origin;
  }
  for (const KernelInspection& kernel : inspection.kernels) {
    Json one = {{"kernel", kernel.kernel}, {"threads", kernel.threads}};
    if (kernel.blocks) one["blocks"] = *kernel.blocks;
    one["resources"] = resources_json(kernel);
    one["occupancy"] = occupancy_json(kernel.occupancy);
    if (kernel.looked_into) one["loop"] = loop_json(kernel.loop);
    if (disassembly && kernel.looked_into) {
      for (const isa::Instruction& instruction : kernel.instructions)
        one["instructions"].push_back({{"address", instruction.address}, {"text", instruction.text()}});
    }
    json["kernels"].push_back(std::move(one));
  }
  if (inspection.bounds) {
    const Bounds& bounds = *inspection.bounds;
    json["bounds"] = {{"arithmetic_us", bounds.arithmetic_us},
                      {"memory_us", bounds.memory_us},
                      {"flops", bounds.flops},
                      {"bytes", bounds.bytes},
                      {"flops_per_s", bounds.flops_per_s},
                      {"bytes_per_s", bounds.bytes_per_s}};
  }
  return json;
}

}  // namespace wavetune::search
