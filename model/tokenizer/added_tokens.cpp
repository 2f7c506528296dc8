#include "model/tokenizer/added_tokens.h"

#include <algorithm>

namespace wavetune::model {

void AddedTokenMatcher::add(const AddedToken& token) {
  if (token.content.empty()) return;
  std::vector<AddedToken>& list = by_first_byte_[static_cast<unsigned char>(token.content.front())];
  list.push_back(token);
  std::stable_sort(list.begin(), list.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.content.size() > b.content.size(); });
}

std::vector<AddedTokenMatcher::Piece> AddedTokenMatcher::split(std::string_view text) const {
  std::vector<Piece> pieces;
  std::size_t begin = 0;
  for (std::size_t position = 0; position < text.size();) {
    const std::vector<AddedToken>& candidates = by_first_byte_[static_cast<unsigned char>(text[position])];
    const auto found = std::find_if(candidates.begin(), candidates.end(), [&](const AddedToken& token) {
      return text.substr(position).starts_with(token.content);
    });
    if (found == candidates.end()) {
      ++position;
      continue;
    }
    if (position > begin) pieces.push_back({text.substr(begin, position - begin), -1});
    pieces.push_back({text.substr(position, found->content.size()), found->id});
    position += found->content.size();
    begin = position;
  }
  if (begin < text.size()) pieces.push_back({text.substr(begin), -1});
  return pieces;
}

}  // namespace wavetune::model
