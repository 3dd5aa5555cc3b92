// The spill actor: writes the whole output of foreground commands whose results had to be cut. Detached,
// because it may block on a disk, and apart from the store, whose records must not wait behind it. The
// processes that feed it hold their commands back when it is slower than they are.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <caf/typed_event_based_actor.hpp>

#include "troupe/actors/output.hpp"
#include "troupe/config/options.hpp"
#include "troupe/messages/interfaces.hpp"
#include "troupe/persistence/output_files.hpp"

namespace troupe {

/// A part of the output of one process, in order. The first one creates the file.
struct spill_job {
  std::string id;
  std::string text;  ///< valid UTF-8 in whole characters, not masked yet
  bool assignments = false;
  bool last = false;     ///< nothing follows; the file is closed
  bool discard = false;  ///< nobody wants it any more; the file is removed
  /// `text` is bytes as they came, from `position` of the output on; they keep their positions in the
  /// file. `path`: of a file that an earlier life of the node began.
  bool raw = false;
  std::uint64_t position = 0;
  std::string path;
  /// Keep nothing back: where it came from is removed.
  bool flush = false;
};

/// Lines of an output of which the beginning is in a file and the rest in memory.
struct archive_query {
  std::string path;
  std::uint64_t archived = 0;  ///< bytes of the file that count
  std::string rest;            ///< what follows them
  log_options options;
  std::size_t max_bytes = 0;
  bool pipe_mode = true;
  redaction how = redaction::tokens;
  bool final = false;
};

/// The feeding side, part of what a foreground wait holds.
struct spill_feed {
  std::string pending;
  std::size_t unanswered = 0;
  bool over = false;    ///< the file is full, or cannot be written: nothing more is handed over
  bool failed = false;  ///< there is no file

  /// The disk is behind: the producer must wait.
  bool behind() const {
    return !over && unanswered >= defaults::spill_chunks &&
           pending.size() >= defaults::spill_chunk_bytes;
  }
};

class spill_state {
 public:
  spill_state(spill_actor::pointer self, std::shared_ptr<const options> opts,
              persistence::file_system* files);
  ~spill_state();
  spill_state(const spill_state&) = delete;
  spill_state& operator=(const spill_state&) = delete;

  spill_actor::behavior_type make_behavior();

  static constexpr const char* name = "troupe.spill";

 private:
  caf::result<std::string, std::uint64_t, bool> on_job(spill_job& job);
  caf::result<log_result> on_query(archive_query& query) const;
  void prune();

  persistence::file_system& files_;
  persistence::output_directory directory_;
  /// By process; null: it failed, and what still comes is thrown away.
  std::map<std::string, std::unique_ptr<persistence::output_file>> open_;
};

}  // namespace troupe
