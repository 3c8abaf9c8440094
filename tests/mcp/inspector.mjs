// The inspector's command line: a process and a server of its own for every call.

import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { promisify } from "node:util";

import { run, server } from "./steps.mjs";

const program = createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector-cli");

async function inspect(...options) {
  const line = [program, "--cli", server.command, ...server.args, ...options];
  const { stdout } = await promisify(execFile)(process.execPath, line, { maxBuffer: 16 * 1024 * 1024 });
  return JSON.parse(stdout);
}

await run("@modelcontextprotocol/inspector-cli", {
  list: async () => (await inspect("--method", "tools/list")).tools,
  call: (name, args) => {
    const pairs = Object.entries(args).flatMap(([key, value]) => ["--tool-arg", `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`]);
    return inspect("--method", "tools/call", "--tool-name", name, ...pairs);
  },
});
