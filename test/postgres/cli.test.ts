/**
 * Every command on a SQLite ledger and on a copy of it in PostgreSQL: both must say the same. A new command must be added
 * to the table.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { commands } from '../../packages/cli/src/commands.ts';
import { copyLedger } from '../../packages/cli/src/ledgers/copy-ledger.ts';
import { eventually } from '../eventually.ts';
import { fillLedger } from '../fill-ledger.ts';
import { makeToken } from '../make-token.ts';
import { runCli, startCli } from '../run-cli.ts';
import { confirming, runProgramHere } from '../run-program.ts';
import { root } from '../sources.ts';
import makeWorkerRuntime from '../worker-runtime.ts';
import { sharePostgres } from './shared-postgres.ts';
import { takeCursor, releaseCursor } from '../../packages/quittance/src/ledger/reads.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-pg-cli-'));
const at = (name: string): string => join(folder, name);
const sqlite = at('ledger.db');
let postgres = '';
let password = '';

const contracts = at('new.yaml');
const worker = join(root, 'test/worker-runtime.ts');

/** What a line may use: results of earlier lines on the same ledger, and a folder of this ledger. */
type Earlier = { readonly folder: string; readonly ids: Map<string, string> };
type Line = readonly string[] | ((earlier: Earlier) => readonly string[]);
type Row =
  | { readonly kind: 'compared'; readonly lines: readonly Line[] }
  /** Has a test of its own below. */
  | { readonly kind: 'alone' }
  /** Another file tests it on both stores. */
  | { readonly kind: 'elsewhere'; readonly file: string }
  /** Opens no ledger. */
  | { readonly kind: 'none'; readonly why: string };

/** Lines that both ledgers refuse with a usage error. */
const refused: readonly string[] = [
  ['show', 'call_read'],
  ['copy', 'LEDGER', 'LEDGER'],
  ['copy', 'LEDGER'],
  ['tokens', 'create', '--name', 'Ada', '--role', 'viewer'],
].map((line) => JSON.stringify(line));

type Said = {
  readonly line: string;
  readonly code: number | null;
  readonly out: string[];
  readonly err: string[];
};

const held = ['call_approve', 'call_deny', 'call_respond', 'call_edit'];
const by = ['--by', 'Ada'];
const removed = ['--session', 'ticket-43', '--remove', ...by, '--reason', 'retention'];

