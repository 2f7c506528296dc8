// The "KernelSpecification" of a T1 file: a kernel from outside, how it is launched, its arguments, and what its
// results are compared with.
//
// T1's own fields:
//   Language         "CUDA" or "HIP": both are compiled as HIP, for every device
//   KernelFile       the source; relative to the T1 file
//   KernelName       a __global__ function of it, no template; C++ linkage is fine
//   CompilerOptions  list: -D, -U, -I, -O, -f, -W, -g; --use_fast_math becomes -ffast-math; -std= is not passed on,
//   since
//                    kernels are compiled as C++20
//   ProblemSize      a number or a list of up to three: "ProblemSize" in expressions, and the shape in the database
//   LocalSize        {X, Y, Z}: threads of a block. Absent: block_size_x, block_size_y and block_size_z where there are
//                    such parameters
//   GlobalSize       {X, Y, Z}: blocks for GlobalSizeType "CUDA" (the default), threads for "OpenCL"
//   GridDivX, Y, Z   lists of divisors: the number of blocks is ProblemSize / their product, rounded up. They win over
//                    GlobalSize, as they do in Kernel Tuner
//   SharedMemory     bytes of dynamic LDS
//   Arguments        list, in the order of the kernel's parameters:
//     Name, Type (templates/t1/kernel_types.h), MemoryType "Vector" (a pointer) or "Scalar", Size (elements of a
//     vector) AccessType     "ReadOnly", "WriteOnly" (begins as NaN, or as a pattern for integers), "ReadWrite"
//     FillType       "Constant": FillValue. "Random": uniform from 0 to FillValue (integers: up to and with it), or in
//                    FillValue [low, high]. "Generator": DataSource is an expression with the element's index i.
//                    "BinaryRaw": DataSource is a file of the elements, little-endian
//     FillValue      of a scalar: its value
//     Output         1: this one is compared. Without any, all vectors that the kernel writes are
// Our additions, all optional:
//   Reference        what results are compared with. Absent: what the kernel itself computes in its Default
//   configuration
//     Configuration  {parameter: value}: another configuration of the kernel
//     KernelName     another kernel, with the same parameter list, launched by KernelFile (absent: the same file),
//                    LocalSize, GlobalSize, GlobalSizeType, GridDivX/Y/Z and SharedMemory of the Reference. Parameters
//                    {name: value} are defined for it; the tuning parameters are not
//     Outputs        {argument: file}: the elements, little-endian
//   Tolerance        {Absolute, Relative}: |x - reference| <= Absolute + Relative * |reference|. Also in an argument.
//                    Integers must be equal
//   Cost             {Flops, Bytes}: for the roofline. Bytes absent: every argument once
//
// Numbers may be expressions in strings. They see ProblemSize (a list) and the tuning parameters; in sizes of arguments
// and in Cost a parameter is the list of all its values, as in "max(filter_width)".
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "templates/operator.h"
#include "templates/t1/kernel_arguments.h"
#include "templates/t1/kernel_launch.h"
#include "templates/t1/t1_file.h"

namespace wavetune::templates {

struct ReferenceConfiguration {
  std::optional<Config> config;  ///< nothing: the default configuration
};
struct ReferenceKernel {
  std::filesystem::path file;
  std::string name;
  std::map<std::string, Value> parameters;
  KernelLaunch launch;
};
struct ReferenceFiles {
  std::map<std::string, std::filesystem::path> outputs;  ///< by argument; one for each that is compared
};
using KernelReference = std::variant<ReferenceConfiguration, ReferenceKernel, ReferenceFiles>;

struct KernelSpec {
  std::string where;  ///< "my.json: KernelSpecification", for messages
  std::filesystem::path file;
  std::string kernel;
  std::vector<std::string> compile_options;
  std::vector<std::int64_t> problem_size;  ///< up to three
  KernelLaunch launch;
  std::vector<KernelArgument> arguments;
  KernelReference reference;
  std::optional<Cost> cost;
  std::vector<std::string> notes;  ///< what of the file is not used, in the reader's words
};

/// Throws Error bad_data that names the file, the place in it, what is wrong and what is accepted; not_found when the
/// file has no KernelSpecification.
KernelSpec parse_kernel_spec(const T1File& file);

/// ProblemSize, and each parameter as the list of its values.
Scope size_scope(const T1File& file, const std::vector<std::int64_t>& problem_size);
/// ProblemSize, and each parameter with its value in `config`.
Scope config_scope(const T1File& file, const std::vector<std::int64_t>& problem_size, const Config& config);
/// ProblemSize, and the kernel's own parameters.
Scope reference_scope(const ReferenceKernel& kernel);

}  // namespace wavetune::templates
