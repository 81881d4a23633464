/**
 * A page that shows the work of an agent and asks before it acts: node examples/react/server.ts
 *
 * The agent, its tools and the ledger are here; the page receives events and sends the decisions of people.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { PersonDecision } from 'quittance/runtime';
import { createRuntime, defineTool, isQuittanceError, ToolDecision } from 'quittance';
import { build } from 'vite';
import { z } from 'zod';

const prices = new Map([['rye', 450]]);
const setPrice = defineTool({
  name: 'set_price',
  input: z.object({ bread: z.string(), cents: z.number().int() }),
  preview: ({ bread, cents }) => ({
    kind: 'fields',
    fields: [{ name: bread, before: prices.get(bread) ?? null, after: cents }],
  }),
  run: ({ bread, cents }) => {
    prices.set(bread, cents);
    return { bread, cents };
  },
});
const getPrice = defineTool({
  name: 'get_price',
  input: z.object({ bread: z.string() }),
  run: ({ bread }) => ({ bread, cents: prices.get(bread) ?? null }),
});

const runtime = createRuntime({
  tools: [getPrice, setPrice],
  onPreToolUse: ({ toolName }) =>
    toolName === 'set_price'
      ? ToolDecision.requiresConfirmation('Changes what customers pay.')
      : ToolDecision.allow,
});

/** The signed-in user. Here: the user of this machine. */
const person = 'ada';

const routes: Readonly<
  Record<string, (request: IncomingMessage, response: ServerResponse) => Promise<void>>
> = {
  'GET /events': async (request, response) => {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    const after = Number(request.headers['last-event-id'] ?? 0);
    for await (const { position, event } of runtime.events.tail({
      sessionId: 'bakery',
      after,
      signal: gone.signal,
    }))
      response.write(`id: ${position}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  },
  'POST /decide': async (request, response) => {
    // Another site must not decide in the name of the user who has this page open.
    if (request.headers['sec-fetch-site'] !== 'same-origin') return void response.writeHead(403).end();
    const { confirmationId, decision } = (await json(request)) as {
      confirmationId: string;
      decision: Omit<PersonDecision, 'by'>;
    };
    try {
      // The server sets the name: a page may send a decision, never the person.
      await runtime.confirmations.decide(confirmationId, { ...decision, by: person } as PersonDecision);
      response.writeHead(204).end();
    } catch (error) {
      if (!isQuittanceError(error)) throw error;
      response.writeHead(409, { 'content-type': 'text/plain; charset=utf-8' }).end(error.message);
    }
  },
};

const page = await bundle();
const server = createServer((request, response) => {
  const route = routes[`${request.method} ${request.url}`];
  const file = page.get(request.url ?? '');
  if (route !== undefined)
    route(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  else if (file !== undefined)
    response
      .writeHead(200, { 'content-type': file.type, 'content-security-policy': "default-src 'self'" })
      .end(file.text);
  else response.writeHead(404).end();
});
server.listen(Number(process.env['PORT'] ?? 8_437), '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}/`);
});

// The agent reads first, then wants to make a change.
const turn = runtime.turn({ sessionId: 'bakery' });
await turn.call({ id: 'c1', name: 'get_price', arguments: { bread: 'rye' } });
const told = await turn.call({ id: 'c2', name: 'set_price', arguments: { bread: 'rye', cents: 480 } });
console.log(`The agent received: ${told.type}`);

/** Bundles the page from its sources. */
async function bundle(): Promise<ReadonlyMap<string, { readonly type: string; readonly text: string }>> {
  const built = await build({
    root: import.meta.dirname,
    configFile: false,
    logLevel: 'error',
    build: { write: false, rolldownOptions: { input: join(import.meta.dirname, 'index.html') } },
    ...(process.execArgv.includes('--conditions=quittance-source') && {
      resolve: { conditions: ['quittance-source'] },
    }),
  });
  const files = new Map<string, { readonly type: string; readonly text: string }>();
  for (const output of Array.isArray(built) ? built : [built])
    for (const file of 'output' in output ? output.output : []) {
      const text = file.type === 'chunk' ? file.code : String(file.source);
      const kind = /\.(\w+)$/.exec(file.fileName)?.[1] ?? '';
      const type =
        { js: 'text/javascript', css: 'text/css', html: 'text/html' }[kind] ?? 'application/octet-stream';
      const path = file.fileName === 'index.html' ? '/' : `/${file.fileName}`;
      files.set(path, { type: `${type}; charset=utf-8`, text });
    }
  return files;
}
