// The TypeScript SDK, which checks every structured answer against the schema that the server gave for it.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

import { run, server } from "./steps.mjs";

const client = new Client({ name: "frith-tests", version: "1.0.0" });
await client.connect(new StdioClientTransport({ ...server, env: process.env, cwd: process.cwd(), stderr: "inherit" }));
await run("@modelcontextprotocol/sdk", {
  list: async () => (await client.listTools()).tools,
  call: (name, args) => client.callTool({ name, arguments: args }),
});
await client.close();
