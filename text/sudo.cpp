#include "troupe/text/sudo.hpp"

#include <algorithm>
#include <vector>

#include "troupe/text/shell_scanner.hpp"
#include "troupe/text/shell_words.hpp"

namespace troupe::text {

namespace {

constexpr std::string_view options = " -S -p ''";

bool asks_no_password(std::string_view option) {
  if (option == "--stdin" || option == "--askpass" || option == "--non-interactive" ||
      option == "--help" || option == "--version" || option == "--remove-timestamp") {
    return true;
  }
  return option.size() > 1 && option[1] != '-' && option.find_first_of("SAnVhK") != option.npos;
}

/// True if what stands before `at` is the sign of a pipe.
bool behind_pipe(std::string_view command, std::size_t at) {
  const auto before = command.substr(0, at).find_last_not_of(" \t\n");
  if (before == command.npos) return false;
  if (command[before] == '&') return before > 0 && command[before - 1] == '|';
  return command[before] == '|' && (before == 0 || command[before - 1] != '|');
}

std::size_t word_end(std::string_view command, std::size_t at) {
  const auto end = command.find_first_of(" \t\n;&|<>()`", at);
  return end == command.npos ? command.size() : end;
}

}  // namespace

sudo_rewrite sudo_reads_stdin(std::string_view command) {
  std::vector<std::size_t> places;
  if (command.find("sudo") != command.npos) {
    for (const auto& simple : scan_shell(command).commands) {
      std::vector<std::size_t> candidates;
      const auto& words = simple.words;
      const auto at = unwrapped(words, &candidates);
      if (at < words.size()) candidates.push_back(at);
      for (const auto i : candidates) {
        if (words[i].quoted || program_name(words[i].text) != "sudo") continue;
        auto first = words.front().begin;
        if (!simple.assignments.empty()) first = std::min(first, simple.assignments[0].begin);
        if (behind_pipe(command, first)) continue;
        auto next = i + 1;
        while (next < words.size() && words[next].text.starts_with('-') &&
               !asks_no_password(words[next].text)) {
          ++next;
        }
        if (next < words.size() && words[next].text.starts_with('-')) continue;
        places.push_back(word_end(command, words[i].begin));
      }
    }
  }
  std::sort(places.begin(), places.end());
  sudo_rewrite result;
  result.passwords = places.size();
  std::size_t from = 0;
  for (const auto place : places) {
    result.command.append(command.substr(from, place - from)).append(options);
    from = place;
  }
  result.command.append(command.substr(from));
  return result;
}

bool sudo_auth_failed(std::string_view command, std::string_view output) {
  constexpr std::string_view markers[] = {
      "Sorry, try again", "incorrect password attempt", "sudo: no password was provided",
      "sudo: a password is required", "sudo: Authentication failed"};
  const auto said = std::any_of(std::begin(markers), std::end(markers),
                                [&](std::string_view x) { return output.find(x) != output.npos; });
  return said && !command_positions(command, "sudo").empty();
}

}  // namespace troupe::text
