// Every number of Troupe, in one place, each with its source. They are the defaults of the options
// in `options.hpp`; nothing else in the code base names a limit of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace troupe::defaults {

using namespace std::chrono_literals;

// -- output (behaviour 1, design 4) --
inline constexpr std::size_t retained_bytes = 200'000;             // kept in memory per process
inline constexpr std::size_t ring_bytes = 512 * 1024;              // retained + room to write ahead
inline constexpr std::size_t preview_chars = 1'000;                // poll
inline constexpr std::size_t list_preview_chars = 200;             // list, also of the command
inline constexpr std::size_t tail_chars = 2'000;                   // wait, kill, completion
inline constexpr std::size_t foreground_chars = 50'000;            // terminal: head 40 %, tail 60 %
inline constexpr std::uint64_t full_output_bytes = 64 << 20;       // one file, then a marker
inline constexpr std::uint64_t full_output_total_bytes = 1 << 30;  // all of them together
inline constexpr auto full_output_retention = 7 * 24h;
inline constexpr std::size_t spill_chunk_bytes = 256 * 1024;   // handed to the store at once …
inline constexpr std::size_t spill_chunks = 3;                 // … and at most so many unanswered
inline constexpr std::size_t archive_chunk_bytes = 64 * 1024;  // in the background
inline constexpr auto spill_limit = 30s;                   // a disk that takes longer has failed
inline constexpr std::size_t log_lines = 200;              // log, per answer
inline constexpr std::size_t log_bytes = 100'000;          // log, byte cap beside the line cap
inline constexpr std::size_t stdin_queue_bytes = 8 << 20;  // then would_block
inline constexpr std::size_t pty_line_bytes = 4'095;       // canonical mode, N_TTY
inline constexpr auto drain_limit = 50ms;                  // after the exit, never re-armed

// -- limits (behaviour 1) --
inline constexpr std::size_t running_per_session = 256;
inline constexpr std::size_t running_per_node = 8'192;
inline constexpr std::size_t finished_per_session = 64;
inline constexpr auto finished_retention = 30min;
inline constexpr std::size_t interrupted_turns = 4'096;    // remembered, oldest forgotten first
inline constexpr std::size_t waiters_per_process = 1'024;  // requests held by one process

// -- killing (design 5) --
inline constexpr auto grace = 2'000ms;
inline constexpr auto settle = 1'000ms;

// -- waiting (behaviour 2, 3) --
inline constexpr auto wait_default = 180s;
inline constexpr auto wait_max = 180s;
inline constexpr auto foreground_timeout = 180s;
inline constexpr auto foreground_timeout_max = 600s;

// -- environments (behaviour 5) --
inline constexpr auto snapshot_limit = 30s;
inline constexpr auto environment_idle = 300s;
inline constexpr std::size_t environments_kept = 1'024;
inline constexpr std::size_t warm_shells = 2;  // measured, see docs/performance.md

// -- terminal --
inline constexpr std::uint16_t pty_rows = 30;
inline constexpr std::uint16_t pty_cols = 120;
inline constexpr std::uint32_t heartbeat_min_seconds = 60;

// -- events (behaviour 4, design 8) --
inline constexpr auto watch_cooldown = 15s;             // per process, after a delivered match
inline constexpr std::uint32_t watch_strikes = 3;       // windows in a row with held-back lines
inline constexpr std::uint32_t watch_hits_max = 8;      // delivered matches per process
inline constexpr std::size_t watch_lines = 20;          // per event
inline constexpr std::size_t watch_chars = 2'000;       // per event
inline constexpr std::size_t watch_window = 16 * 1024;  // bytes of a long line looked at at once
inline constexpr std::size_t watch_patterns_max = 64;   // per process
inline constexpr std::uint32_t breaker_matches = 15;    // more than these of all processes …
inline constexpr auto breaker_window = 10s;             // … in this time …
inline constexpr auto breaker_pause = 30s;              // … are held back for this long
inline constexpr std::size_t heartbeat_chars = 2'000;
inline constexpr std::size_t event_batch = 64;            // per delivery
inline constexpr std::size_t events_per_session = 8'192;  // undelivered; then a gap
inline constexpr std::size_t event_bytes = 64 << 20;      // undelivered, all sessions together
inline constexpr auto event_retention = 7 * 24h;
inline constexpr std::uint64_t journal_segment_bytes = 4 << 20;
inline constexpr auto sync_delay = 1'000ms;       // at most this far behind the kernel
inline constexpr std::size_t wait_ids_max = 256;  // ids in one wait

// -- what outlives a process (design 7) --
inline constexpr std::size_t receipts_kept = 1'000;
inline constexpr auto receipt_retention = 7 * 24h;
inline constexpr std::uint64_t receipts_bytes = 256 << 20;        // all of them together
inline constexpr std::uint64_t receipts_loaded_bytes = 64 << 20;  // read when a node starts
inline constexpr std::size_t store_backlog_bytes = 8 << 20;       // failed writes kept for a retry
inline constexpr std::uint64_t state_file_bytes = 64
                                                  << 20;    // a larger record or receipt is damaged
inline constexpr std::uint64_t state_read_bytes = 4 << 20;  // most in one answer to read_atom

// -- after a crash (design 6, 7) --
inline constexpr auto owner_grace = 1'000ms;                // C23 looks after 2 s
inline constexpr std::uint64_t spool_bytes = 64 << 20;      // as full_output_bytes
inline constexpr auto keeper_limit = 5s;                    // to answer at the start of a node
inline constexpr std::size_t read_part_bytes = 256 * 1024;  // of a file, at once

// -- scheduler (design 10) --
inline constexpr std::size_t max_throughput = 100;
inline constexpr std::size_t least_workers = 2;
inline constexpr std::size_t launcher_threads = 2;

}  // namespace troupe::defaults
