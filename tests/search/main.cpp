// Tests of search/ start themselves as compile and measuring workers, so that the workers know the planted operator.
#include <gtest/gtest.h>

#include <string_view>

#include "runtime/isa/disassembler.h"
#include "runtime/jit/compile_service.h"
#include "search/measure/measure_worker.h"
#include "tests/search/support/planted_operator.h"

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word == "__compile-worker") return wavetune::jit::compile_worker_main();
  if (word == "__disassemble-worker") return wavetune::isa::disassemble_worker_main();
  if (word == "__measure-worker") return wavetune::measure::serve_measurements(wavetune::test::find_with_planted);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
