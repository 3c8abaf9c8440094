// What every client does with the server, whatever it is written with: list the tools, make the calls of `calls.json`, look at
// each answer. A client brings `list` and `call`; nothing here knows a client.

import { readFileSync } from "node:fs";

const known = JSON.parse(process.env.FRITH_KNOWN);
const calls = JSON.parse(readFileSync(new URL("calls.json", import.meta.url), "utf8"));

export const server = { command: process.env.FRITH, args: ["mcp", "--host", known.host, "--place", known.place] };

function filled(value) {
  if (typeof value === "string") return value.replace(/\$\{(\w+)\}/g, (_, name) => known[name]);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([key, below]) => [key, filled(below)]);
  return Array.isArray(value) ? entries.map(([, below]) => below) : Object.fromEntries(entries);
}

const at = (value, path) => path.split(".").reduce((below, key) => below?.[key], value);

function require(holds, what, answer) {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(answer)}`);
}

function look(step, answer) {
  if (step.refused !== undefined) {
    require(answer.isError === true, `${step.tool} is not refused`, answer);
    require(answer.content[0].text.includes(step.refused), `${step.tool} is refused in other words`, answer);
    return;
  }
  const said = answer.structuredContent;
  require(answer.isError !== true && said !== undefined, `${step.tool} fails`, answer);
  const text = answer.content.map((part) => part.text ?? part.resource?.text ?? "").join("\n");
  require(text !== "" && text.includes(step.says ?? ""), `${step.tool} says something else in text`, answer);
  for (const [path, value] of Object.entries(filled(step.is ?? {}))) {
    require(at(said, path) === value, `${step.tool} does not answer ${value} at ${path}`, said);
  }
  for (const path of step.has ?? []) require(at(said, path) !== undefined, `${step.tool} has no ${path}`, said);
  for (const [name, path] of Object.entries(step.keep ?? {})) known[name] = at(said, path);
}

export async function run(name, { list, call }) {
  const tools = await list();
  const called = new Set(calls.map((step) => step.tool));
  for (const tool of tools) {
    require(called.has(tool.name), `nothing calls ${tool.name}`, tool);
    require(tool.inputSchema?.type === "object" && tool.outputSchema?.type === "object", `${tool.name} has no schemas`, tool);
    require(tool.annotations?.openWorldHint === false, `${tool.name} has no annotations`, tool);
  }
  const missing = [...called].filter((wanted) => !tools.some((tool) => tool.name === wanted));
  require(missing.length === 0, "tools are missing", missing);
  for (const step of calls) look(step, await call(step.tool, filled(step.arguments)));
  const refused = calls.filter((step) => step.refused !== undefined).length;
  console.log(`${name}: ${tools.length} tools, ${calls.length - refused} answers, ${refused} refusal`);
}
