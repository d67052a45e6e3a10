// The official TypeScript SDK, 2.x: ts2.mjs (calls | many | seven) [PORT]. HTTP with JSON answers.

import { createServer } from 'node:http';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { toNodeHandler } from '@modelcontextprotocol/node';
import * as z from 'zod';
import { SERVERS } from './tools.mjs';

const [which, port] = process.argv.slice(2);

function make() {
  const server = new McpServer({ name: 'bench', version: '1.0' });
  SERVERS[which](server, (fields) => z.object(fields));
  return server;
}

if (port) {
  createServer(toNodeHandler(createMcpHandler(make, { responseMode: 'json' }))).listen(Number(port), '127.0.0.1');
} else {
  await serveStdio(make);
}
