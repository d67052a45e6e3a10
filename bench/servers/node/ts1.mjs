// The official TypeScript SDK, 1.x: ts1.mjs (calls | many | raw | seven) [PORT]. HTTP with sessions and JSON answers.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { described, RAW, SERVERS } from './tools.mjs';

const [which, port] = process.argv.slice(2);

// Only the low-level server takes a JSON Schema as it is. It does not validate the arguments.
function raw() {
  const server = new Server({ name: 'bench', version: '1.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: RAW }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => described(params.arguments));
  return server;
}

function make() {
  if (which === 'raw') return raw();
  const server = new McpServer({ name: 'bench', version: '1.0' });
  SERVERS[which](server, (fields) => fields);
  return server;
}

const sessions = new Map();

async function begun() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await make().connect(transport);
  return transport;
}

if (port) {
  const serve = async (request, response) =>
    (sessions.get(request.headers['mcp-session-id']) ?? (await begun())).handleRequest(request, response);
  createServer(serve).listen(Number(port), '127.0.0.1');
} else {
  await make().connect(new StdioServerTransport());
}
