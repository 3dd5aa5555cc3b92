// The official TypeScript SDK's client against `troupe mcp`: lists both tools, calls them, gets
// progress, cancels, and leaves nothing behind. The SDK checks every structured answer against the
// output schema of its tool.
import assert from "node:assert/strict";
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const troupe = `${process.env.TROUPE_BIN_DIR}/troupe`;
const watchdog = setTimeout(() => {
  console.error("the test takes too long");
  process.exit(1);
}, 120_000);

function processesWith(text) {
  return fs.readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return fs.readFileSync(`/proc/${name}/cmdline`, "latin1").includes(text);
    } catch {
      return false; // it has just ended
    }
  });
}

async function until(what, condition, limit = 10_000) {
  const end = Date.now() + limit;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited too long: ${what}`);
    await sleep(20);
  }
}

// Clients hand on a part of their environment only.
const transport = new StdioClientTransport({
  command: troupe,
  args: ["mcp"],
  env: { PATH: process.env.PATH, HOME: process.env.HOME, TROUPE_HOME: process.env.TROUPE_HOME },
  stderr: "inherit",
});
const client = new Client({ name: "troupe-test", version: "1.0.0" });
client.onerror = (error) => {
  // The SDK handles a response at once and a notification a microtask later, so a progress
  // notification that stands right before its response in the stream finds its token gone.
  if (/progress notification for an unknown token/.test(error.message)) return;
  throw error;
};
await client.connect(transport);
assert.equal(client.getServerVersion().name, "troupe");
await client.ping();
await client.setLoggingLevel("error");

// Both tools are listed, with schemas and annotations.
const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name).sort(), ["process", "terminal"]);
for (const tool of tools) {
  assert.equal(tool.inputSchema.type, "object");
  assert.equal(tool.outputSchema.type, "object");
  assert.equal(typeof tool.annotations.destructiveHint, "boolean");
}

const call = (name, args, options) =>
  client.callTool({ name, arguments: args }, undefined, options);

// A foreground command.
const failed = await call("terminal", { command: "echo out; echo err >&2; exit 7" });
assert.equal(failed.isError, false);
assert.equal(failed.structuredContent.exit_code, 7);
assert.match(failed.structuredContent.output, /out\nerr/);
assert.deepEqual(JSON.parse(failed.content[0].text), failed.structuredContent);

// A wrong call is a result, not a broken protocol.
const wrong = await call("terminal", { command: 7 });
assert.equal(wrong.isError, true);
assert.match(wrong.structuredContent.error, /'command' must be a string/);

// A background process: started, answered, waited for, listed.
const started = (await call("terminal", { command: "read x; echo got=$x", background: true,
  stdin: true })).structuredContent;
assert.equal(started.exit_code, 0);
const id = started.session_id;
await call("process", { action: "submit", session_id: id, data: "bob" });
const ended = (await call("process", { action: "wait", session_id: id, timeout: 30 }))
  .structuredContent;
assert.equal(ended.status, "exited");
assert.equal(ended.exit_code, 0);
assert.match(ended.output, /got=bob/);
for (const action of ["poll", "log", "kill"]) {
  const answer = await call("process", { action, session_id: id });
  assert.equal(answer.isError, false, JSON.stringify(answer));
  assert.equal(answer.structuredContent.session_id, id);
}
const list = (await call("process", { action: "list" })).structuredContent.processes;
assert.ok(list.some((row) => row.session_id === id && row.status === "exited"));
const lost = await call("process", { action: "poll", session_id: "proc_000000000000" });
assert.equal(lost.structuredContent.status, "not_found");

// Progress carries the output while the command runs.
const progress = [];
await call("terminal", { command: "echo one; sleep 0.5; echo two" },
  { onprogress: (p) => progress.push(p) });
assert.match(progress.map((p) => p.message).join(""), /one/);
assert.ok(progress.every((p, i) => i === 0 || p.progress > progress[i - 1].progress));

// Cancelling a call ends its command and nothing else.
const aborter = new AbortController();
const cancelled = call("terminal", { command: "sleep 612345" }, { signal: aborter.signal });
await until("the command to be there", () => processesWith("612345").length > 0);
const beside = call("terminal", { command: "sleep 1; echo untouched" });
aborter.abort("no longer wanted");
await assert.rejects(cancelled);
await until("the cancelled command to be gone", () => processesWith("612345").length === 0);
assert.match((await beside).structuredContent.output, /untouched/);

// Closing the client ends the server and what it started.
await call("terminal", { command: "sleep 612346", background: true });
await client.close();
await until("everything to be gone", () => processesWith("612346").length === 0);
clearTimeout(watchdog);
console.log("the SDK's client and troupe get along");
