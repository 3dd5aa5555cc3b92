// A store of its own on a disk that can fail, asked by blocking calls.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "troupe/actors/runtime.hpp"
#include "troupe/actors/store.hpp"
#include "troupe/config/node_config.hpp"
#include "troupe/tests/catch.hpp"
#include "troupe/tests/support/faulty_files.hpp"
#include "troupe/tests/support/host.hpp"
#include "troupe/tests/support/process_samples.hpp"
#include "troupe/tests/support/temporary_dir.hpp"

namespace troupe::testing {

inline const bool types_are_known = (init_types(), true);

struct store_fixture {
  temporary_dir own_dir;
  std::string dir;
  faulty_files files;
  options opts;
  std::shared_ptr<backends::io_loop> loop = std::make_shared<backends::io_loop>();
  node_config config;
  caf::actor_system system{config};
  std::shared_ptr<open_journal> opened;
  store_actor store;
  std::mutex mutex;
  std::vector<std::string> warnings;

  /// `where`: the state directory of another fixture; empty: one of its own.
  explicit store_fixture(const std::function<void(options&)>& adjust = {},
                         const std::string& where = {}) {
    dir = where.empty() ? own_dir.path() : where;
    opts.state_dir = dir;
    opts.sync_delay = std::chrono::milliseconds{20};
    opts.warn = [this](const std::string& text) {
      const std::lock_guard lock{mutex};
      warnings.push_back(text);
    };
    if (adjust) adjust(opts);
    opened = std::make_shared<open_journal>(open_event_journal(files, opts));
    REQUIRE(opened->error.empty());
    store = system.spawn<store_actor::stateful_impl<store_state>, caf::detached>(
        std::make_shared<const options>(opts), loop, opened, &files);
  }
  ~store_fixture() { end(); }

  void end() {
    if (store) compat::anon_send_exit(store, caf::exit_reason::user_shutdown);
    caf::scoped_actor self{system};
    if (store) self->wait_for(store);
    store = nullptr;
  }

  template <class... Args>
  errc tell(Args&&... args) {
    errc result = errc::none;
    caf::scoped_actor self{system};
    compat::request_within(self.ptr(), generous, store, std::forward<Args>(args)...)
        .receive([] {}, [&](const caf::error& e) { result = error_code_of(e); });
    return result;
  }

  errc append(std::uint64_t number) {
    return tell(append_atom_v, std::uint8_t{1}, number, "{\"n\":" + std::to_string(number) + "}",
                std::uint64_t{0});
  }
  errc record(unsigned n, std::uint32_t node = 0) {
    auto x = sample_record(n);
    x.node = node;
    return tell(record_atom_v,
                stored_record{std::make_shared<const persistence::process_record>(std::move(x))});
  }
  errc receipt(unsigned n, const std::function<void(persistence::receipt&)>& adjust = {}) {
    auto x = sample_receipt(n);
    if (adjust) adjust(x);
    return tell(receipt_atom_v,
                stored_receipt{std::make_shared<const persistence::receipt>(std::move(x))});
  }
  found_receipts find(const std::string& session, const std::string& id) {
    found_receipts result;
    caf::scoped_actor self{system};
    compat::request_within(self.ptr(), generous, store, find_atom_v, session, id)
        .receive([&](found_receipts& found) { result = std::move(found); },
                 [](const caf::error& e) { FAIL(error_text(e)); });
    return result;
  }
  std::pair<file_part, errc> read(const std::string& path, std::uint64_t offset,
                                  std::uint64_t size) {
    std::pair<file_part, errc> result{{}, errc::none};
    caf::scoped_actor self{system};
    compat::request_within(self.ptr(), generous, store, read_atom_v, path, offset, size)
        .receive([&](file_part& part) { result.first = std::move(part); },
                 [&](const caf::error& e) { result.second = error_code_of(e); });
    return result;
  }

  std::vector<std::string> told() {
    const std::lock_guard lock{mutex};
    return warnings;
  }
  bool has_record(unsigned n) const { return exists("/processes/", n); }
  bool has_receipt(unsigned n) const { return exists("/results/", n); }

  std::vector<std::uint64_t> events() const {
    std::vector<std::uint64_t> numbers;
    persistence::journal j{persistence::real_files(), dir + "/events/node-0", 1 << 20};
    REQUIRE_FALSE(
        j.open([&](const persistence::journal_record& r) { numbers.push_back(r.number); }));
    return numbers;
  }

 private:
  bool exists(const char* folder, unsigned n) const {
    return std::filesystem::exists(dir + folder + process_id(n) + ".json");
  }
};

}  // namespace troupe::testing