const table: Readonly<Record<string, Row>> = {
  backup: { kind: 'elsewhere', file: 'test/postgres/backup.test.ts' },
  restore: { kind: 'elsewhere', file: 'test/postgres/backup.test.ts' },
  'rotate-key': { kind: 'elsewhere', file: 'test/postgres/backup.test.ts' },
  doctor: { kind: 'elsewhere', file: 'test/operations/doctor.test.ts' },
  drop: { kind: 'elsewhere', file: 'test/operations/removal.test.ts' },
  erase: { kind: 'elsewhere', file: 'test/operations/removal.test.ts' },
  retention: { kind: 'elsewhere', file: 'test/operations/removal.test.ts' },
  'sign-ins': { kind: 'elsewhere', file: 'test/sign-in/sign-in-life.test.ts' },
  'config schema': { kind: 'none', why: 'prints a schema' },
  login: { kind: 'none', why: 'signs in at a server' },
  logout: { kind: 'none', why: 'signs out at a server' },
  whoami: { kind: 'none', why: 'asks a server' },
  'mcp login': { kind: 'none', why: 'signs in at an MCP server' },
  delegations: { kind: 'compared', lines: [['delegations'], ['delegations', '--json']] },
  notifications: {
    kind: 'compared',
    lines: [
      ['notifications', 'log'],
      ['notifications', 'log', '--json'],
    ],
  },
  tui: { kind: 'elsewhere', file: 'packages/cli/src/tui.test.ts' },
  undo: { kind: 'elsewhere', file: 'packages/cli/src/undo.test.ts' },
  run: { kind: 'elsewhere', file: 'packages/cli/src/fork.test.ts' },
  fork: { kind: 'elsewhere', file: 'packages/cli/src/fork.test.ts' },
  init: { kind: 'none', why: 'creates a project and opens no ledger' },
  calls: {
    kind: 'compared',
    lines: [
      ['calls'],
      ['calls', '--json', '--all'],
      ['calls', '--outcome', 'failed'],
      ['calls', '--session', 'ticket-42', '--tool', 'refund', '--json'],
      ['calls', '--text', 'mail'],
      ['calls', '--limit', '3'],
    ],
  },
  show: {
    kind: 'compared',
    lines: [
      ['show', 'call_refund'],
      ['show', 'call_artifact', '--json'],
      ['show', 'call_timeout'],
      ['show', 'call_read', '--session', 'ticket-43'],
      ['show', 'call_read'],
      ['show', 'call_none'],
    ],
  },
  sessions: { kind: 'compared', lines: [['sessions'], ['sessions', '--json'], ['sessions', '--text', '43']] },
  pending: { kind: 'compared', lines: [['pending'], ['pending', '--json']] },
  approve: {
    kind: 'compared',
    lines: [
      ({ ids }) => ['approve', 'call_approve', ...by, '--digest', ids.get('call_approve') ?? ''],
      ['approve', 'call_approve', ...by],
      ['show', 'call_approve'],
    ],
  },
  deny: {
    kind: 'compared',
    lines: [
      ['deny', 'call_deny', ...by, '--reason', 'No.'],
      ['show', 'call_deny'],
    ],
  },
  respond: { kind: 'compared', lines: [['respond', 'call_respond', '--text', 'Ask Bob.', ...by, '--json']] },
  edit: {
    kind: 'compared',
    lines: [
      ({ ids }) => [
        'edit',
        'call_edit',
        '--args',
        '{"order":"E2"}',
        ...by,
        '--digest',
        ids.get('call_edit') ?? '',
      ],
      ['show', 'call_edit'],
    ],
  },
  grants: {
    kind: 'compared',
    lines: [
      ['grants', 'give', 'refund', '--session', 'ticket-42', ...by, '--for', '1h', '--uses', '5', '--json'],
      ['grants', '--json'],
      ({ ids }) => ['grants', 'revoke', ids.get('grant') ?? '', ...by, '--reason', 'Over.'],
      ['grants'],
    ],
  },
  handoff: {
    kind: 'compared',
    lines: [
      ['handoff', '--json'],
      ['handoff', 'claim', '--tool', 'render_video', '--runtime', worker, '--worker', 'farm-1', '--json'],
      ['handoff'],
      ({ ids }) => [
        'handoff',
        'report',
        '--runtime',
        worker,
        '--token',
        ids.get('token') ?? '',
        '--output',
        '{"frames":96}',
      ],
      ['handoff'],
    ],
  },
  behaviors: {
    kind: 'compared',
    lines: [['behaviors'], ['behaviors', '--json'], ['behaviors', 'drop', 'digest'], ['behaviors']],
  },
  errors: { kind: 'compared', lines: [['errors'], ['errors', '--json']] },
  trace: {
    kind: 'compared',
    lines: [
      ['trace', 'ticket-42'],
      ['trace', 'call_confirmed', '--json'],
    ],
  },
  diff: {
    kind: 'compared',
    lines: [
      ['diff', 'ticket-42', 'ticket-43'],
      ['diff', 'ticket-42', 'ticket-42', '--ledger-b', 'LEDGER'],
    ],
  },
  reconcile: {
    kind: 'compared',
    lines: [
      ['reconcile'],
      ['reconcile', '--json'],
      ['reconcile', 'call_timeout', '--as', 'failed', ...by, '--reason', 'Seen.'],
      ['reconcile'],
    ],
  },
  verify: {
    kind: 'compared',
    lines: [
      ['verify'],
      ['verify', '--json'],
      ({ folder: own }) => ['verify', '--write-anchor', join(own, 'anchor.json')],
      ({ folder: own }) => ['verify', '--anchor', join(own, 'anchor.json')],
    ],
  },
  export: {
    kind: 'compared',
    lines: [
      ({ folder: own }) => ['export', '--out', join(own, 'all.jsonl')],
      ({ folder: own }) => ['verify', '--export', join(own, 'all.jsonl')],
      ['export', '--session', 'ticket-43', '--out', '-'],
    ],
  },
  rebuild: { kind: 'compared', lines: [['rebuild'], ['verify'], ['calls', '--all']] },
  copy: {
    kind: 'compared',
    lines: [
      ['copy', 'LEDGER', 'LEDGER'],
      ['copy', 'LEDGER'],
      ({ folder: own }) => ['copy', 'LEDGER', join(own, 'copied.db')],
    ],
  },
  migrate: { kind: 'alone' },
  'cassette export': {
    kind: 'compared',
    lines: [
      ({ folder: own }) => ['cassette', 'export', 'ticket-43', '--out', join(own, 'tape.json')],
      ({ folder: own }) => ['cassette', 'show', join(own, 'tape.json')],
    ],
  },
  'cassette show': { kind: 'none', why: 'reads a cassette' },
  'cassette seal': { kind: 'none', why: 'changes a cassette' },
  'contracts check': { kind: 'compared', lines: [['contracts', 'check', contracts]] },
  'contracts test': { kind: 'none', why: 'reads case files' },
  'contracts diff': { kind: 'compared', lines: [['contracts', 'diff', contracts, contracts]] },
  'contracts explain': {
    kind: 'compared',
    lines: [['contracts', 'explain', contracts, '--call', 'call_refund', '--session', 'ticket-42']],
  },
  'contracts schema': { kind: 'none', why: 'prints a schema' },
  'contracts upgrade': { kind: 'none', why: 'rewrites a document' },
  backtest: {
    kind: 'compared',
    lines: [
      ['backtest', '--contracts', contracts],
      ['backtest', '--contracts', contracts, '--threads', '2', '--json'],
    ],
  },
  serve: { kind: 'alone' },
  tokens: {
    kind: 'compared',
    lines: [
      ['tokens'],
      ['tokens', 'create', '--name', 'Ada', '--role', 'approver', '--json'],
      ['tokens', 'create', '--name', 'Ada', '--role', 'viewer'],
      ['tokens', '--json'],
      ['tokens', 'revoke', 'Ada'],
      ['tokens', 'revoke', 'Ada'],
      ['tokens'],
    ],
  },
  archive: {
    kind: 'compared',
    lines: [
      ({ folder: own }) => ['archive', '--session', 'ticket-43', '--out', join(own, 'old.jsonl')],
      ({ folder: own }) => ['archive', ...removed, '--out', join(own, 'old.jsonl'), '--force'],
      ['verify'],
      ['calls', '--session', 'ticket-43'],
    ],
  },
  demo: { kind: 'alone' },
  mcp: { kind: 'none', why: 'runs until it is stopped; test/mcp has its tests' },
  'mcp wrap': { kind: 'none', why: 'runs until it is stopped; test/mcp has its tests' },
  'mcp install': { kind: 'none', why: 'changes the configuration of a client' },
  'mcp uninstall': { kind: 'none', why: 'changes the configuration of a client' },
  'mcp review': {
    kind: 'compared',
    lines: [
      ['mcp', 'review'],
      ['mcp', 'review', '--json'],
      ['mcp', 'review', '--forget', 'shop/none'],
    ],
  },
  completion: { kind: 'none', why: 'prints a script' },
  help: { kind: 'none', why: 'prints help' },
};

