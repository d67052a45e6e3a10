// The official TypeScript SDK, 1.x: ts1.mjs (calls | many | seven) [PORT]. HTTP with sessions and JSON answers.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { SERVERS } from './tools.mjs';

const [which, port] = process.argv.slice(2);

function make() {
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
