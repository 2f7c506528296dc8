#include "templates/t1/kernel_arguments.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "db/base/error.h"
#include "db/base/file.h"
#include "templates/fill.h"

namespace wavetune::templates {
namespace {

using db::JsonReader;

// Beyond this a size is a mistake in an expression, and would end as a failed allocation.
constexpr std::int64_t most_bytes = std::int64_t{1} << 40;

/// What rounding leaves when sums are taken in another order.
Tolerance usual_tolerance(DType type) {
  switch (type) {
    case DType::f64:
      return {1e-10, 1e-9};
    case DType::bf16:
      return {1e-2, 2e-2};
    case DType::f16:
      return {2e-3, 4e-3};
    default:
      return {1e-5, 1e-4};
  }
}

Tolerance read_tolerance(const JsonReader& holder, Tolerance tolerance, SpecReader& reader) {
  const auto place = holder.find("Tolerance");
  if (!place) return tolerance;
  const auto read = [&place](const char* name, double& value) {
    const auto field = place->find(name);
    if (!field) return;
    value = field->number();
    if (!(value >= 0)) field->fail_here("must not be negative");
  };
  read("Absolute", tolerance.absolute);
  read("Relative", tolerance.relative);
  reader.note_unknown(*place, {"Absolute", "Relative"});
  return tolerance;
}

RandomFill random_fill(const JsonReader& argument) {
  const auto value = argument.find("FillValue");
  if (!value) return {0, 1};
  if (!value->json().is_array()) return {std::min(0.0, value->number()), std::max(0.0, value->number())};
  const std::vector<JsonReader> ends = value->elements();
  if (ends.size() != 2 || ends[0].number() > ends[1].number()) value->fail_here("must be [low, high]");
  return {ends[0].number(), ends[1].number()};
}

Fill read_fill(const JsonReader& argument, const SpecReader& reader, const std::filesystem::path& folder) {
  const auto type = argument.find("FillType");
  if (!type) return ConstantFill{argument.at("FillValue").number()};
  switch (reader.word(*type, {"Constant", "Random", "Generator", "BinaryRaw"})) {
    case 0:
      return ConstantFill{argument.at("FillValue").number()};
    case 1:
      return random_fill(argument);
    case 2:
      return GeneratedFill{reader.expression(argument.at("DataSource"), {"i"})};
    default:
      return FileFill{folder / argument.at("DataSource").text()};
  }
}

KernelType read_type(const JsonReader& place) {
  const std::optional<KernelType> type = kernel_type(place.text());
  if (!type) place.fail_here(fmt::format("unknown type '{}' (known: {})", place.text(), known_kernel_types()));
  return *type;
}

void read_vector(const JsonReader& place, const SpecReader& reader, const Scope& sizes,
                 const std::filesystem::path& folder, KernelArgument& argument) {
  const JsonReader size = place.at("Size");
  argument.elements = reader.expression(size).integer(sizes);
  if (argument.elements < 1 || argument.elements > most_bytes / static_cast<std::int64_t>(argument.type.bytes()))
    size.fail_here(fmt::format("{} elements of {}; it must be at least 1", argument.elements, argument.type.name));
  const std::size_t access = reader.word(place.at("AccessType"), {"ReadOnly", "WriteOnly", "ReadWrite"});
  argument.role = access == 0 ? Role::input : access == 1 ? Role::output : Role::inout;
  if (argument.role != Role::output) argument.fill = read_fill(place, reader, folder);
}

KernelArgument read_argument(const JsonReader& place, SpecReader& reader, const Scope& sizes,
                             const std::filesystem::path& folder) {
  KernelArgument argument;
  argument.name = place.at("Name").text();
  argument.type = read_type(place.at("Type"));
  argument.vector = reader.word(place.at("MemoryType"), {"Scalar", "Vector"}) == 1;
  if (const auto memory = place.find("MemType"); memory && reader.word(*memory, {"Global", "Constant"}) == 1) {
    memory->fail_here(
        "__constant__ variables are not filled; let the kernel take a pointer (const, __restrict__) and leave this "
        "out");
  }
  if (argument.vector) {
    read_vector(place, reader, sizes, folder, argument);
  } else {
    if (argument.type.components > 1) place.at("Type").fail_here("vector types cannot be passed by value");
    argument.value = reader.expression(place.at("FillValue"));
  }
  if (const auto output = place.find("Output"); output && reader.flag(*output)) {
    if (!argument.vector || argument.role == Role::input)
      output->fail_here("only a vector that is WriteOnly or ReadWrite can be an output");
    argument.compared = true;
  }
  reader.note_unknown(place, {"Name", "Type", "MemoryType", "AccessType", "MemType", "Size", "FillType", "FillValue",
                              "DataSource", "Output", "Tolerance"});
  return argument;
}

template <class T>
void append_bytes(const T& value, std::vector<std::byte>& buffer) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  buffer.insert(buffer.end(), bytes, bytes + sizeof(T));
}

bool fits(std::int64_t value, DType type) {
  const auto bits = static_cast<int>(bits_of(type));
  // Expressions have 64 signed bits.
  const bool is_signed = type == DType::i8 || type == DType::i16 || type == DType::i32 || type == DType::i64;
  if (!is_signed) return value >= 0 && (bits == 64 || value >> bits == 0);
  return bits == 64 || (value >= -(std::int64_t{1} << (bits - 1)) && value < std::int64_t{1} << (bits - 1));
}

void append_scalar(const KernelArgument& argument, const Scope& scope, std::vector<std::byte>& buffer) {
  if (!is_integer(argument.type.dtype)) {
    HostTensor one(argument.type.dtype, 1);
    one.set(0, argument.value->number(scope));
    buffer.insert(buffer.end(), one.bytes().begin(), one.bytes().end());
    return;
  }
  const std::int64_t value = argument.value->integer(scope);
  if (!fits(value, argument.type.dtype)) {
    fail(ErrorKind::bad_data, "{}: {} does not fit in {}", argument.value->where(), value, argument.type.name);
  }
  std::vector<std::byte> bytes;
  append_bytes(value, bytes);  // little-endian: the low bytes come first
  buffer.insert(buffer.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(argument.type.bytes()));
}

}  // namespace

