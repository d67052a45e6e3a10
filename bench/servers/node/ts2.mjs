// The official TypeScript SDK, 2.x: ts2.mjs (calls | many | raw | seven) [PORT]. HTTP with JSON answers.

import { createServer } from 'node:http';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { toNodeHandler } from '@modelcontextprotocol/node';
import * as z from 'zod';
import { described, RAW, SERVERS } from './tools.mjs';

const [which, port] = process.argv.slice(2);

function raw(server) {
  for (const { name, description, inputSchema } of RAW) {
    server.registerTool(name, { description, inputSchema: fromJsonSchema(inputSchema) }, async (asked) => described(asked));
  }
}

function make() {
  const server = new McpServer({ name: 'bench', version: '1.0' });
  if (which === 'raw') raw(server);
  else SERVERS[which](server, (fields) => z.object(fields));
  return server;
}

if (port) {
  createServer(toNodeHandler(createMcpHandler(make, { responseMode: 'json' }))).listen(Number(port), '127.0.0.1');
} else {
  await serveStdio(make);
}
