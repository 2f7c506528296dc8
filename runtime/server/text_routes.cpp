#include "runtime/server/text_routes.h"

#include <nlohmann/json.hpp>

#include "runtime/server/request_fields.h"

namespace wavetune::server {

HttpResponse tokenize(const ServedModel& model, const std::string& body) {
  const auto document = parse_body(body);
  const RequestFields fields(document);
  const auto prompt = fields.text("prompt");
  if (!prompt) fields.fail_field("prompt", "is missing");
  const auto tokens = model.tokenizer->encode(*prompt, model::AddedTokensIn::recognised);
  const nlohmann::ordered_json answer = {
      {"count", tokens.size()}, {"max_model_len", model.card.max_model_len}, {"tokens", tokens}};
  return {200, "application/json", answer.dump()};
}

HttpResponse detokenize(const ServedModel& model, const std::string& body) {
  const auto document = parse_body(body);
  const RequestFields fields(document);
  const auto* list = fields.find("tokens");
  if (list == nullptr || !list->is_array()) fields.fail_field("tokens", "must be a list of token ids");
  std::vector<model::TokenId> tokens;
  for (const auto& id : *list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= static_cast<std::uint64_t>(model.tokenizer->size())) {
      fields.fail_field("tokens", "must hold token ids of the vocabulary");
    }
    tokens.push_back(id.get<model::TokenId>());
  }
  const nlohmann::ordered_json answer = {{"prompt", model.tokenizer->decode(tokens, model::SpecialTokens::keep)}};
  return {200, "application/json", answer.dump()};
}

}  // namespace wavetune::server
