// A plain text table: columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace wavetune::db {

enum class Align { left, right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell for each column.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  /// Lines that begin with `indent` and end with '\n'; widths count code points, not bytes.
  std::string text(const std::string& indent) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace wavetune::db