std::vector<KernelArgument> read_arguments(const JsonReader& specification, SpecReader& reader, const Scope& sizes,
                                           const std::filesystem::path& folder) {
  const JsonReader list = specification.at("Arguments");
  std::vector<KernelArgument> arguments;
  bool any_compared = false;
  for (const JsonReader& place : list.elements()) {
    KernelArgument argument = read_argument(place, reader, sizes, folder);
    for (const KernelArgument& other : arguments) {
      if (other.name == argument.name) place.fail_here(fmt::format("the argument '{}' is there twice", other.name));
    }
    const Tolerance all = read_tolerance(specification, usual_tolerance(argument.type.dtype), reader);
    argument.tolerance = read_tolerance(place, all, reader);
    any_compared = any_compared || argument.compared;
    arguments.push_back(std::move(argument));
  }
  if (!any_compared) {
    for (KernelArgument& argument : arguments) {
      argument.compared = argument.vector && argument.role != Role::input;
      any_compared = any_compared || argument.compared;
    }
  }
  if (!any_compared) list.fail_here("no vector is WriteOnly or ReadWrite: nothing of what the kernel does can be seen");
  return arguments;
}

void fill_argument(const KernelArgument& argument, const Scope& sizes, std::mt19937_64& random, HostTensor& tensor) {
  if (const auto* constant = std::get_if<ConstantFill>(&argument.fill)) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, constant->value);
  } else if (const auto* range = std::get_if<RandomFill>(&argument.fill)) {
    if (is_integer(argument.type.dtype)) {
      const auto low = static_cast<std::int64_t>(std::ceil(range->low));
      const auto high = static_cast<std::int64_t>(std::floor(range->high));
      fill_indices(tensor, random, low, std::max(low, high) + 1);
    } else {
      fill_uniform(tensor, random, range->low, range->high);
    }
  } else if (const auto* generated = std::get_if<GeneratedFill>(&argument.fill)) {
    Scope scope = sizes;
    Value& index = scope["i"];
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      index = Value(i);
      tensor.set(i, generated->element.number(scope));
    }
  } else {
    read_elements(std::get<FileFill>(argument.fill).path, argument, tensor);
  }
}

void read_elements(const std::filesystem::path& path, const KernelArgument& argument, HostTensor& tensor) {
  const std::string bytes = read_file(path);
  if (bytes.size() != tensor.bytes().size()) {
    fail(ErrorKind::bad_data, "{} has {} bytes; the argument '{}' has {} ({} elements of {})", path.string(),
         bytes.size(), argument.name, tensor.bytes().size(), argument.elements, argument.type.name);
  }
  std::memcpy(tensor.bytes().data(), bytes.data(), bytes.size());
}

std::vector<std::byte> pack_arguments(std::span<const KernelArgument> arguments, std::span<const View> vectors,
                                      const Scope& scope) {
  std::vector<std::byte> buffer;
  std::size_t next = 0;
  for (const KernelArgument& argument : arguments) {
    const std::size_t size = argument.vector ? sizeof(void*) : argument.type.bytes();
    buffer.resize((buffer.size() + size - 1) / size * size);
    if (argument.vector) {
      append_bytes(vectors[next++].data, buffer);
    } else {
      append_scalar(argument, scope, buffer);
    }
  }
  return buffer;
}

}  // namespace wavetune::templates
