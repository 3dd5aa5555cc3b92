// The rendered screen, see screen.hpp: a thin owner of a libvterm terminal.
#include "troupe/text/screen.hpp"

#include <vterm.h>

#include <algorithm>
#include <cstdint>
#include <new>

namespace troupe::text {
namespace {

constexpr int max_side = 1000;
constexpr uint32_t right_half_of_wide = 0xffffffff;

int clamp_side(int n) {
  return std::clamp(n, 1, max_side);
}

void append_utf8(std::string& out, uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) c = 0xfffd;
  auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

}  // namespace

struct screen::impl {
  impl(int rows, int cols) : terminal(vterm_new(clamp_side(rows), clamp_side(cols))) {
    if (!terminal) throw std::bad_alloc();
    vterm_set_utf8(terminal, 1);
    cells = vterm_obtain_screen(terminal);
    vterm_screen_enable_altscreen(cells, 1);
    vterm_screen_reset(cells, 1);
  }
  ~impl() { vterm_free(terminal); }
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;

  void append_row(int row, int cols, std::string& out) const {
    const size_t start = out.size();
    size_t end = start;
    for (int col = 0; col < cols; ++col) {
      VTermScreenCell cell;
      if (!vterm_screen_get_cell(cells, VTermPos{row, col}, &cell)) continue;
      if (cell.chars[0] == right_half_of_wide) continue;
      if (cell.chars[0] == 0 || cell.chars[0] == ' ') {
        out.push_back(' ');
        continue;
      }
      for (size_t i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i] != 0; ++i) {
        append_utf8(out, cell.chars[i]);
      }
      end = out.size();
    }
    out.resize(end);
  }

  VTerm* terminal;
  VTermScreen* cells = nullptr;
};

screen::screen(int rows, int cols) : impl_(std::make_unique<impl>(rows, cols)) {}
screen::~screen() = default;
screen::screen(screen&&) noexcept = default;
screen& screen::operator=(screen&&) noexcept = default;

void screen::feed(std::string_view bytes) {
  vterm_input_write(impl_->terminal, bytes.data(), bytes.size());
  // Answers to queries are given elsewhere (terminal_queries.hpp); here they would only pile up.
  char unused[256];
  while (vterm_output_read(impl_->terminal, unused, sizeof unused) > 0) {
  }
}

void screen::resize(int rows, int cols) {
  vterm_set_size(impl_->terminal, clamp_side(rows), clamp_side(cols));
}

std::string screen::render() const {
  std::string out;
  const int height = rows();
  const int width = cols();
  for (int row = 0; row < height; ++row) {
    if (row > 0) out.push_back('\n');
    impl_->append_row(row, width, out);
  }
  out.resize(out.find_last_not_of('\n') + 1);
  return out;
}

screen_position screen::cursor() const {
  VTermPos pos{0, 0};
  vterm_state_get_cursorpos(vterm_obtain_state(impl_->terminal), &pos);
  return {pos.row, pos.col};
}

int screen::rows() const {
  int rows = 0;
  int cols = 0;
  vterm_get_size(impl_->terminal, &rows, &cols);
  return rows;
}

int screen::cols() const {
  int rows = 0;
  int cols = 0;
  vterm_get_size(impl_->terminal, &rows, &cols);
  return cols;
}

}  // namespace troupe::text
