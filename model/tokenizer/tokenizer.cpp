#include "model/tokenizer/tokenizer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "db/base/error.h"
#include "db/base/file.h"
#include "model/json_fields.h"
#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/byte_level.h"
#include "model/tokenizer/nfc.h"
#include "model/tokenizer/pretokenizer.h"

namespace wavetune::model {

using nlohmann::json;

namespace {

enum class Normalizer { none, nfc };

Normalizer read_normalizer(const JsonFields& file) {
  const auto normalizer = file.object("normalizer");
  if (!normalizer) return Normalizer::none;
  const std::string type = normalizer->string("type").value_or("");
  if (type == "NFC") return Normalizer::nfc;
  fail(ErrorKind::incompatible, "{}: type {} is not supported; null and NFC are", normalizer->source(), type);
}

void check_decoder(const JsonFields& file) {
  const auto decoder = file.object("decoder");
  const std::string type = decoder ? decoder->string("type").value_or("") : "null";
  if (type != "ByteLevel") {
    fail(ErrorKind::incompatible, "{}: decoder {} is not supported; ByteLevel is", file.source(), type);
  }
}

void check_model(const JsonFields& model) {
  const std::string type = model.string("type").value_or("BPE");  // very old files leave it out
  if (type != "BPE") fail(ErrorKind::incompatible, "{}: type {} is not supported; BPE is", model.source(), type);
  for (const std::string_view name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const std::string value = model.string(name).value_or("");
    if (!value.empty()) fail(ErrorKind::incompatible, "{}: {} \"{}\" is not supported", model.source(), name, value);
  }
  if (model.number("dropout").value_or(0) > 0)
    fail(ErrorKind::incompatible, "{}: dropout is not supported", model.source());
}

using Vocabulary = std::unordered_map<std::string, TokenId>;

/// Far above any vocabulary; a table of this many entries can still be made.
constexpr std::uint64_t largest_id = 10'000'000;

TokenId read_id(const json& value, const std::string& source, const std::string& token) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > largest_id) {
    fail(ErrorKind::bad_data, "{}: the id of {} is not an integer from 0 to {}", source, token, largest_id);
  }
  return value.get<TokenId>();
}

/// Byte strings to ids. Entries that spell no bytes (control tokens that some files also list here) are left out: words
/// of text never lead to them.
Vocabulary read_vocabulary(const JsonFields& model) {
  const json* entries = model.find("vocab");
  if (entries == nullptr || !entries->is_object())
    fail(ErrorKind::bad_data, "{}: field vocab must be an object", model.source());
  Vocabulary vocabulary;
  vocabulary.reserve(entries->size());
  for (const auto& [entry, id] : entries->items()) {
    if (auto bytes = bytes_from_byte_level(entry))
      vocabulary.emplace(std::move(*bytes), read_id(id, model.source(), entry));
  }
  return vocabulary;
}

/// Both forms: "a b" and ["a", "b"].
std::pair<std::string, std::string> read_pair(const json& merge, const JsonFields& model, std::size_t rank) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  fail(ErrorKind::bad_data, "{}: merge {} is neither \"a b\" nor [\"a\", \"b\"]: {}", model.source(), rank,
       merge.dump().substr(0, 60));
}

std::vector<Bpe::Merge> read_merges(const JsonFields& model, const Vocabulary& vocabulary) {
  const json* list = model.find("merges");
  if (list == nullptr || !list->is_array())
    fail(ErrorKind::bad_data, "{}: field merges must be a list", model.source());
  std::vector<Bpe::Merge> merges;
  merges.reserve(list->size());
  const auto id_of = [&](const std::string& bytes, const std::string& shown) {
    const auto found = vocabulary.find(bytes);
    if (found == vocabulary.end()) {
      fail(ErrorKind::bad_data, "{}: merge {} needs {}, which is not in the vocabulary", model.source(), merges.size(),
           shown);
    }
    return found->second;
  };
  for (const json& item : *list) {
    const auto [left, right] = read_pair(item, model, merges.size());
    const auto left_bytes = bytes_from_byte_level(left), right_bytes = bytes_from_byte_level(right);
    if (!left_bytes || !right_bytes) {
      fail(ErrorKind::bad_data, "{}: merge {} holds a character that stands for no byte", model.source(),
           merges.size());
    }
    merges.push_back(
        {id_of(*left_bytes, left), id_of(*right_bytes, right), id_of(*left_bytes + *right_bytes, left + right)});
  }
  return merges;
}

std::vector<AddedToken> read_added_tokens(const JsonFields& file) {
  std::vector<AddedToken> tokens;
  const json* list = file.find("added_tokens");
  if (list == nullptr) return tokens;
  if (!list->is_array()) fail(ErrorKind::bad_data, "{}: field added_tokens must be a list", file.source());
  for (const json& item : *list) {
    const JsonFields fields(item, file.source() + ": added_tokens");
    const auto content = fields.string("content");
    if (!content || content->empty()) fail(ErrorKind::bad_data, "{}: a token without content", fields.source());
    for (const std::string_view flag : {"single_word", "lstrip", "rstrip"}) {
      if (fields.boolean(flag).value_or(false)) {
        fail(ErrorKind::incompatible, "{}: {} of {} is not supported", fields.source(), flag, *content);
      }
    }
    const json* id = fields.find("id");
    if (id == nullptr) fail(ErrorKind::bad_data, "{}: {} has no id", fields.source(), *content);
    tokens.push_back({read_id(*id, fields.source(), *content), *content, fields.boolean("special").value_or(false),
                      fields.boolean("normalized").value_or(false)});
  }
  return tokens;
}

}  // namespace

