// The official TypeScript client, 1.x, with its tasks of 2025-11-25: what it saw of a server, as one line of JSON.
// Usage: typescript_v1_tasks.mjs CALLS (URL | COMMAND ARGUMENT...)
// Each call is [TOOL, ARGUMENTS, HOW]: "stream" follows the task to its end, "task" asks for one, "cancel" cancels it.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema, CreateTaskResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { transport } from './typescript_v1_transport.mjs';

const RELATED = 'io.modelcontextprotocol/related-task';

async function followed(client, name, args) {
  let task = null;
  const stream = client.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema);
  for await (const message of stream) {
    if (message.type === 'taskCreated') task = message.task.taskId;
    if (message.type === 'error') throw message.error;
    if (message.type === 'result') {
      const { content, _meta } = message.result;
      return { text: content[0].text, as_task: task !== null, related: task !== null && _meta[RELATED].taskId === task };
    }
  }
}

async function begun(client, name, args) {
  const made = { method: 'tools/call', params: { name, arguments: args } };
  return (await client.request(made, CreateTaskResultSchema, { task: { ttl: 60_000 } })).task;
}

async function cancelled(client, name, args) {
  const { taskId, ttl } = await begun(client, name, args);
  const { status } = await client.experimental.tasks.cancelTask(taskId);
  const again = await client.experimental.tasks.cancelTask(taskId).catch((error) => error.code);
  return { status, ttl, again };
}

const HOW = { stream: followed, task: begun, cancel: cancelled };

async function seen(calls, target) {
  let revision = null;
  const asked = [];
  const carrier = transport(target, (told) => (revision = told));
  const client = new Client({ name: 'interop', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(RELATED in params._meta);
    return { action: 'accept', content: { publish: true } };
  });
  await client.connect(carrier, { timeout: 20_000 });
  const { tools } = await client.listTools();
  const results = {};
  for (const [key, [name, args, how]] of Object.entries(calls)) {
    results[key] = await HOW[how](client, name, args).catch((error) => ({ error: error.code }));
  }
  await carrier.terminateSession?.();
  await client.close();
  return { revision, tools: tools.map((tool) => [tool.name, tool.execution?.taskSupport ?? null]), asked, results };
}

const [calls, ...target] = process.argv.slice(2);
console.log(JSON.stringify(await seen(JSON.parse(calls), target)));
