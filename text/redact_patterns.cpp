// The table of secrets, see redact_patterns.hpp. To add a vendor: one row here, one in
// tests/text_redact_test.cpp.
#include "troupe/text/redact_patterns.hpp"

#include <string>

namespace troupe::text {
namespace {

constexpr auto token = mask_style::token;
constexpr auto captured = mask_style::captured;

const std::vector<redaction_pattern> vendor_tokens = {
    {"anthropic", "sk-ant-", R"(sk-ant-[A-Za-z0-9_-]{16,})"},
    {"openrouter", "sk-or-", R"(sk-or-[A-Za-z0-9_-]{16,})"},
    {"openai project", "sk-proj-", R"(sk-proj-[A-Za-z0-9_-]{16,})"},
    {"openai", "sk-", R"(sk-[A-Za-z0-9_-]*[A-Za-z0-9]{16,}[A-Za-z0-9_-]*)"},
    {"github", "ghp_", R"(ghp_[A-Za-z0-9]{20,})"},
    {"github oauth", "gho_", R"(gho_[A-Za-z0-9]{20,})"},
    {"github user", "ghu_", R"(ghu_[A-Za-z0-9]{20,})"},
    {"github server", "ghs_", R"(ghs_[A-Za-z0-9]{20,})"},
    {"github refresh", "ghr_", R"(ghr_[A-Za-z0-9]{20,})"},
    {"github fine-grained", "github_pat_", R"(github_pat_[A-Za-z0-9_]{20,})"},
    {"gitlab", "glpat-", R"(glpat-[A-Za-z0-9_.-]{16,})"},
    {"slack bot", "xoxb-", R"(xoxb-[A-Za-z0-9-]{10,})"},
    {"slack user", "xoxp-", R"(xoxp-[A-Za-z0-9-]{10,})"},
    {"slack app", "xoxa-", R"(xoxa-[A-Za-z0-9-]{10,})"},
    {"slack refresh", "xoxr-", R"(xoxr-[A-Za-z0-9-]{10,})"},
    {"slack session", "xoxs-", R"(xoxs-[A-Za-z0-9-]{10,})"},
    {"slack app-level", "xapp-", R"(xapp-[A-Za-z0-9-]{10,})"},
    {"aws key id", "AKIA", R"(AKIA[A-Z0-9]{16})"},
    {"aws session key id", "ASIA", R"(ASIA[A-Z0-9]{16})"},
    {"google api", "AIza", R"(AIza[A-Za-z0-9_-]{30,})"},
    {"google oauth", "ya29.", R"(ya29\.[A-Za-z0-9_-]{20,})"},
    {"stripe live", "sk_live_", R"(sk_live_[A-Za-z0-9]{10,})"},
    {"stripe test", "sk_test_", R"(sk_test_[A-Za-z0-9]{10,})"},
    {"stripe restricted", "rk_live_", R"(rk_live_[A-Za-z0-9]{10,})"},
    {"npm", "npm_", R"(npm_[A-Za-z0-9]{30,})"},
    {"pypi", "pypi-", R"(pypi-[A-Za-z0-9_-]{30,})"},
    {"hugging face", "hf_", R"(hf_[A-Za-z0-9]{20,})"},
    {"sendgrid", "SG.", R"(SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"},
    {"digitalocean", "dop_v1_", R"(dop_v1_[a-f0-9]{40,})"},
    {"databricks", "dapi", R"(dapi[a-f0-9]{32}(?:-[0-9])?)"},
    {"shopify", "shpat_", R"(shpat_[A-Fa-f0-9]{20,})"},
    {"groq", "gsk_", R"(gsk_[A-Za-z0-9]{20,})"},
    {"replicate", "r8_", R"(r8_[A-Za-z0-9]{20,})"},
    {"perplexity", "pplx-", R"(pplx-[A-Za-z0-9]{20,})"},
    {"xai", "xai-", R"(xai-[A-Za-z0-9_-]{20,})"},
    {"tavily", "tvly-", R"(tvly-[A-Za-z0-9_-]{16,})"},
    {"fireworks", "fw_", R"(fw_[A-Za-z0-9]{20,})"},
    {"linear", "lin_api_", R"(lin_api_[A-Za-z0-9]{20,})"},
    {"notion", "ntn_", R"(ntn_[A-Za-z0-9]{30,})"},
    {"notion legacy", "secret_", R"(secret_[A-Za-z0-9]{40,})"},
    {"vault", "hvs.", R"(hvs\.[A-Za-z0-9_-]{20,})"},
    {"doppler", "dp.pt.", R"(dp\.pt\.[A-Za-z0-9]{30,})"},
    {"age", "AGE-SECRET-KEY-1", R"(AGE-SECRET-KEY-1[A-Z0-9]{50,})"},
    {"telegram bot", ":AA", R"(:AA[A-Za-z0-9_-]{33})", token, false, 8},
    {"jwt", "eyJ", R"(eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_=-]*)", token, true, 0,
     16384},
};

const std::vector<redaction_pattern> captured_secrets = {
    {"slack webhook", "hooks.slack.com/services/",
     R"(hooks\.slack\.com/services/([A-Za-z0-9_/-]{20,}))", captured, false},
    {"private key", "-----BEGIN ",
     R"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\\n|\\r|\s)*)"
     R"(((?:\\n|\\r|[A-Za-z0-9+/=:,.() \t\r\n*>|-])+?)(?:\\n|\\r|\s)*)"
     R"(-----END [A-Z0-9 ]{0,40}PRIVATE KEY)",
     captured, false, 0, 16384},
    {"private key", "-----BEGIN ",  // cut off, or interrupted by other text
     R"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\\n|\\r|\s)*)"
     R"(([A-Za-z0-9+/=]{16,}(?:(?:\\n|\\r|\s)*[A-Za-z0-9+/=]{16,})*))",
     captured, false, 0, 16384},
    {"url password", "://", R"(://[^\s/?#"'<>@:`\\]*:([^\s/"'<>`\\]+)@)", captured, false},
};

constexpr std::string_view scheme_regex =
    R"((?i)uthorization\\?["']?[ \t]*[:=][ \t]*\\?["']?)"
    R"((?:bearer|basic|token|digest|apikey|bot|aws4-hmac-sha256)[ \t]+)"
    R"(([^\s"'<>\\,;]{4,}|\*\*\*))";
constexpr std::string_view no_scheme_regex =
    R"((?i)uthorization\\?["']?[ \t]*[:=][ \t]*\\?["']?([^\s"'<>\\,;]{16,}))";
constexpr std::string_view api_key_regex =
    R"((?i)-api-key\\?["']?[ \t]*[:=][ \t]*\\?["']?([^\s"'<>\\,;]{4,}|\*\*\*))";

/// Headers, in the spellings that occur: the scan for literals is by bytes.
const std::vector<redaction_pattern> headers = {
    {"authorization header", "uthorization", scheme_regex, captured, false},
    {"authorization header", "uthorization", no_scheme_regex, captured, false},
    {"authorization header", "UTHORIZATION", scheme_regex, captured, false},
    {"authorization header", "UTHORIZATION", no_scheme_regex, captured, false},
    {"api key header", "-api-key", api_key_regex, captured, false},
    {"api key header", "-Api-Key", api_key_regex, captured, false},
    {"api key header", "-API-Key", api_key_regex, captured, false},
    {"api key header", "-API-KEY", api_key_regex, captured, false},
};

}  // namespace

const std::vector<redaction_pattern>& redaction_patterns() {
  static const std::vector<redaction_pattern> all = [] {
    // Twilio and Discord have no literal of their own; all beginnings are listed instead.
    static std::vector<std::string> literals;
    literals.reserve(512);
    std::vector<redaction_pattern> rows = vendor_tokens;
    for (const char first : std::string_view("0123456789abcdef")) {
      for (const char* prefix : {"AC", "SK"}) {
        literals.push_back(std::string(prefix) + first);
        rows.push_back({"twilio", literals.back(), R"((?:AC|SK)[0-9a-f]{32})"});
      }
    }
    // A Discord token begins with the digits of an id in base 64.
    for (const char first : std::string_view("MNO")) {
      for (const char second : std::string_view("DTjz")) {
        for (const char third : std::string_view("AEIMQUYcgk")) {
          literals.push_back({first, second, third});
          rows.push_back({"discord bot", literals.back(),
                          R"([MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})"});
        }
      }
    }
    rows.insert(rows.end(), captured_secrets.begin(), captured_secrets.end());
    rows.insert(rows.end(), headers.begin(), headers.end());
    return rows;
  }();
  return all;
}

}  // namespace troupe::text
