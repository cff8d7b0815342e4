// Writes JSON into a string: objects and arrays nest, commas and escapes take care of themselves.
//
//   JsonWriter json;
//   json.BeginObject().Key("strategy").String("skip_remap").Key("steps").Int(30).EndObject();
//   json.text() == R"({"strategy":"skip_remap","steps":30})"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace remaplab {

// Appends `text` with JSON escapes and without quotes. Bytes that are no valid UTF-8 become U+FFFD, so that the
// result is always valid JSON.
void AppendJsonEscaped(std::string& out, std::string_view text);

class JsonWriter {
 public:
  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(std::string_view key);
  JsonWriter& String(std::string_view value);
  JsonWriter& Int(int64_t value);
  JsonWriter& UInt(uint64_t value);
  JsonWriter& Double(double value);  // shortest form that reads back the same; NaN and infinities become null
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  JsonWriter& Raw(std::string_view json);  // `json` must be one valid value

  const std::string& text() const { return text_; }
  std::string TakeText() { return std::move(text_); }

 private:
  void Separate();

  std::string text_;
  std::vector<bool> has_member_;  // one per open object or array
  bool after_key_ = false;
};

}  // namespace remaplab
