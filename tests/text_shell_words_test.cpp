// The shell scanner and its rules.
#include "troupe/tests/catch.hpp"
#include "troupe/text/shell_words.hpp"

#include <random>
#include <string>
#include <vector>

using namespace troupe::text;

TEST_CASE("commands that must not run in the foreground are refused, naming the word") {
  struct row {
    std::string command, what;
  };
  const std::vector<row> rows = {
      {"nohup make", "nohup"},
      {"make & disown", "disown"},
      {"setsid make", "setsid"},
      {"sudo -u me nohup make", "nohup"},
      {"env A=1 setsid x", "setsid"},
      {"A=1 nohup x", "nohup"},
      {"cd x && nohup y", "nohup"},
      {"(cd x; nohup y)", "nohup"},
      {"echo $(nohup x)", "nohup"},
      {"echo `nohup x`", "nohup"},
      {"if true; then nohup x; fi", "nohup"},
      {"case x in x) nohup y;; esac", "nohup"},
      {"/usr/bin/nohup x", "nohup"},
      {"'nohup' x", "nohup"},
      {"cat <<E\nbody\nE\nnohup x", "nohup"},
      {"f() { nohup x; }; f", "nohup"},
      {"sleep 5 &", "&"},
      {"sleep 5&", "&"},
      {"a & b", "&"},
      {"a&b", "&"},
      {"sleep 5 & # comment", "&"},
      {"(sleep 5; x) &", "&"},
      {"for i in 1 2; do x $i & done; wait", "&"},
      {"while true; do x; done &", "&"},
      {"cmd 2>&1 &", "&"},
      {"cmd > f 2>&1&", "&"},
      {"cat <<E &\nbody\nE", "&"},
      {"echo 'a' &\necho b", "&"},
      {"{ a; } &", "&"},
      {"[[ a ]] & b", "&"},
      {"echo \"$(sleep 9 & echo x)\"", "&"},
      {"npm start", "npm start"},
      {"npm run dev", "npm run dev"},
      {"npm --prefix web run serve", "npm run serve"},
      {"pnpm dev", "pnpm dev"},
      {"yarn watch", "yarn watch"},
      {"bun run start", "bun run start"},
      {"cd web && npm run dev", "npm run dev"},
      {"docker compose up", "docker compose up"},
      {"docker compose -f a.yml up --build", "docker compose up"},
      {"docker-compose up", "docker-compose up"},
      {"next dev", "next dev"},
      {"npx next dev -p 3000", "next dev"},
      {"vite", "vite"},
      {"npx vite --host", "vite"},
      {"nodemon app.js", "nodemon"},
      {"uvicorn app:app --reload", "uvicorn"},
      {"uv run uvicorn app:app", "uvicorn"},
      {"gunicorn app:app", "gunicorn"},
      {"python3 -m http.server 8000", "python3 -m http.server"},
      {"python -u -m http.server", "python -m http.server"},
      {"PORT=1 python3.11 -m http.server", "python3.11 -m http.server"},
      {"echo --help; nohup x", "nohup"},
  };
  for (const row& r : rows) {
    CAPTURE(r.command);
    const auto refusal = refuse_foreground(r.command);
    REQUIRE(refusal);
    CHECK(refusal->what == r.what);
    CHECK(refusal->reason.find("background=true") != std::string::npos);
  }
}

