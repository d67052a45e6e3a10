// The official TypeScript client, 2.x: what it saw of a server, as one line of JSON.
// Usage: typescript_v2.mjs CALLS (URL | COMMAND ARGUMENT...)

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

function transport([first, ...rest]) {
  if (first.startsWith('http://')) return new StreamableHTTPClientTransport(new URL(first));
  return new StdioClientTransport({ command: first, args: rest });
}

async function call(client, [name, args]) {
  const result = await client.callTool({ name, arguments: args });
  const text = result.content.filter((block) => block.type === 'text').map((block) => block.text).join('');
  return { text, structured: result.structuredContent ?? null, is_error: result.isError ?? false };
}

async function seen(calls, target) {
  const client = new Client(
    { name: 'interop', version: '1' },
    { capabilities: {}, versionNegotiation: { mode: 'auto' } },
  );
  await client.connect(transport(target), { timeout: 20_000 });
  const { tools } = await client.listTools();
  const results = {};
  for (const [key, made] of Object.entries(calls)) results[key] = await call(client, made);
  const revision = client.getNegotiatedProtocolVersion();
  await client.close();
  return { revision, tools: tools.map((tool) => tool.name), results };
}

const [calls, ...target] = process.argv.slice(2);
console.log(JSON.stringify(await seen(JSON.parse(calls), target)));