struct Tokenizer::Impl {
  Impl(Bpe the_bpe, Pretokenizer the_pretokenizer)
      : bpe(std::move(the_bpe)), pretokenizer(std::move(the_pretokenizer)) {}

  void encode_words(std::string_view text, std::vector<TokenId>& out) const {
    for (const std::string& word : pretokenizer.split(text)) bpe.encode(word, out);
  }

  std::string normalised(std::string_view text) const {
    return normalizer == Normalizer::nfc ? to_nfc(text) : std::string(text);
  }

  Bpe bpe;
  Pretokenizer pretokenizer;
  Normalizer normalizer = Normalizer::none;
  AddedTokenMatcher raw_tokens;         ///< looked for in the text as given
  AddedTokenMatcher normalized_tokens;  ///< looked for in the normalised text
  std::map<std::string, TokenId, std::less<>> added_ids;
  std::unordered_set<TokenId> special_ids;
  std::vector<std::string> bytes;  ///< by id
};

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::load(const std::filesystem::path& model_directory) {
  const std::filesystem::path path = model_directory / "tokenizer.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    fail(ErrorKind::not_found, "no tokenizer.json in {}; fetch it from the model's repository",
         model_directory.string());
  }
  return from_json(read_file(path), path.string());
}

Tokenizer Tokenizer::from_json(std::string_view text, const std::string& source) {
  const json document = parse_json(text, source);
  const JsonFields file(document, source);
  const auto model = file.object("model");
  if (!model) fail(ErrorKind::bad_data, "{}: field model is missing", source);
  check_model(*model);
  check_decoder(file);
  const json* pretokenizer_value = file.find("pre_tokenizer");
  Pretokenizer pretokenizer = Pretokenizer::from_json(pretokenizer_value ? *pretokenizer_value : json(), source);
  if (!pretokenizer.byte_level()) {
    fail(ErrorKind::incompatible, "{}: pre_tokenizer has no ByteLevel step; only byte-level BPE is supported", source);
  }
  Vocabulary vocabulary = read_vocabulary(*model);
  const std::vector<Bpe::Merge> merges = read_merges(*model, vocabulary);
  auto impl = std::make_unique<Impl>(
      Bpe(std::move(vocabulary), merges, model->boolean("ignore_merges").value_or(false), model->source()),
      std::move(pretokenizer));
  impl->normalizer = read_normalizer(file);

  const std::vector<AddedToken> added = read_added_tokens(file);
  TokenId largest = -1;
  for (const auto& [bytes, id] : impl->bpe.vocabulary()) largest = std::max(largest, id);
  for (const AddedToken& token : added) largest = std::max(largest, token.id);
  impl->bytes.resize(static_cast<std::size_t>(largest) + 1);
  for (const auto& [bytes, id] : impl->bpe.vocabulary()) impl->bytes[static_cast<std::size_t>(id)] = bytes;
  for (const AddedToken& token : added) {
    // Hugging Face's decoder reads added tokens in byte-level characters too, where they consist of such.
    impl->bytes[static_cast<std::size_t>(token.id)] = bytes_from_byte_level(token.content).value_or(token.content);
    impl->added_ids[token.content] = token.id;
    if (token.special) impl->special_ids.insert(token.id);
    (token.normalized ? impl->normalized_tokens : impl->raw_tokens).add(token);
  }
  return Tokenizer(std::move(impl));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, AddedTokensIn added) const {
  const std::string valid = repaired_utf8(text);
  std::vector<TokenId> ids;
  if (added == AddedTokensIn::plain_text) {
    impl_->encode_words(impl_->normalised(valid), ids);
    return ids;
  }
  for (const AddedTokenMatcher::Piece& raw : impl_->raw_tokens.split(valid)) {
    if (raw.id >= 0) {
      ids.push_back(raw.id);
      continue;
    }
    const std::string normalised = impl_->normalised(raw.text);
    for (const AddedTokenMatcher::Piece& piece : impl_->normalized_tokens.split(normalised)) {
      if (piece.id >= 0) {
        ids.push_back(piece.id);
      } else {
        impl_->encode_words(piece.text, ids);
      }
    }
  }
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, SpecialTokens special) const {
  StreamDecoder decoder(*this, special);
  std::string text = decoder.push(ids);
  text += decoder.finish();
  return text;
}

std::string_view Tokenizer::bytes_of(TokenId id) const {
  return id >= 0 && id < size() ? std::string_view(impl_->bytes[static_cast<std::size_t>(id)]) : std::string_view();
}

bool Tokenizer::is_special(TokenId id) const { return impl_->special_ids.contains(id); }

std::optional<TokenId> Tokenizer::added_token(std::string_view content) const {
  const auto found = impl_->added_ids.find(content);
  return found == impl_->added_ids.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t Tokenizer::size() const { return static_cast<std::int64_t>(impl_->bytes.size()); }

std::string StreamDecoder::push(TokenId id) {
  if (special_ == SpecialTokens::skip && tokenizer_->is_special(id)) return {};
  return stream_.push(tokenizer_->bytes_of(id));
}

std::string StreamDecoder::push(std::span<const TokenId> ids) {
  std::string text;
  for (const TokenId id : ids) text += push(id);
  return text;
}

}  // namespace wavetune::model
