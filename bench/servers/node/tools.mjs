// The tools of `../mcp2`: calls.py, many.py, raw.py and seven.py. `shaped` makes of fields what an SDK takes for a schema.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as z from 'zod';

const price = z.object({ low: z.number().min(0), high: z.number().max(100000) });
const product = z.object({
  id: z.string(),
  title: z.string(),
  category: z.enum(['book', 'music', 'tool']),
  price: z.number(),
  in_stock: z.boolean(),
  tags: z.array(z.string()),
});
const page = { total: z.int(), products: z.array(product) };
const key = z.string().min(1).max(64).describe('Name of the note.');
const limit = z.int().min(1).max(100).default(20).describe('Most notes to return.');
const kind = z.enum(['plain', 'markdown']);
const note = z.object({ key: z.string(), text: z.string(), kind: kind.default('plain') });

// Made once: what an author's own code costs is the same on every side and would only dilute the ratio.
const PRODUCTS = Array.from({ length: 100 }, (_, number) => ({
  id: `p-${number}`,
  title: `lamp ${number}`,
  category: 'tool',
  price: 10 + number,
  in_stock: number % 2 === 0,
  tags: ['new', 'sale'],
}));

// The texts of 1 MB: prose in lines, rows of JSON, digits without a line break.
const PROSE = readFileSync(new URL('prose.txt', import.meta.url), 'utf8');
const digits = (row) => String(row).padStart(5, '0');
const line = (row) => `{"id":"p-${digits(row)}","title":"lamp #${digits(row)}","category":"tool","tags":["new","sale"]}`;
const hash = (number) => createHash('sha256').update(String(number)).digest('hex');
const LARGE = {
  large_prose: PROSE.repeat(Math.floor(1_000_000 / PROSE.length) + 1).slice(0, 1_000_000),
  large_json: `[${Array.from({ length: 12_500 }, (_, row) => line(row)).join(',\n')}]`,
  large_hex: Array.from({ length: 15_625 }, (_, number) => hash(number)).join(''),
};

const said = (text) => ({ content: [{ type: 'text', text }] });
const structured = (value) => ({ ...said(JSON.stringify(value)), structuredContent: value });

function calls(server, shaped) {
  for (const name of ['echo', 'echo_sync', 'echo_inline']) {
    const fields = shaped({ text: z.string() });
    server.registerTool(name, { description: 'Echo.', inputSchema: fields }, async ({ text }) => said(text));
  }
  for (const [name, text] of Object.entries(LARGE)) {
    server.registerTool(name, { description: 'Read a large text.', inputSchema: shaped({}) }, async () => said(text));
  }
  server.registerTool(
    'search_products',
    {
      description: 'Search the shop.',
      inputSchema: shaped({
        query: z.string(),
        price,
        category: z.enum(['book', 'music', 'tool']),
        limit: z.int().min(1).max(100).default(20),
      }),
      outputSchema: shaped(page),
    },
    async ({ limit }) => structured({ total: 1000, products: PRODUCTS.slice(0, limit) }),
  );
}

function many(server, shaped) {
  const fields = shaped({ key: z.string(), kind: z.enum(['a', 'b']).default('a'), count: z.int().min(0).max(9).default(1) });
  const description = 'Read a note. Use it when the key is known; it changes nothing.';
  for (let number = 0; number < 1000; number += 1) {
    const name = `read_note_${String(number).padStart(4, '0')}`;
    server.registerTool(name, { description, inputSchema: fields }, async (asked) => said(Object.values(asked).join(' ')));
  }
}

function seven(server, shaped) {
  const notes = shaped({ result: z.array(note) });
  const tools = [
    ['echo', 'Echo.', { text: z.string() }, undefined, ({ text }) => said(text)],
    ['read_note', 'Read one note.', { key }, shaped(note.shape), ({ key }) => structured({ key, text: '', kind: 'plain' })],
    ['list_notes', 'List notes, newest first.', { limit, kind: kind.nullish() }, notes, () => structured({ result: [] })],
    ['find_notes', 'Find notes that hold a text.', { text: z.string(), limit }, notes, () => structured({ result: [] })],
    ['count_notes', 'Count the notes of one kind.', { kind: kind.default('plain') }, shaped({ result: z.int() }), () => structured({ result: 5 })],
    ['compare_notes', 'Tell whether two notes hold the same text.', { left: key, right: key, ignore_case: z.boolean().default(false) }, shaped({ result: z.boolean() }), () => structured({ result: true })],
    ['preview_note', 'Show how a note would look.', { note, width: z.int().min(10).max(200).default(80) }, undefined, ({ note }) => said(note.text)],
  ];
  for (const [name, description, fields, outputSchema, call] of tools) {
    server.registerTool(name, { description, inputSchema: shaped(fields), outputSchema }, async (asked) => call(asked));
  }
}

export const RAW = JSON.parse(readFileSync(new URL('raw_tools.json', import.meta.url), 'utf8'));
export const described = (asked) => said(JSON.stringify(asked));

export const SERVERS = { calls, many, seven };