TEST_CASE("commands that only look like it pass") {
  for (const std::string command : {
           "echo \"a & b\"",
           "echo 'a & b'",
           "echo $'it\\'s & x'",
           "grep 'nohup' f",
           "grep nohup f",
           "echo nohup",
           "man setsid",
           "which nohup disown",
           "command -v nohup",
           "type setsid",
           "# nohup x &",
           "echo a # b & c",
           "echo a#b '&'",
           "cat <<E\na & b\nnohup x\nE",
           "cat <<'E'\na & b\nE\necho done",
           "cat <<-E\n\tx & y\n\tE\necho z",
           "cat <<\"A B\"\n&\nA B",
           "cat <<A; cat <<B\n&\nA\nnohup x\nB",
           "python3 - <<'PY'\nprint(1 & 2)\nPY",
           "python3 -m http.server --help",
           "nohup --help",
           "setsid --version",
           "uvicorn --version",
           "vite -v",
           "npm run dev --help",
           "gunicorn -h",
           "find . -name '*&*'",
           "cmd 2>&1",
           "cmd >&2",
           "cmd >& file",
           "cmd &> file",
           "cmd &>> file",
           "cmd &>file; x",
           "cmd <&3",
           "cmd 2>&1 | tee x",
           "cmd |& tee x",
           "cmd 3<&0- 4>&-",
           "a && b",
           "a || b && c",
           "[[ a && b ]]",
           "[[ $x =~ a&b ]] && echo y",
           "$((a & b))",
           "echo $((a & b)) $(( (1 & 2) + 3 ))",
           "(( a & b ))",
           "for (( i = 0; i & 1; i++ )); do x; done",
           "echo a \\& b",
           "curl 'http://x/?a=1&b=2'",
           "curl \"http://x/?a=1&b=$c\"",
           "case $x in a) echo '&';; b|c) echo b ;; *) echo z;; esac",
           "case x in (a) b ;& c) d ;;& esac; e",
           "case x in esac; y",
           "echo ${x:-a & b} ${y//&/ }",
           "echo \"${x:-\"a & b\"}\"",
           "echo \"$(echo 'a & b')\"",
           "diff <(a) <(b)",
           "x=(a '&' b)",
           "x='a & b' make",
           "npm test",
           "npm run build",
           "npm install start",
           "yarn add dev",
           "npm run startup",
           "docker compose up -d",
           "docker compose up --detach --build",
           "docker compose down",
           "docker compose logs up",
           "next build",
           "vite build",
           "npx vite build",
           "python3 -m http.client",
           "python3 -c 'import http.server'",
           "python3 script.py -m http.server",
           "timeout 5 npm start",
           "pip install uvicorn gunicorn",
           "echo vite",
           "git commit -m 'fix & nohup'",
           "git commit -m \"start dev & serve\"",
           "echo `echo 'a & b'`",
           "echo \"unterminated & quote",
           "",
       }) {
    CAPTURE(command);
    const auto refusal = refuse_foreground(command);
    CAPTURE(refusal ? refusal->what : "");
    CHECK_FALSE(refusal);
  }
}

TEST_CASE("the command that decided the result") {
  struct row {
    std::string command;
    std::vector<std::string> words;
  };
  const std::vector<row> rows = {
      {"a | grep x y", {"grep", "x", "y"}},
      {"cd d && A=1 sudo -u me env B=2 diff 'a b' c", {"diff", "a b", "c"}},
      {"a; time command find . > out 2>&1", {"find", "."}},
      {"timeout 5 curl x", {"curl", "x"}},
      {"(a; test -f x)", {"test", "-f", "x"}},
      {"[[ a == b ]]", {"[[", "a", "==", "b", "]]"}},
      {"grep x $(ls | sort)", {"grep", "x", "$(ls | sort)"}},
      {"grep x <<E\nb; c\nE", {"grep", "x"}},
      {"grep x f # ; y", {"grep", "x", "f"}},
      {"\"/usr/bin/grep\" \"a\\\"b\"", {"/usr/bin/grep", "a\"b"}},
  };
  for (const row& r : rows) {
    CAPTURE(r.command);
    const auto decided = deciding_command(r.command);
    REQUIRE(decided);
    CHECK(decided->words == r.words);
    CHECK_FALSE(decided->negated);
  }
  CHECK(deciding_command("! grep x f")->negated);
  CHECK_FALSE(deciding_command(""));
  CHECK_FALSE(deciding_command("A=1"));
}

TEST_CASE("positions of a word in command position") {
  using positions = std::vector<size_t>;
  CHECK(command_positions("sudo a; sudo b", "sudo") == positions{0, 8});
  CHECK(command_positions("echo sudo; A=1 sudo b", "sudo") == positions{15});
  CHECK(command_positions("env -u X A=1 sudo b", "sudo") == positions{13});
  CHECK(command_positions("/usr/bin/sudo b | sudo c", "sudo") == positions{0, 18});
  CHECK(command_positions("echo $(sudo b) `sudo c`", "sudo") == positions{7, 16});
  CHECK(command_positions("cat > sudo <<E\nsudo\nE", "sudo").empty());
  CHECK(command_positions("'sudo' x; \"sudo x\"; # sudo", "sudo").empty());
  CHECK(command_positions("time sudo x && ! sudo y", "sudo") == positions{5, 17});
}

TEST_CASE("any bytes are scanned in reasonable time") {
  std::mt19937 random(10);
  const std::string pool = "a&;|()<>{}[]$`'\"\\\n# =!*-1 case in esac do done if fi";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t n = random() % 60; n > 0; --n) text += pool[random() % pool.size()];
    scan_shell(text);
  }
  for (const std::string piece : {"(", "$(", "`", "\"$(", "${", "((", "$((", "case x in ", "[[ ",
                                  "<(", "<<E\n", "a & ", "'", "{ ", "if "}) {
    std::string text;
    while (text.size() < 1'000'000) text += piece;
    CAPTURE(piece);
    scan_shell(text);
  }
  SUCCEED();
}
