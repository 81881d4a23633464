/**
 * The agent of the crash matrix: `node agent.ts JSON`. It sends every note once, and repeats a request whose answer it
 * did not get, under the same id. What it learned is a line of a file, so that it goes on after it was killed.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transport } from '@modelcontextprotocol/client';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

export type AgentErrand = {
  /** A file with the address of the gateway, or the command of the server itself. */
  readonly to:
    | { readonly type: 'gateway'; readonly urlFile: string }
    | { readonly type: 'server'; readonly command: readonly string[] };
  readonly era: 'legacy' | 'modern';
  readonly notes: number;
  readonly inFlight: number;
  /** One line for each answer: the key, and `sent`, `unknown`, or `not sent`. */
  readonly heard: string;
};

const { to, era, notes, inFlight, heard } = JSON.parse(process.argv[2] ?? '') as AgentErrand;
const known = new Set(
  existsSync(heard)
    ? readFileSync(heard, 'utf8')
        .split('\n')
        .map((line) => line.split(' ')[0] ?? '')
    : [],
);
/** Longer than any answer takes. A client gives up on a connection that died without a word. */
const timeout = 5_000;

let connected: Promise<Client> | undefined;
async function connect(): Promise<Client> {
  const client = new Client(
    { name: 'agent', version: '1' },
    { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } } },
  );
  await client.connect(openTransport());
  return client;
}

function openTransport(): Transport {
  if (to.type === 'gateway')
    return new StreamableHTTPClientTransport(new URL(readFileSync(to.urlFile, 'utf8')));
  const [command = '', ...args] = to.command;
  return new StdioClientTransport({ command, args, stderr: 'ignore' });
}

/** Asks until there is an answer. */
async function send(key: string): Promise<string> {
  for (;;) {
    const opening = (connected ??= connect());
    try {
      const client = await opening;
      const { isError, content } = await client.callTool(
        { name: 'send_note', arguments: { key }, _meta: { 'quittance/callId': key } },
        { timeout },
      );
      if (isError !== true) return 'sent';
      const said = JSON.stringify(content);
      if (/unknown|may have/i.test(said)) return `unknown ${said}`;
      return `not-sent ${said}`;
    } catch {
      if (connected === opening) {
        connected = undefined;
        void opening.then((client) => client.close()).catch(() => undefined);
      }
      await sleep(20);
    }
  }
}

let next = 0;
await Promise.all(
  Array.from({ length: inFlight }, async () => {
    while (next < notes) {
      next += 1;
      const key = `n${next}`;
      if (!known.has(key)) appendFileSync(heard, `${key} ${await send(key)}\n`);
    }
  }),
);
process.exit(0);