beforeAll(async () => {
  const { url } = await sharePostgres();
  ({ password } = new URL(url));
  postgres = `${url}?schema=cli_${process.pid}`;
  writeFileSync(
    contracts,
    `apiVersion: edictum/v1
kind: Ruleset
metadata: {name: new}
defaults: {mode: enforce}
rules:
  - {id: big-refunds, type: pre, tool: refund, when: {args.cents: {gte: 100}}, then: {action: ask, message: "Refund?"}}
  - {id: no-delete, type: pre, tool: "delete_*", when: {tool.name: {exists: true}}, then: {action: block, message: No.}}
`,
  );
  await fillLedger(sqlite);
  const ledger = await openLedger(sqlite);
  const ask = defineTool({
    name: 'delete_order',
    mode: 'destructive',
    input: { type: 'object' },
    run: () => 1,
  });
  const runtime = createRuntime({ tools: [ask], ledger });
  const turn = runtime.turn({ sessionId: 'held' });
  for (const id of held)
    await turn.call({ id, name: 'delete_order', arguments: { order: id } }, { ifHeld: 'return' });
  await runtime.close();
  const over = makeWorkerRuntime(ledger);
  await over
    .turn({ sessionId: 'film' })
    .submit({ id: 'call_render', name: 'render_video', arguments: { scene: 'dawn' } }).accepted;
  await over.close();
  await ledger.close();
  vi.stubEnv('QUITTANCE_SEAL_KEY', readFileSync(`${sqlite}.key`).toString('hex'));
  await copyLedger(sqlite, postgres, { signal: new AbortController().signal });
  for (const place of [sqlite, postgres]) {
    const opened = await openLedger(place, { spillFolder: at('spill') });
    await takeCursor(opened, { name: 'digest', holder: 'rdr_1', startAfter: 0 });
    await releaseCursor(opened, 'digest', 'rdr_1');
    await opened.close();
  }
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

test('every command is in the table', () => {
  const files = Object.values(table).flatMap((row) => (row.kind === 'elsewhere' ? [row.file] : []));
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(Object.keys(table).toSorted()).toEqual(commands.map(({ name }) => name).toSorted());
});

/** The text without what differs by nature: ids, times, positions and the name of the ledger. */
const normalize = (text: string, url: string, own: string): string =>
  text
    .replaceAll(url, 'LEDGER')
    .replaceAll(url.replace(`:${password}@`, ':***@'), 'LEDGER')
    .replaceAll(own, 'FOLDER')
    .replaceAll(/\b(cnf|grt|evt|ent|own|rdr|trn|qt)_[\w-]{8,}/g, '$1_ID')
    .replaceAll(/\bv1\.[\w-]{40,}/g, 'TOKEN')
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, 'TIME')
    .replaceAll(/\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g, 'TIME')
    .replaceAll(/\bjust now\b/g, 'SPAN ago')
    .replaceAll(/(?<=^|  )now\b/gm, 'SPAN')
    .replaceAll(/\b[0-9a-f]{12}\b/g, 'HEX')
    .replaceAll(/\b(?:in )?\d+(?:\.\d+)? (?:ms|s|µs|min|minutes?|seconds?)\b/g, 'SPAN')
    // The number of entries depends on the speed of the machine.
    .replaceAll(/^(digest {2,}\d+ {2,})\d+/gm, '$1COUNT')
    .replaceAll(/"behind":\d+/g, '"behind":0')
    // A duration of minutes has two parts.
    .replaceAll(/SPAN(?: SPAN)+/g, 'SPAN')
    .replaceAll(/sha256:[0-9a-f]{64}/g, 'DIGEST')
    .replaceAll(
      /"(\w*[Aa]t|position|exportedAt|digest|rulesPerSecond|elapsedMs)":("[^"]*"|[\d.]+)/g,
      '"$1":0',
    )
    .replaceAll(/ {2,}/g, '  ');

/** Results that later lines use. */
function note(out: string, ids: Map<string, string>): void {
  for (const line of out.split('\n').filter((each) => each.startsWith('{'))) {
    const { callId, inputDigest, token, grantId } = JSON.parse(line) as Readonly<
      Record<string, string | undefined>
    >;
    if (callId !== undefined && inputDigest !== undefined && !ids.has(callId)) ids.set(callId, inputDigest);
    if (token?.startsWith('v1.') === true) ids.set('token', token);
    if (grantId !== undefined) ids.set('grant', grantId);
  }
}

const placesOf = (): readonly { readonly url: string; readonly earlier: Earlier }[] =>
  [sqlite, postgres].map((url, n) => {
    mkdirSync(at(`own-${n}`), { recursive: true });
    return { url, earlier: { folder: at(`own-${n}`), ids: ids[n] ?? new Map<string, string>() } };
  });
const ids = [new Map<string, string>(), new Map<string, string>()];

describe('a command says the same on SQLite and on PostgreSQL', () => {
  const rows = Object.entries(table).flatMap(([name, row]) =>
    row.kind === 'compared' ? [[name, row.lines] as const] : [],
  );
  test.each(rows)('%s', async (_, lines) => {
    for (const line of lines) {
      const said: Said[] = [];
      for (const { url, earlier } of placesOf()) {
        const typed = typeof line === 'function' ? line(earlier) : line;
        const takesOption = typed[0] !== 'copy' && typed[1] !== '--export';
        const args = [
          ...typed.map((word) => (word === 'LEDGER' ? url : word)),
          ...(takesOption ? ['--ledger', url] : []),
        ];
        const { code, out, err } = await runProgramHere(args, {
          cwd: earlier.folder,
          // No column is cut, whatever the durations.
          env: { COLUMNS: '400' },
          readTyped: confirming,
        });
        note(out, earlier.ids);
        expect(out + err).not.toContain(password);
        const show = (text: string): string[] => normalize(text, url, earlier.folder).split('\n');
        said.push({
          line: normalize(args.join(' '), url, earlier.folder),
          code,
          out: show(out),
          err: show(err),
        });
      }
      expect(said[1]).toEqual(said[0]);
      expect(said[0]?.code === 2).toBe(refused.includes(JSON.stringify(line)));
    }
  });

  test('a URL in a wrong place is not repeated with its password', async () => {
    for (const args of [
      ['calls', postgres],
      [postgres],
      ['show', postgres],
      ['calls', '--ledger', postgres.replace('postgres:', 'mysql:')],
      ['calls', '--ledger', postgres.replace('?schema', '?sslmode=x&schema')],
      ['calls', `--ledgr=${postgres}`],
    ]) {
      const { code, out, err } = await runProgramHere(args, { env: { QUITTANCE_LEDGER: postgres } });
      expect([code, out + err]).toEqual([expect.any(Number), expect.not.stringContaining(password)]);
      expect(code).not.toBe(0);
    }
  });

  test('the environment variable names the ledger too', async () => {
    const { code, out } = await runProgramHere(['sessions', '--json'], {
      env: { QUITTANCE_LEDGER: postgres },
    });
    expect([code, out.trim().split('\n').length > 2]).toEqual([0, true]);
  });
});

describe.each([
  ['SQLite', () => at('live.db')],
  ['PostgreSQL', () => postgres.replace('schema=cli_', 'schema=live_')],
])('on %s', (_, toUrl) => {
  const env = { QUITTANCE_SEAL_KEY: 'ab'.repeat(32) };
  /** Starts a command that serves, and gives its first line. */
  async function serve(args: readonly string[]) {
    const child = startCli([...args, '--ledger', toUrl(), '--port', '0', '--json'], {
      cwd: folder,
      env: { ...env, QUITTANCE_TOKEN: await makeToken(toUrl(), Buffer.from(env.QUITTANCE_SEAL_KEY, 'hex')) },
    });
    let err = '';
    child.stderr.setEncoding('utf8').on('data', (more: string) => (err += more));
    const closed = once(child, 'close');
    const first = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    if (first.done === true) throw new Error(`It did not start: ${err}`);
    const { url, token } = JSON.parse(first.value) as { readonly url: string; readonly token: string };
    const get = async (
      path: string,
      bearer = token,
    ): Promise<{ status: number; body: Readonly<Record<string, unknown>> }> => {
      const answer = await fetch(url + path, { headers: { authorization: `Bearer ${bearer}` } });
      return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
    };
    const stop = async (): Promise<string> => {
      child.kill('SIGTERM');
      await closed;
      return err;
    };
    return { get, stop, pid: child.pid };
  }

  test('demo plays, its console lists calls, and follow shows them', async () => {
    const demo = await serve(['demo', '--no-open']);
    try {
      await eventually(async () => {
        const { rows } = (await demo.get('/v1/calls?limit=5')).body as { rows?: unknown[] };
        expect(rows?.length).toBeGreaterThan(2);
      });
      for (const path of [
        '/v1/stats',
        '/v1/sessions',
        '/v1/tools',
        '/v1/contracts',
        '/v1/confirmations',
        '/readyz',
      ])
        expect([path, (await demo.get(path)).status]).toEqual([path, 200]);
      const follow = startCli(['calls', '--follow', '--json', '--ledger', toUrl()], { cwd: folder, env });
      const lines = createInterface({ input: follow.stdout })[Symbol.asyncIterator]();
      expect(JSON.parse(String((await lines.next()).value))).toHaveProperty('callId');
      follow.kill('SIGTERM');
      await once(follow, 'close');
    } finally {
      expect(await demo.stop()).not.toContain(password);
    }
    expect(await runCli(['verify', '--ledger', toUrl()], { cwd: folder, env })).toMatchObject({ code: 0 });
  });

  test('serve takes tokens of the command line, and a revoked one stops working at once', async () => {
    const [one, two] = [await serve(['serve']), await serve(['serve'])];
    const admin = await makeToken(toUrl(), Buffer.from(env.QUITTANCE_SEAL_KEY, 'hex'));
    const asAdmin = { cwd: folder, env: { ...env, QUITTANCE_TOKEN: admin } };
    try {
      const made = await runCli(
        ['tokens', 'create', '--name', 'Eve', '--role', 'viewer', '--ledger', toUrl()],
        asAdmin,
      );
      const token = made.out.trim();
      for (const server of [one, two]) expect((await server.get('/v1/calls', token)).status).toBe(200);
      expect(await runCli(['tokens', 'revoke', 'Eve', '--ledger', toUrl()], asAdmin)).toMatchObject({
        code: 0,
      });
      for (const server of [one, two]) expect((await server.get('/v1/calls', token)).status).toBe(401);
    } finally {
      await one.stop();
      await two.stop();
    }
  });

  test.runIf(process.platform === 'linux')(
    'the arguments of the process do not show the password',
    async () => {
      const server = await serve(['serve']);
      const shown = readFileSync(`/proc/${server.pid}/cmdline`, 'utf8');
      await server.stop();
      expect(shown).not.toContain(password);
    },
  );
});
