// The rendered screen of a PTY program, by libvterm. Used for the `screen` view of a process.
// Guarantees: any bytes may be fed; the render is valid UTF-8.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace troupe::text {

/// A position on a screen, both from 0.
struct screen_position {
  int row = 0;
  int col = 0;
};

/// An emulated terminal: UTF-8, wide and combining characters, alternate screen. A screen of R × C
/// cells takes about 100 bytes per cell. Not thread-safe; movable, not copyable.
class screen {
 public:
  /// Sizes below 1 count as 1, above 1,000 as 1,000. Throws std::bad_alloc if there is no memory.
  screen(int rows, int cols);
  ~screen();
  screen(screen&&) noexcept;
  screen& operator=(screen&&) noexcept;

  /// Takes the next output of the program. Sequences and characters may be split anywhere.
  void feed(std::string_view bytes);

  /// Changes the size, as a terminal window does.
  void resize(int rows, int cols);

  /// The visible text: rows joined by line feeds, without blanks at the end of rows and without
  /// empty rows at the end.
  std::string render() const;

  screen_position cursor() const;
  int rows() const;
  int cols() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace troupe::text
