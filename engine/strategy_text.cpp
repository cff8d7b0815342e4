#include "engine/strategy_text.h"

#include <fmt/format.h>

namespace remaplab {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<StrategyTerm>> Parse() {
    std::vector<StrategyTerm> terms;
    do {
      REMAPLAB_ASSIGN(StrategyTerm term, ParseTerm());
      terms.push_back(std::move(term));
    } while (Take('+'));
    if (at_ != text_.size()) {
      return Refuse("'+' or the end");
    }
    return terms;
  }

 private:
  Result<StrategyTerm> ParseTerm() {
    StrategyTerm term;
    REMAPLAB_ASSIGN(term.name, ParseWord("a strategy name"));
    if (!Take('(')) {
      return term;
    }
    if (Take(')')) {
      return term;
    }
    do {
      REMAPLAB_ASSIGN(std::string name, ParseWord("a parameter name"));
      if (!Take('=')) {
        return Refuse("'=' after the parameter name");
      }
      REMAPLAB_ASSIGN(std::string value, ParseWord("a parameter value"));
      for (const auto& given : term.parameters) {
        if (given.first == name) {
          return Fail(ErrorCode::kUsage, fmt::format("strategy '{}': parameter '{}' is given twice", text_, name));
        }
      }
      term.parameters.emplace_back(std::move(name), std::move(value));
    } while (Take(','));
    if (!Take(')')) {
      return Refuse("',' or ')'");
    }
    return term;
  }

  Result<std::string> ParseWord(std::string_view what) {
    SkipSpace();
    const size_t begin = at_;
    while (at_ < text_.size() && text_.substr(at_, 1).find_first_of("+(),= \t") == std::string_view::npos) {
      ++at_;
    }
    if (at_ == begin) {
      return Refuse(what);
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool Take(char c) {
    SkipSpace();
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      SkipSpace();
      return true;
    }
    return false;
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  tl::unexpected<Error> Refuse(std::string_view wanted) const {
    return Fail(ErrorCode::kUsage, fmt::format("strategy '{}': expected {} at character {}", text_, wanted, at_ + 1));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<StrategyTerm>> ParseStrategyText(std::string_view text) { return Parser(text).Parse(); }

std::string StrategyTextOf(const std::vector<StrategyTerm>& terms) {
  std::string text;
  for (const StrategyTerm& term : terms) {
    text += text.empty() ? "" : "+";
    text += term.name;
    for (size_t i = 0; i < term.parameters.size(); ++i) {
      fmt::format_to(std::back_inserter(text), "{}{}={}", i == 0 ? "(" : ",", term.parameters[i].first,
                     term.parameters[i].second);
    }
    text += term.parameters.empty() ? "" : ")";
  }
  return text;
}

}  // namespace remaplab
