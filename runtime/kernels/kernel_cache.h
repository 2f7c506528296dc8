// Kernels that are compiled and loaded: problem -> configuration -> source -> code object -> module on a device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "runtime/hip/handles.h"
#include "runtime/hip/provider.h"
#include "runtime/jit/compile_service.h"
#include "runtime/kernels/kernel_table.h"

namespace wavetune::kernels {

/// One code object on one device. Functions are looked up once.
class LoadedModule {
 public:
  LoadedModule(const hip::Api& api, std::span<const std::byte> code)
      : api_(api), module_(hip::load_module(api, code)) {}
  /// Throws Error device when the code object has no kernel of that name.
  hipFunction_t function(const std::string& name);

 private:
  const hip::Api& api_;
  hip::Module module_;
  std::map<std::string, hipFunction_t, std::less<>> functions_;
};

/// What a problem runs with. `module` belongs to the cache.
struct LoadedKernel {
  const templates::Operator* op = nullptr;
  Choice choice;
  LoadedModule* module = nullptr;
};

/// Distinct problems run so far, by match.
struct LookupCounters {
  std::int64_t exact = 0;
  std::int64_t bucket = 0;
  std::int64_t nearest = 0;
  std::int64_t fallback = 0;
};

/// Where the code objects that were asked for so far came from.
struct CodeSources {
  std::int64_t database = 0;
  std::int64_t cache = 0;     ///< the compile service's, on disk
  std::int64_t compiled = 0;  ///< now
};

/// The code object that a request was compiled to earlier, if it is kept somewhere. The service tells what a request's
/// result is called where that depends on the compiler (jit::CompileService::key).
using CodeLookup =
    std::function<std::optional<std::vector<std::byte>>(const jit::CompileRequest&, const jit::CompileService&)>;

/// What to do when a problem has no winner.
enum class UntunedPolicy {
  quiet,   ///< run on the default configuration (no database was given, so nothing else is expected)
  warn,    ///< the same, and one log line for each such problem
  refuse,  ///< throw Error incompatible (--require-tuned)
};

/// Thread-safe. One code object serves every problem that gives the same source text, and is compiled once for all
/// devices.
class KernelCache {
 public:
  /// `compiler` must outlive the cache. `stored` is asked before anything is compiled: the database's code of winners.
  KernelCache(std::shared_ptr<const hip::Provider> provider, jit::CompileService& compiler, WinnerIndex winners,
              UntunedPolicy policy, CodeLookup stored = {});

  /// Says how the weights of a problem's family lie, before any kernel of it is asked for.
  void set_orders(const db::Problem& problem, Orders orders);
  /// Compiles in parallel what `problems` need and is not stored, and loads it on `devices` (none: it is only made);
  /// says in the log what came from where. Throws Error device with the compiler's text.
  void prepare(std::span<const db::Problem> problems, std::span<const int> devices);
  /// The kernel for a problem on a device, compiled now when prepare() did not see it. The reference stays valid.
  /// Counts the lookup and applies the policy the first time that a problem is asked for.
  const LoadedKernel& get(const db::Problem& problem, int device) { return get(problem, problem, device); }
  /// Same, for a problem that runs with the kernel of another one: its step's shape rounded up.
  const LoadedKernel& get(const db::Problem& problem, const db::Problem& lookup, int device);

  /// The code objects made so far, by jit::program_key.
  std::map<std::string, std::vector<std::byte>> code() const;
  LookupCounters counters() const;
  CodeSources code_sources() const;
  const WinnerIndex& winners() const { return winners_; }

 private:
  struct Resolved {
    Choice choice;
    std::string code_key;
  };

  const Resolved& resolve(const db::Problem& problem);
  void compile_missing();
  jit::CompileRequest request_for(const db::Problem& problem, const db::Config& config) const;
  bool take_stored(const std::string& key, const jit::CompileRequest& request);
  LoadedModule& load(const std::string& code_key, int device);
  void count(const db::Problem& problem, const db::Problem& lookup, const Choice& choice);

  std::shared_ptr<const hip::Provider> provider_;
  jit::CompileService& compiler_;
  WinnerIndex winners_;
  UntunedPolicy policy_;
  CodeLookup stored_;
  std::string prelude_;

  mutable std::mutex mutex_;
  std::map<db::Problem, Resolved> resolved_;
  std::map<std::string, jit::CompileRequest> pending_;  ///< by code key (jit::program_key); not compiled yet
  std::map<std::string, std::string> labels_;           ///< code key -> a problem that uses it, for messages
  std::map<std::string, std::vector<std::byte>> code_;  ///< code key -> code object
  std::map<std::pair<std::string, int>, LoadedModule> modules_;
  std::map<std::pair<db::Problem, int>, LoadedKernel> kernels_;
  std::unordered_set<std::size_t> counted_;  ///< hashes of keys: steps have many more shapes than are looked up
  std::set<db::Problem> told_;               ///< looked-up problems that the log has named
  LookupCounters counters_;
  CodeSources sources_;
};

}  // namespace wavetune::kernels
