#include "search/measure/expectation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "db/base/error.h"

namespace wavetune::measure {

using templates::Compared;
using templates::HostTensor;
using templates::Role;

std::unique_ptr<Expectation> Expectation::of(const hip::Api& api, DeviceChecks& checks,
                                             std::shared_ptr<const PreparedProblem> prepared) {
  std::unique_ptr<Expectation> expectation(new Expectation(api, checks, std::move(prepared)));
  if (!expectation->add_outputs()) return nullptr;
  if (expectation->prepared_->sample) {
    expectation->compute_on_device();
    expectation->disagreement_ = expectation->compare_with_sample();
  } else {
    expectation->copy_from(expectation->prepared_->expected);
  }
  return expectation;
}

/// False when the host must compare.
bool Expectation::add_outputs() {
  for (std::size_t i = 0; i < prepared_->specs.size(); ++i) {
    const templates::OperandSpec& spec = prepared_->specs[i];
    const templates::ComparedOperand compared = prepared_->op->compared(prepared_->problem, i);
    if (compared.how == Compared::not_at_all) continue;
    if (compared.how == Compared::in_its_own_way || !DeviceChecks::compares(spec.dtype)) return false;
    outputs_.push_back(
        {i, compared.tolerance, hip::DeviceBuffer(api_, templates::bytes_for(spec.dtype, spec.count()))});
  }
  return true;
}

void Expectation::copy_from(const std::vector<HostTensor>& expected) {
  for (const Output& output : outputs_) {
    hip::check(api_,
               api_.hipMemcpy(output.expected.get(), expected[output.operand].bytes().data(), output.expected.bytes(),
                              hipMemcpyHostToDevice),
               "hipMemcpy of the reference's " + prepared_->specs[output.operand].name);
  }
}

void Expectation::compute_on_device() {
  std::vector<hip::DeviceBuffer> inputs;
  std::vector<void*> buffers;
  for (std::size_t i = 0; i < prepared_->specs.size(); ++i) {
    if (prepared_->specs[i].role == Role::output) {
      buffers.push_back(output(i).expected.get());
      continue;
    }
    const std::span<const std::byte> bytes = prepared_->inputs[i].bytes();
    inputs.emplace_back(api_, bytes.size());
    buffers.push_back(inputs.back().get());
    hip::check(api_, api_.hipMemcpy(inputs.back().get(), bytes.data(), bytes.size(), hipMemcpyHostToDevice),
               "hipMemcpy of operand " + prepared_->specs[i].name);
  }
  const std::optional<templates::Launch> launch = prepared_->op->reference_launch(prepared_->problem, buffers);
  if (!launch) fail(ErrorKind::internal, "{} has a sample and no reference on the device", prepared_->op->name());
  checks_.compute(*launch);
}

std::optional<std::string> Expectation::compare_with_sample() const {
  const templates::ReferenceSample& sample = *prepared_->sample;
  const auto found = std::ranges::find(outputs_, sample.operand, &Output::operand);
  if (found == outputs_.end()) fail(ErrorKind::internal, "the sample is not of an output");
  const templates::OperandSpec& spec = prepared_->specs[sample.operand];
  const templates::Tolerance& tolerance = found->tolerance;
  HostTensor row(spec.dtype, spec.cols);
  std::int64_t row_there = -1;
  for (std::size_t i = 0; i < sample.indices.size(); ++i) {
    const std::int64_t index = sample.indices[i];
    if (index / spec.cols != row_there) {
      row_there = index / spec.cols;
      const std::size_t bytes = row.bytes().size();
      hip::check(api_,
                 api_.hipMemcpy(
                     row.bytes().data(),
                     static_cast<const std::byte*>(found->expected.get()) + static_cast<std::size_t>(row_there) * bytes,
                     bytes, hipMemcpyDeviceToHost),
                 "hipMemcpy of a row of the reference");
    }
    const double got = row.at(index % spec.cols), wanted = sample.values[i];
    if (std::fabs(got - wanted) <= tolerance.absolute + tolerance.relative * std::fabs(wanted)) continue;
    return fmt::format("{}[{}] is {} on the device and {} on the host", spec.name, index, got, wanted);
  }
  return std::nullopt;
}

void Expectation::compute_on_host() {
  copy_from(reference_on_host(*prepared_));
  disagreement_.reset();
}

double Expectation::worst(const OperandPool& pool) {
  const std::vector<templates::View> views = pool.views(0);
  double worst = 0;
  for (const Output& output : outputs_) {
    const templates::OperandSpec& spec = prepared_->specs[output.operand];
    worst = std::max(worst, checks_.worst(nullptr, {views[output.operand].data, output.expected.get(), spec.dtype,
                                                    spec.count(), output.tolerance}));
  }
  return worst;
}

std::vector<HostTensor> Expectation::on_host() const {
  // Some operators compare with their inputs too, and inouts that are not compared are small.
  std::vector<HostTensor> tensors =
      prepared_->sample ? std::vector<HostTensor>(prepared_->specs.size()) : prepared_->expected;
  for (const Output& output : outputs_) tensors[output.operand] = download(output);
  return tensors;
}

Expectation::Output& Expectation::output(std::size_t operand) {
  const auto found = std::ranges::find(outputs_, operand, &Output::operand);
  if (found == outputs_.end()) fail(ErrorKind::internal, "operand {} is not compared", operand);
  return *found;
}

HostTensor Expectation::download(const Output& output) const {
  const templates::OperandSpec& spec = prepared_->specs[output.operand];
  HostTensor tensor(spec.dtype, spec.count());
  hip::check(
      api_,
      api_.hipMemcpy(tensor.bytes().data(), output.expected.get(), output.expected.bytes(), hipMemcpyDeviceToHost),
      "hipMemcpy of the reference's " + spec.name);
  return tensor;
}

std::size_t Expectation::bytes() const {
  std::size_t bytes = 0;
  for (const Output& output : outputs_) bytes += output.expected.bytes();
  return bytes;
}

}  // namespace wavetune::measure
