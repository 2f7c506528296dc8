// Expecting an Error of a kind with a message.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "db/base/error.h"

namespace wavetune::model {

/// `action` must throw Error of `kind` whose message holds `part` and is one line.
template <class Action>
void expect_error(Action action, ErrorKind kind, std::string_view part) {
  try {
    action();
    ADD_FAILURE() << "no error; expected: " << part;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << message;
    EXPECT_NE(message.find(part), std::string::npos) << "\"" << message << "\" does not hold \"" << part << "\"";
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

}  // namespace wavetune::model
