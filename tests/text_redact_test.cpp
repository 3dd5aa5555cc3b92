// Masking of secrets: a row per vendor, and the policy.
#include "troupe/tests/catch.hpp"
#include "troupe/text/redact.hpp"

#include <chrono>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace troupe::text;
using namespace std::string_literals;

namespace {

const std::string body = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fG3iJ6lM9oP2rS5uV8x";  // 49 characters
const std::string hex = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

struct sample {
  std::string kind, secret;
};

/// Put together at run time: no scanner of repositories is to take them for real ones.
std::vector<sample> samples() {
  const std::string upper = "ABCDEFGHIJKLMNOP";
  return {
      {"openai", "sk-" + body},
      {"openai project", "sk-proj-" + body},
      {"anthropic", "sk-ant-" + ("api03-" + body)},
      {"openrouter", "sk-or-" + ("v1-" + hex)},
      {"github", "ghp_" + body.substr(0, 36)},
      {"github oauth", "gho_" + body.substr(0, 36)},
      {"github user", "ghu_" + body.substr(0, 36)},
      {"github server", "ghs_" + body.substr(0, 36)},
      {"github refresh", "ghr_" + body.substr(0, 36)},
      {"github fine-grained", "github_pat_" + body.substr(0, 22) + "_" + body},
      {"gitlab", "glpat-" + body.substr(0, 20)},
      {"slack bot", "xoxb-" + ("1234567890-" + body)},
      {"slack user", "xoxp-" + ("1234567890-" + body)},
      {"slack app", "xoxa-" + ("2-" + body)},
      {"slack refresh", "xoxr-" + ("2-" + body)},
      {"slack session", "xoxs-" + ("2-" + body)},
      {"slack app-level", "xapp-" + ("1-A1-" + body)},
      {"slack webhook",
       "https://hooks.slack.com/services/" + ("T0000/B0000/" + body.substr(0, 24))},
      {"aws key id", "AKIA" + upper},
      {"aws session key id", "ASIA" + upper},
      {"google api", "AIza" + body.substr(0, 35)},
      {"google oauth", "ya29." + body},
      {"stripe live", "sk_live_" + body.substr(0, 24)},
      {"stripe test", "sk_test_" + body.substr(0, 24)},
      {"stripe restricted", "rk_live_" + body.substr(0, 24)},
      {"npm", "npm_" + body.substr(0, 36)},
      {"pypi", "pypi-" + ("AgEIcHlwaS5vcmc" + body)},
      {"hugging face", "hf_" + body.substr(0, 34)},
      {"sendgrid", "SG." + body.substr(0, 22) + "." + body.substr(0, 43)},
      {"twilio", "SK" + hex.substr(0, 32)},
      {"twilio", "AC" + hex.substr(8, 32)},
      {"telegram bot", "123456789:" + ("AA" + body.substr(0, 33))},
      {"discord bot",
       "MTk4NjIyNDgzNDcxOTI1MjQ4" + ("." + body.substr(0, 6)) + "." + body.substr(0, 27)},
      {"digitalocean", "dop_v1_" + hex},
      {"databricks", "dapi" + hex.substr(0, 32)},
      {"shopify", "shpat_" + hex.substr(0, 32)},
      {"groq", "gsk_" + body},
      {"replicate", "r8_" + body.substr(0, 37)},
      {"perplexity", "pplx-" + body},
      {"xai", "xai-" + body},
      {"tavily", "tvly-" + ("dev-" + body.substr(0, 32))},
      {"fireworks", "fw_" + body.substr(0, 24)},
      {"linear", "lin_api_" + body.substr(0, 40)},
      {"notion", "ntn_" + body.substr(0, 46)},
      {"notion legacy", "secret_" + body.substr(0, 43)},
      {"vault", "hvs." + body},
      {"doppler", "dp.pt." + body.substr(0, 43)},
      {"age", "AGE-SECRET-KEY-1" + (upper + upper + upper + upper).substr(0, 58)},
      {"jwt", "eyJhbGciOiJIUzI1NiJ9" + (".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + body)},
      {"authorization header", "Authorization: Bearer " + body},
      {"authorization header", "authorization: Basic " + body.substr(0, 12)},
      {"authorization header", "AUTHORIZATION: token " + body.substr(0, 8)},
      {"authorization header", "\"Authorization\": \"" + (body + "\"")},
      {"api key header", "x-api-key: " + body.substr(0, 8)},
      {"api key header", "X-Api-Key: " + body.substr(0, 8)},
      {"api key header", "X-API-KEY: " + body.substr(0, 8)},
      {"api key header", "X-API-Key: " + body.substr(0, 8)},
      {"private key", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n" + body + "\n" +
                          hex + "\nab=\n-----END RSA PRIVATE KEY-----"},
      {"private key", "-----BEGIN PRIVATE KEY-----\\n" + body + "\\n-----END PRIVATE KEY-----"},
      {"private key", "-----BEGIN OPENSSH PRIVATE KEY-----\n" + hex + "\n" + hex + "\nexit {3}"},
      {"url password", "postgres://user:" + (body.substr(0, 9) + "@db:5432/x")},
      {"url password", "redis://:" + (body.substr(0, 9) + "@h")},
      {"url password", "amqp://u:p@ss" + (body.substr(0, 9) + "@h/")},
  };
}

/// The middle of a secret: no mask may show it.
std::string core(const std::string& secret) {
  const size_t at =
      std::min({secret.find(body.substr(0, 6)), secret.find("ABCDEFGH"), secret.find("89abcdef")});
  return at == std::string::npos ? secret : secret.substr(at + 2, 5);
}

}  // namespace

TEST_CASE("every kind of secret is masked wherever it stands, and masking twice changes nothing") {
  for (const sample& s : samples()) {
    CAPTURE(s.kind, s.secret);
    for (const std::string before : {"", "x ", "KEY=", "\"", "line\n", "\\n", "('", "a: "}) {
      for (const std::string after : {"", " y", "\n", "\"", "')", ", z"}) {
        const std::string masked = redact(before + s.secret + after);
        REQUIRE(masked.find(core(s.secret)) == std::string::npos);
        REQUIRE(masked.find("**") + masked.find("...") != 2 * std::string::npos);
        REQUIRE(masked.substr(0, before.size()) == before);
        REQUIRE(masked.substr(masked.size() - after.size()) == after);
        REQUIRE(redact(masked) == masked);
        REQUIRE(redact_assignments(redact_assignments(masked)) == redact_assignments(masked));
      }
    }
  }
}

TEST_CASE("every row of the table has a sample") {
  std::set<std::string> seen;
  for (const sample& s : samples()) seen.insert(s.kind);
  for (const std::string_view kind : redaction_kinds()) CHECK(seen.count(std::string(kind)) == 1);
}

TEST_CASE("masks keep a hint of long tokens only") {
  CHECK(redact("ghp_" + body.substr(0, 36)) == "ghp_aB..."s + body.substr(32, 4));
  CHECK(redact("AKIA" + std::string("ABCDEFGHIJKLMNOP")) == "***");
  CHECK(redact("a postgres://u:pw@h/d b") == "a postgres://u:***@h/d b");
  CHECK(redact("-H 'Authorization: Bearer " + body + "' x") == "-H 'Authorization: Bearer ***' x");
  CHECK(redact("-----BEGIN PRIVATE KEY-----\n" + body + "\n-----END PRIVATE KEY-----\n") ==
        "-----BEGIN PRIVATE KEY-----\n***\n-----END PRIVATE KEY-----\n");
}

TEST_CASE("ordinary text comes out identical") {
  for (const std::string text : {"",
                                 "risk-management and task-force-of-the-year",
                                 "sk-learn",
                                 "npm_config_cache=/x",
                                 "hf_hub",
                                 "see https://host:8080/path@v2?x=1 and user@host",
                                 "git@github.com:a/b.git",
                                 "std::AAbc",
                                 "http://localhost:3000/",
                                 "Authorization: none",
                                 "f\"postgres://{user}:{password}@{host}/x\"",
                                 "postgres://u:${PASSWORD}@h",
                                 "Authorization: Bearer $TOKEN",
                                 "ssh://h:22",
                                 "12:AA",
                                 "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
                                 "eyJ.",
                                 "AKIA",
                                 "SG.x.y",
                                 "-----BEGIN PUBLIC KEY-----",
                                 "masked ghp_aB...1234 and ***",
                                 "\xff\xfe\x00 bytes",
                                 "commit 0123456789abcdef0123456789abcdef01234567",
                                 "a/b:c/d",
                                 "MAC Ca: x"}) {
    CAPTURE(text);
    CHECK(redact(text) == text);
  }
}

TEST_CASE("several secrets in one text, next to each other") {
  const std::string key = "ghp_" + body.substr(0, 36);
  const std::string masked = redact(key + "," + key + "\n" + "mysql://a:b@c " + key);
  CHECK(masked.find(core(key)) == std::string::npos);
  CHECK(masked.find("a:***@c") != std::string::npos);
}

TEST_CASE("hostile text is masked in reasonable time") {
  for (const std::string piece : {"-----BEGIN PRIVATE KEY-----", "sk-", "://", "://a:b", "eyJ.",
                                  "Authorization: ", "a=\"", "token: "}) {
    std::string text;
    while (text.size() < 200'000) text += piece;
    const auto start = std::chrono::steady_clock::now();
    redact_assignments(text);
    CAPTURE(piece);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
  }
}

TEST_CASE("assignments of secret names are masked when an environment is printed") {
  struct row {
    std::string in, out;
  };
  const std::vector<row> rows = {
      {"DB_PASSWORD=hunter2\nHOME=/root\n", "DB_PASSWORD=***\nHOME=/root\n"},
      {"API_KEY=a b c\nX=1", "API_KEY=***\nX=1"},
      {"export GITHUB_TOKEN=abc; export X=1", "export GITHUB_TOKEN=***; export X=1"},
      {"declare -x MY_SECRET=\"a \\\" b\"", "declare -x MY_SECRET=\"***\""},
      {"SECRET='a b' x", "SECRET='***' x"},
      {"password: hunter2\nuser: me", "password: ***\nuser: me"},
      {"  api_key: \"x y\"", "  api_key: \"***\""},
      {"{\"clientSecret\": \"abc\", \"id\": \"x\"}", "{\"clientSecret\": \"***\", \"id\": \"x\"}"},
      {"//registry.example/:_authToken=abc", "//registry.example/:_authToken=***"},
      {"machine h login me password hunter2", "machine h login me password ***"},
      {"PWD=/x\nOLDPWD=/y\nKEYBOARD=us\nMONKEY=1\n", "PWD=/x\nOLDPWD=/y\nKEYBOARD=us\nMONKEY=1\n"},
      {"SSH_AUTH_SOCK=/tmp/x\nTOKENIZERS_PARALLELISM=false\nMAX_TOKENS=4096",
       "SSH_AUTH_SOCK=/tmp/x\nTOKENIZERS_PARALLELISM=false\nMAX_TOKENS=4096"},
      {"PASSWORD=\nTOKEN=\"\"\n", "PASSWORD=\nTOKEN=\"\"\n"},
  };
  for (const row& r : rows) {
    CAPTURE(r.in);
    CHECK(redact_assignments(r.in) == r.out);
    CHECK(redact_assignments(r.out) == r.out);
  }
  CHECK(redact("DB_PASSWORD=hunter2") == "DB_PASSWORD=hunter2");
}

TEST_CASE("a mask of the same length moves nothing") {
  const std::string key = "ghp_" + body.substr(0, 36);
  const std::string stars = "ghp_" + body.substr(0, 2) + std::string(30, '*') + key.substr(36);
  const std::string odd{"\xff\x00\n\x80", 4};
  struct row {
    std::string in, out;
  };
  const std::vector<row> always = {
      {"nothing here", "nothing here"},
      {"", ""},
      {odd, odd},
      {odd + key + odd, odd + stars + odd},
      {key + "\n" + key, stars + "\n" + stars},
      {"mysql://a:b@c", "mysql://a:*@c"},
      {"mysql://a:{password}@c", "mysql://a:{password}@c"},
      {"Authorization: Bearer abcdef", "Authorization: Bearer ******"},
      {"AKIAABCDEFGHIJKLMNOP.", "********************."},
  };
  for (const row& r : always) {
    CAPTURE(r.in);
    CHECK(redact_same_length(r.in, false) == r.out);
    CHECK(redact_same_length(r.out, false) == r.out);
  }
  const std::vector<row> assignments = {
      {"DB_PASSWORD=hunter2\nHOME=/root\n", "DB_PASSWORD=*******\nHOME=/root\n"},
      {"SECRET='a b' " + odd, "SECRET='***' " + odd},
      {"TOKEN=\nTOKEN=true", "TOKEN=\nTOKEN=true"},
      {"TOKEN=x\n", "TOKEN=*\n"},
      {"TOKEN=***rest\n", "TOKEN=*******\n"},
      {"MY_KEY=" + key, "MY_KEY=" + std::string(40, '*')},
      {"machine h login me password hunter2", "machine h login me password *******"},
  };
  for (const row& r : assignments) {
    CAPTURE(r.in);
    CHECK(redact_same_length(r.in, true) == r.out);
    CHECK(redact_same_length(r.out, true) == r.out);
  }
  CHECK(redact_same_length("DB_PASSWORD=hunter2", false) == "DB_PASSWORD=hunter2");
}

TEST_CASE("a mask of the same length hides what the other one hides") {
  std::string text;
  std::uint32_t random = 1;
  for (int i = 0; i < 500; ++i) {
    random = random * 1664525 + 1013904223;
    text += std::string(random >> 28, static_cast<char>(random >> 8));
    if (random % 3 == 0) text += " ghp_" + body.substr(random >> 30, 36) + "\n";
    if (random % 7 == 0) text += "\nAPI_TOKEN=" + body.substr(0, random >> 29) + "\n";
  }
  for (const bool too : {false, true}) {
    const auto masked = redact_same_length(text, too);
    REQUIRE(masked.size() == text.size());
    CHECK(redact_same_length(masked, too) == masked);
    CHECK(masked.find(body.substr(8, 16)) == std::string::npos);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (masked[i] != text[i]) REQUIRE(masked[i] == '*');
    }
  }
}

TEST_CASE("which commands print an environment") {
  for (const std::string command : {"env",
                                    "printenv X",
                                    "set",
                                    "export -p",
                                    "declare -p",
                                    "cd x && env | sort",
                                    "cat .env",
                                    "cat ./a/.env.local",
                                    "grep KEY .env",
                                    "sed -n 1p ~/.bashrc",
                                    "awk '{print}' prod.env",
                                    "head -5 ~/.aws/credentials",
                                    "cat < .netrc",
                                    "sudo cat /proc/1/environ",
                                    "echo $(cat .env)",
                                    "/usr/bin/env",
                                    "tail -n 3 \"$HOME/.npmrc\"",
                                    "A=1 env",
                                    "grep -e X .env",
                                    "true; export"}) {
    CAPTURE(command);
    CHECK(prints_environment(command));
  }
  for (const std::string command :
       {"echo env", "ls .env", "cat main.cpp", "grep .env src", "grep -r .env.local .", "cat envoy",
        "echo 'cat .env'", "cat .env.example", "# env", "make set", "cat <<X\nenv\nX", ""}) {
    CAPTURE(command);
    CHECK_FALSE(prints_environment(command));
  }
}

TEST_CASE("a redactor can be switched off") {
  const std::string text = "TOKEN=abc ghp_" + body.substr(0, 36);
  CHECK(redactor(false).redact(text) == text);
  CHECK(redactor(false).redact_output("env", text) == text);
  CHECK(redactor().redact(text).substr(0, 10) == "TOKEN=abc ");
  CHECK(redactor().redact_output("env", text).substr(0, 9) == "TOKEN=***");
}
