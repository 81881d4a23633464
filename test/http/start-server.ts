/** A server on its own ledger, and ways to talk to it. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineTool } from 'quittance';
import type { AnyTool, Runtime } from 'quittance';
import type { OpenLedger } from 'quittance/store';
import { createHttpServer } from '@quittance/server';
import type { HttpServer, HttpServerOptions, Role } from '@quittance/server';
import { openLedger } from 'quittance/ledger';
import { contractsFromYamlString } from 'quittance/contracts';
import type { ManualClock } from 'quittance/testing';
import { z } from 'zod';
import { TokenFile, tokenFilePath } from '../../packages/server/src/http/token-file.ts';
import { LedgerTokens } from '../../packages/server/src/http/ledger-tokens.ts';
import { sharePostgres } from '../postgres/shared-postgres.ts';
import { untilDecided } from '../until-decided.ts';
import { libraryName } from './library-name.ts';

/** Run by the client. */
export const remoteTools: readonly AnyTool[] = [
  defineTool({ name: 'get_weather', input: z.object({ city: z.string() }), handoff: true }),
  defineTool({
    name: 'delete_file',
    input: z.object({ path: z.string(), note: z.string().optional(), password: z.string().optional() }),
    handoff: true,
  }),
  defineTool({ name: 'send_mail', input: z.object({ to: z.string() }), handoff: true }),
];

/** Run by the server. */
export const localTools: readonly AnyTool[] = [
  defineTool({
    name: 'read_note',
    mode: 'read',
    input: z.object({ id: z.string() }),
    run: ({ id }) => ({ note: id }),
  }),
  defineTool({ name: 'read_log', mode: 'read', input: z.object({}), run: () => 'line\n'.repeat(5_000) }),
  defineTool({
    name: 'charge_card',
    mode: 'external',
    timeoutMs: 20,
    input: z.object({}),
    run: () => new Promise<never>(() => undefined),
  }),
  defineTool({
    name: 'set_price',
    mode: 'safe_write',
    input: z.object({ cents: z.number() }),
    run: ({ cents }) => ({ cents }),
    undo: () => ({ undone: true }),
  }),
];

export const rules = `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: shop }
defaults: { mode: enforce }
rules:
  - id: no-mail-to-strangers
    type: pre
    tool: send_mail
    when: { args.to: { contains: stranger } }
    then: { action: block, message: 'Not to {args.to}.' }
`;

export type Answer<Body> = { readonly status: number; readonly body: Body; readonly headers: Headers };

export type TestServer = {
  readonly server: HttpServer;
  readonly ledger: OpenLedger;
  readonly runtime: Runtime;
  readonly ledgerPath: string;
  readonly tokens: Readonly<Record<Role, string>>;
  /** With the role admin by default. */
  get<Body = never>(
    path: string,
    as?: Role,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer<Body>>;
  post<Body = never>(path: string, body: unknown, as?: Role): Promise<Answer<Body>>;
  /** Requests a call like another program. */
  ask<Body = never>(id: string, name: string, args: object, more?: object): Promise<Answer<Body>>;
  close(): Promise<void>;
};

/** Set to `postgres` to run tests of the server on PostgreSQL: see test/postgres/http.test.ts. */
export const ledgerVariable = 'QUITTANCE_TEST_LEDGER';

async function chooseLedger(path: string): Promise<string> {
  if (process.env[ledgerVariable] !== 'postgres') return path;
  const { url } = await sharePostgres();
  return `${url}?schema=http_${randomBytes(6).toString('hex')}`;
}

export async function startServer(
  options: Partial<HttpServerOptions> = {},
  clock?: ManualClock,
): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-http-'));
  const ledgerPath = join(folder, 'ledger.db');
  const ledgerUrl = await chooseLedger(ledgerPath);
  const ledger = await openLedger(ledgerUrl, {
    spillFolder: join(folder, 'spill'),
    ...(clock !== undefined && { clock }),
  });
  const tools = [...remoteTools, ...localTools];
  const contracts = contractsFromYamlString(rules);
  const redaction = { patterns: [{ name: 'of the host', pattern: /OWN-SECRET-\d+/ }] };
  const runtime: Runtime = createRuntime({ tools, ledger, contracts, redaction });
  const stored =
    ledger.documents === undefined
      ? new TokenFile(tokenFilePath(ledgerPath), Date.now)
      : new LedgerTokens(ledger.documents, Date.now);
  const make = async (role: Role): Promise<string> =>
    (await stored.create({ name: `${role}-person`, role })).token;
  const tokens = {
    viewer: await make('viewer'),
    operator: await make('operator'),
    approver: await make('approver'),
    admin: await make('admin'),
  };
  const server = await createHttpServer({
    ledger,
    runtime,
    tools,
    contracts,
    ledgerUrl,
    port: 0,
    localName: 'ada',
    ...options,
    limits: {
      strangerRate: { perSecond: 1_000, burst: 10_000 },
      contractMs: 30_000, // the machine may be busy with other tests
      ...options.limits,
      // A test that computes for long between two requests must not find its connection closed.
      timeouts: { keepAliveMs: 120_000, ...options.limits?.timeouts },
    },
  });
  const send = async <Body>(path: string, init: RequestInit): Promise<Answer<Body>> => {
    const response = await fetch(server.url + path, { redirect: 'manual', ...init });
    const text = await response.text();
    const isJson = /json(?!l)/.test(response.headers.get('content-type') ?? '');
    refuseLibraryNames(response, text);
    // The caller states the type of the answer.
    return {
      status: response.status,
      body: (isJson ? JSON.parse(text) : text) as Body,
      headers: response.headers,
    };
  };
  const bearer = (as: Role): Record<string, string> => ({ authorization: `Bearer ${tokens[as]}` });
  const post: TestServer['post'] = (path, body, as = 'admin') =>
    untilDecided(
      () =>
        send(path, {
          method: 'POST',
          headers: { ...bearer(as), 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      (answer) => answer.body,
    );
  return {
    server,
    ledger,
    runtime,
    ledgerPath,
    tokens,
    get: (path, as = 'admin', headers = {}) => send(path, { headers: { ...bearer(as), ...headers } }),
    post,
    ask: (id, name, args, more = {}) =>
      post(
        '/v1/calls',
        {
          sessionId: 's1',
          call: { id, name, arguments: args },
          // Without a wait, the answer for a tool of the server may be `running`.
          ...(localTools.some((tool) => tool.name === name) && { waitMs: 10_000 }),
          ...more,
        },
        'operator',
      ),
    async close() {
      await server.close();
      await runtime.close();
      await ledger.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** In every test, a refusal must tell the client what to do with HTTP. */
function refuseLibraryNames({ headers, url }: Response, text: string): void {
  if (headers.get('content-type')?.startsWith('application/problem+json') !== true) return;
  const { title, detail } = JSON.parse(text) as { title: string; detail: string };
  if (libraryName.test(`${title} ${detail}`)) throw new Error(`${url} was refused in other words: ${text}`);
}
