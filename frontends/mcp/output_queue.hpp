// Frames on their way to the client: a queue and the one thread that writes it. Pushing never blocks,
// so actors may do it; the reader of requests asks `congested` and pauses instead, which bounds the
// queue by what is under way. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace troupe::mcp {

class output_queue {
 public:
  /// Writes to `descriptor`, which stays open and is not owned. Above `limit` bytes the queue is
  /// congested. Throws std::system_error if there are no descriptors left.
  output_queue(int descriptor, std::size_t limit);
  /// Throws away what is not written yet.
  ~output_queue();
  output_queue(const output_queue&) = delete;
  output_queue& operator=(const output_queue&) = delete;

  /// Adds one frame; a line feed is put behind it.
  void push(std::string frame);

  bool congested() const;

  /// True when the client cannot be written to any more.
  bool broken() const;

  /// A descriptor that becomes readable when the queue stops being congested, or breaks. To be
  /// read (8 bytes) by whoever polls it.
  int relief() const noexcept { return relief_; }

  /// Waits until everything is written, but not longer than `limit`, and ends the thread. True if
  /// everything was written.
  bool close(std::chrono::milliseconds limit);

 private:
  void write_all();
  bool write_some(std::string_view& bytes);
  void signal(int descriptor);

  int out_;
  std::size_t limit_;
  int relief_ = -1;
  int stop_ = -1;
  bool is_socket_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> frames_;
  std::size_t bytes_ = 0;
  bool closing_ = false;
  bool broken_ = false;
  bool done_ = false;
  std::thread writer_;
};

}  // namespace troupe::mcp
