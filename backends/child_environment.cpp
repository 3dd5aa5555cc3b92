#include "troupe/backends/child_environment.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace troupe::backends {

namespace {

/// Names that no pattern below covers.
constexpr std::string_view blocked_names[] = {
    // model providers
    "ANTHROPIC_TOKEN",
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "LLM_MODEL",
    "OPENAI_ORGANIZATION",
    "OPENAI_ORG_ID",
    "REPLICATE_API_TOKEN",
    "VERTEX_CREDENTIALS_PATH",
    // chat and mail
    "EMAIL_ADDRESS",
    "EMAIL_PASSWORD",
    "EMAIL_IMAP_HOST",
    "EMAIL_SMTP_HOST",
    "HASS_TOKEN",
    "HASS_URL",
    "SLACK_SIGNING_SECRET",
    "TWILIO_AUTH_TOKEN",
    // code hosting and cloud sandboxes
    "E2B_ACCESS_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITHUB_APP_PRIVATE_KEY",
    "MODAL_TOKEN_ID",
    "MODAL_TOKEN_SECRET",
    "RUNPOD_TOKEN",
    "VERCEL_OIDC_TOKEN",
    "VERCEL_TOKEN",
    "VERCEL_PROJECT_ID",
    "VERCEL_TEAM_ID",
    "FLY_API_TOKEN",
};

constexpr std::string_view blocked_suffixes[] = {
    "_API_KEY", "_API_KEYS", "_BOT_TOKEN", "_APP_TOKEN", "_HOME_CHANNEL", "_HOME_CHANNEL_NAME",
};

/// Providers whose endpoint may name an account or a proxy of the node.
constexpr std::string_view provider_prefixes[] = {
    "ANTHROPIC_", "AZURE_OPENAI_", "COHERE_",     "DEEPSEEK_", "FIRECRAWL_",
    "FIREWORKS_", "GEMINI_",       "GROQ_",       "HELICONE_", "MISTRAL_",
    "OPENAI_",    "OPENROUTER_",   "PERPLEXITY_", "TOGETHER_", "XAI_",
};
constexpr std::string_view endpoint_suffixes[] = {"_BASE_URL", "_API_BASE", "_API_URL",
                                                  "_ENDPOINT"};

/// Markers of the node's own Python virtual environment; a child's python must not use it.
constexpr std::string_view python_markers[] = {"VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "CONDA_PREFIX",
                                               "PYTHONHOME"};

constexpr std::string_view force_prefix = "_TROUPE_FORCE_";

std::string upper(std::string_view text) {
  std::string result{text};
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

bool any_suffix(std::string_view name, auto& suffixes) {
  return std::any_of(std::begin(suffixes), std::end(suffixes),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

std::string_view name_of(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

struct by_name {
  bool operator()(std::string_view a, std::string_view b) const { return name_of(a) < name_of(b); }
};

void set_variable(std::vector<std::string>& env, std::string entry) {
  const auto at = std::lower_bound(env.begin(), env.end(), entry, by_name{});
  if (at != env.end() && name_of(*at) == name_of(entry)) {
    *at = std::move(entry);
  } else {
    env.insert(at, std::move(entry));
  }
}

}  // namespace

bool is_internal_secret(std::string_view raw) {
  const auto name = upper(raw);
  if (!name.starts_with("TROUPE_")) return false;
  return name.find("SECRET") != name.npos || name.find("TOKEN") != name.npos ||
         name.find("PASSWORD") != name.npos || name.ends_with("KEY");
}

bool is_blocked_variable(std::string_view raw) {
  const auto name = upper(raw);
  if (std::find(std::begin(blocked_names), std::end(blocked_names), name) !=
      std::end(blocked_names)) {
    return true;
  }
  if (any_suffix(name, blocked_suffixes)) return true;
  return any_suffix(name, endpoint_suffixes) &&
         std::any_of(std::begin(provider_prefixes), std::end(provider_prefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::vector<std::string> own_environment() {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    result.emplace_back(*entry);
  }
  return result;
}

child_environment::child_environment(const std::vector<std::string>& base,
                                     std::vector<std::string> pass, std::vector<std::string> block)
    : pass_(std::make_move_iterator(pass.begin()), std::make_move_iterator(pass.end())),
      block_(std::make_move_iterator(block.begin()), std::make_move_iterator(block.end())) {
  for (const auto& entry : base) {
    const auto name = name_of(entry);
    if (name.empty() || name.size() == entry.size() || name.starts_with(force_prefix)) continue;
    if (std::find(std::begin(python_markers), std::end(python_markers), name) !=
        std::end(python_markers)) {
      continue;
    }
    if (passes(name)) base_.push_back(entry);
  }
  std::stable_sort(base_.begin(), base_.end(), by_name{});
  // Of a repeated name the first counts, as for getenv(3).
  base_.erase(std::unique(base_.begin(), base_.end(),
                          [](const std::string& a, const std::string& b) {
                            return name_of(a) == name_of(b);
                          }),
              base_.end());
  set_variable(base_, "PYTHONUNBUFFERED=1");
  // A pager would wait for a key that nobody presses; what the user chose wins.
  for (const char* pager : {"PAGER", "GIT_PAGER"}) {
    if (base_value(pager).empty()) set_variable(base_, std::string{pager} + "=cat");
  }
}

std::string_view plain_name(std::string_view entry) {
  auto name = name_of(entry);
  if (name.starts_with(force_prefix)) name.remove_prefix(force_prefix.size());
  return name;
}

bool child_environment::passes(std::string_view name) const {
  if (is_internal_secret(name) || block_.contains(name)) return false;
  return !is_blocked_variable(name) || pass_.contains(name);
}

std::string_view child_environment::base_value(std::string_view name) const {
  const auto at = std::lower_bound(base_.begin(), base_.end(), name, by_name{});
  if (at == base_.end() || name_of(*at) != name) return {};
  return std::string_view{*at}.substr(name.size() + 1);
}

std::vector<std::string> child_environment::extras(const std::vector<std::string>& extra) const {
  std::vector<std::string> result;
  for (const auto& entry : extra) {
    const auto name = name_of(entry);
    if (name.empty() || name.size() == entry.size()) continue;
    if (name.starts_with(force_prefix)) {
      const auto forced = name.substr(force_prefix.size());
      if (!forced.empty() && !is_internal_secret(forced)) {
        result.push_back(entry.substr(force_prefix.size()));
      }
    } else if (passes(name)) {
      result.push_back(entry);
    }
  }
  return result;
}

std::vector<std::string> child_environment::make(const std::vector<std::string>& extra,
                                                 std::string_view marker) const {
  auto env = base_;
  for (auto& entry : extras(extra)) set_variable(env, std::move(entry));
  set_variable(env, "TROUPE_PROCESS=" + std::string{marker});
  return env;
}

std::vector<std::string> close_own_environment(const std::vector<std::string>& pass) {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  std::vector<std::string> removed;
  char** kept = environ;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const auto name = std::string{name_of(*entry)};
    const bool secret =
        is_internal_secret(name) ||
        (is_blocked_variable(name) && std::find(pass.begin(), pass.end(), name) == pass.end());
    if (!secret) {
      *kept++ = *entry;
      continue;
    }
    removed.emplace_back(*entry);
    ::explicit_bzero(*entry, std::strlen(*entry));
  }
  if (kept != nullptr) *kept = nullptr;
  return removed;
}

}  // namespace troupe::backends
