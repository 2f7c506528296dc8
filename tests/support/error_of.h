// What an action that must fail fails with.
#pragma once

#include <gtest/gtest.h>

#include "db/base/error.h"

namespace wavetune::test {

/// Runs `action` and gives the Error that it throws; fails the test when there is none.
template <class Action>
Error error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorKind::internal, "");
}

}  // namespace wavetune::test
