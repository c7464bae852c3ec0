// A connected client on strings: one JSON question a line on stdin, one JSON answer a line on
// stdout. It says first which protocol version it speaks, and leaves in order at the end of stdin.
import { createInterface } from "node:readline";

export const settings = JSON.parse(process.argv[2]);
const [command, ...args] = settings.command;
export const server = { command, args, cwd: settings.cwd };
export const info = { name: settings.name, version: "1" };

export async function obey(client, version) {
  say({ version });
  for await (const line of createInterface({ input: process.stdin })) {
    const { call, arguments: given } = JSON.parse(line);
    say(call === undefined ? await names(client) : await result(client, call, given));
  }
  await client.close();
}

async function names(client) {
  const { tools } = await client.listTools();
  return { names: tools.map((tool) => tool.name) };
}

async function result(client, name, given) {
  const { content, isError, structuredContent } = await client.callTool({ name, arguments: given });
  const shape = content.map((part) => part.type);
  if (structuredContent !== undefined) shape.push("structured");
  return { text: content.map((part) => part.text).join("\n"), is_error: isError ?? false, shape };
}

function say(what) {
  process.stdout.write(JSON.stringify(what) + "\n");
}
