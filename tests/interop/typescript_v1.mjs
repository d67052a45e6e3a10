// The official TypeScript client, 1.x: what it saw of a server, as one line of JSON.
// Usage: typescript_v1.mjs CALLS (URL | COMMAND ARGUMENT...)

import { Client } from '@modelcontextprotocol/sdk/client/index.js';

import { transport } from './typescript_v1_transport.mjs';

async function call(client, [name, args]) {
  const result = await client.callTool({ name, arguments: args });
  const text = result.content.filter((block) => block.type === 'text').map((block) => block.text).join('');
  return { text, structured: result.structuredContent ?? null, is_error: result.isError ?? false };
}

async function seen(calls, target) {
  let revision = null;
  const carrier = transport(target, (told) => (revision = told));
  const client = new Client({ name: 'interop', version: '1' }, { capabilities: {} });
  await client.connect(carrier, { timeout: 20_000 });
  const { tools } = await client.listTools();
  const results = {};
  for (const [key, made] of Object.entries(calls)) results[key] = await call(client, made);
  await carrier.terminateSession?.();
  await client.close();
  return { revision, tools: tools.map((tool) => tool.name), results };
}

const [calls, ...target] = process.argv.slice(2);
console.log(JSON.stringify(await seen(JSON.parse(calls), target)));
