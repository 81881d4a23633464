/**
 * Changes side data of a ledger at random with a bare database handle: verify finds every change that a later
 * call or a reader would see. Rebuilt from the entries, it is as before.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import type { OpenLedger } from 'quittance/store';
import { createRuntime, defineTool, ToolError } from 'quittance';
import { openLedger } from 'quittance/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '../../packages/cli/src/command.ts';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import type { Entry } from '../../packages/quittance/src/ledger/journal.ts';
import { rounds } from '../rounds.ts';
import {
  findCalls,
  readSideRows,
  readClaim,
  readCounters,
  findUnsettledEffects,
  readWholeArtifact,
  readState,
  readSealed,
} from '../../packages/quittance/src/ledger/reads.ts';
import type { Database, SqlValue } from '../../packages/quittance/src/store/sqlite/database.ts';
import { openBare } from '../bare-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-beside-'));
const sound = join(folder, 'sound', 'ledger.db');
let before: string;

const context = {
  signal: new AbortController().signal,
  startProgress: () => ({ step: () => undefined, done: () => undefined }),
} as unknown as Context; // the only part that verifying uses

const anything = { type: 'object' } as const;
const tools = [
  defineTool({ name: 'pay', mode: 'external', input: anything, run: () => 'paid' }),
  defineTool({
    name: 'order',
    mode: 'external',
    input: anything,
    idempotencyKey: ({ ref }) => JSON.stringify(ref),
    costMicros: 700,
    run: ({ fails }, { charge }) => {
      charge(300);
      if (fails === true) throw new ToolError('tool.reported_error', 'No.');
      return { ordered: true };
    },
  }),
  defineTool({
    name: 'send',
    mode: 'external',
    input: anything,
    run: () => {
      throw new ToolError('tool.network_error', 'Who knows.');
    },
  }),
  defineTool({
    name: 'get_much',
    mode: 'read',
    input: anything,
    run: ({ letter }, { attach }) => {
      attach({ content: new Uint8Array([0xff, 1, 2]), mimeType: 'image/png', name: 'a.png' });
      return JSON.stringify(letter).repeat(9_000);
    },
  }),
  defineTool({ name: 'delete_it', mode: 'destructive', input: anything, run: () => 'gone' }),
] as const;

const toMove = (sessionId: string, expectedVersion: number, state: JsonObject): Entry => ({
  entryId: `ent_${sessionId}${expectedVersion}`,
  sessionId,
  callId: undefined,
  expectedVersion: 0,
  events: [
    {
      type: 'workflow.updated',
      id: `evt_${sessionId}${expectedVersion}`,
      sessionId,
      turnId: 't',
      at: 1,
      cause: undefined,
      workflow: 'w',
      workflowVersion: '1',
      state,
      why: 'evidence',
      by: undefined,
    },
  ],
  moves: [{ subject: 'workflow/w', expectedVersion }],
});

/** Two sessions with calls of every kind that leave side rows, some of them open. */
async function fill(path: string): Promise<void> {
  const ledger = await openLedger(path, { spillBytes: 4_096 });
  const runtime = createRuntime({
    tools,
    ledger,
    budgets: [
      { scope: 'session', toolCalls: 100 },
      { scope: 'team', costMicros: 1_000_000, per: 'day' },
    ],
    onConfirm: () => new Promise(() => undefined),
  });
  for (const sessionId of ['one', 'two']) {
    const turn = runtime.turn({ sessionId });
    await turn.call({ id: 'pay', name: 'pay', arguments: { sum: 5 } });
    await turn.call({ id: 'order', name: 'order', arguments: { ref: `${sessionId}-1` } });
    await turn.call({ id: 'order2', name: 'order', arguments: { ref: `${sessionId}-2` } });
    await turn.call({ id: 'failed', name: 'order', arguments: { ref: `${sessionId}-3`, fails: true } });
    await turn.call({ id: 'send', name: 'send', arguments: { to: 'ada' } });
    await turn.call({ id: 'send2', name: 'send', arguments: { to: 'bob' } });
    await turn.call({ id: 'send3', name: 'send', arguments: { to: 'cyd' } });
    await runtime.calls.reconcile({ sessionId, callId: 'send3' }, { resolution: 'failed', by: 'Ada' });
    await turn.call({ id: 'much', name: 'get_much', arguments: { letter: sessionId === 'one' ? 'x' : 'y' } });
    for (const [id, password] of Object.entries({ held: 'hunter2', held2: 'hunter3' }))
      void turn.call({ id, name: 'delete_it', arguments: { password } }).catch(() => undefined);
    for (const [expectedVersion, stage] of ['read', 'write'].entries())
      await ledger.append(toMove(sessionId, expectedVersion, { stage, seen: [expectedVersion] }));
    while ((await findCalls(ledger, { sessionId, status: 'held' })).rows.length < 2)
      await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await ledger.close();
}

beforeAll(async () => {
  await fill(sound);
  const ledger = await openLedger(sound, { spillBytes: 4_096 });
  before = await view(ledger);
  await ledger.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Asked = {
  claims: string[];
  counters: string[];
  subjects: string[];
  inputs: [string, string, string][];
  artifacts: [string, string][];
};
let asked: Asked | undefined;

/** Everything that a later call or a reader could ask of the side data. */
async function view(ledger: OpenLedger): Promise<string> {
  const now: Asked = { claims: [], counters: [], subjects: [], inputs: [], artifacts: [] };
  for await (const row of readSideRows(ledger)) {
    if (row.kind === 'claim') now.claims.push(row.key);
    if (row.kind === 'state') now.subjects.push(row.subject);
    if (row.kind === 'counter') now.counters.push(row.name);
    if (row.kind === 'unsettled') now.inputs.push([row.sessionId ?? '', row.toolName, row.inputDigest]);
    if (row.kind === 'artifact') now.artifacts.push([row.sessionId ?? '', row.artifactId]);
  }
  asked ??= now;
  const both = <Key extends keyof Asked>(key: Key): Asked[Key][number][] => [
    ...new Map([...(asked?.[key] ?? []), ...now[key]].map((each) => [JSON.stringify(each), each])).values(),
  ];
  const seen: unknown[] = [];
  /** A missing value is not seen; neither is a row under a name that no reader could ask for. */
  const see = async (name: unknown, look: () => unknown): Promise<void> => {
    const found = await Promise.resolve()
      .then(look)
      .catch((error: unknown) => `refused: ${String(error)}`);
    const isNothing = ['[]', '[{"used":0,"reserved":0}]', undefined].includes(JSON.stringify(found));
    if (!isNothing) seen.push([name, found]);
  };
  for (const key of both('claims')) await see(key, () => readClaim(ledger, key));
  for (const name of both('counters')) await see(name, () => readCounters(ledger, [name]));
  for (const input of both('inputs')) await see(input, () => findUnsettledEffects(ledger, ...input));
  for (const each of both('artifacts')) await see(each, () => readWholeArtifact(ledger, ...each));
  for (const sessionId of ['one', 'two']) {
    for (const subject of both('subjects'))
      await see([sessionId, subject], () => readState(ledger, sessionId, subject));
    for (const callId of ['held', 'held2', 'pay', 'x'])
      await see([sessionId, callId], () => readSealed(ledger, sessionId, callId));
  }
  return JSON.stringify(seen);
}

let copies = 0;
function copy(): string {
  const path = join(folder, `copy-${++copies}`, 'ledger.db');
  cpSync(dirname(sound), dirname(path), { recursive: true });
  return path;
}

function change(edit: (database: Database) => void): string {
  const path = copy();
  const database = openBare(path);
  try {
    edit(database);
  } finally {
    database.close();
  }
  return path;
}

type Found = {
  readonly changed: boolean;
  readonly kinds: readonly string[];
  readonly messages: readonly string[];
};

async function look(path: string): Promise<Found> {
  const ledger = await openLedger(path, { spillBytes: 4_096 });
  try {
    const after = await view(ledger);
    const kinds: string[] = [];
    const messages: string[] = [];
    await verifyLedger(ledger, undefined, context, async ({ kind, sessionId, callId, message }) => {
      kinds.push(kind);
      messages.push(`${sessionId ?? ''} ${callId ?? ''} ${message}`);
    });
    return { changed: after !== before, kinds, messages };
  } finally {
    await ledger.close();
    rmSync(dirname(path), { recursive: true, force: true });
  }
}

const columns: Readonly<Record<string, readonly string[]>> = {
  claims: ['key', 'session', 'call', 'digest'],
  counters: ['name', 'used', 'reserved'],
  states: ['session', 'subject', 'version', 'text'],
  sealed: ['session', 'call', 'text'],
  unsettled: ['position', 'session', 'tool', 'digest', 'call'],
  artifacts: ['session', 'artifact', 'call', 'mime', 'encoding', 'bytes', 'hash'],
};
type Row = Readonly<Record<string, SqlValue>>;

function another(value: SqlValue | undefined, at: number, put: string): SqlValue {
  if (typeof value === 'number') return value + (at % 2 === 0 ? 1 : -1);
  const text = String(value);
  return text.slice(0, at % text.length) + put + text.slice((at % text.length) + (at % 2));
}

const anyEdit = fc
  .tuple(
    fc.constantFrom(...Object.keys(columns)),
    fc.constantFrom('set', 'set', 'delete', 'swap', 'insert'),
    fc.nat(),
    fc.nat(),
    fc.constantFrom('x', '0', '"', 'é', '\u0000', '\u0001'),
  )
  .map(([table, how, one, other, put]) => {
    const names = columns[table] ?? [];
    const name = names[other % names.length] ?? '';
    const edit = (database: Database): void => {
      const rows = database.prepare<Row>(`SELECT * FROM ${table}`).all();
      const row = rows[one % rows.length] as Row;
      const second = rows[(one + 1 + (other % (rows.length - 1))) % rows.length] as Row;
      const where = Object.keys(row)
        .map((key) => `${key} IS ?`)
        .join(' AND ');
      const set = (target: Row, value: SqlValue = null): void =>
        void database
          .prepare(`UPDATE OR REPLACE ${table} SET ${name} = ? WHERE ${where}`)
          .run(value, ...Object.values(target));
      const changed = another(row[name], other, put);
      if (how === 'set') set(row, changed);
      else if (how === 'delete')
        database.prepare(`DELETE FROM ${table} WHERE ${where}`).run(...Object.values(row));
      else if (how === 'swap') {
        set(row, second[name]);
        set(second, row[name]);
      } else
        database
          .prepare(`INSERT OR REPLACE INTO ${table} VALUES (${names.map(() => '?').join()})`)
          .run(...Object.values({ ...row, [name]: changed }));
    };
    return { edit, what: `${how} ${table}.${name} of row ${one}, ${other}, ${JSON.stringify(put)}` };
  });

/**
 * A file may be text or bytes, and its outcome does not say which. One that no outcome names may be anything.
 */
const isUnsaid = (what: string): boolean =>
  / artifacts\.encoding /.test(what) || what.startsWith('insert artifacts');

describe('[tamper-evident] the side data of a ledger', () => {
  it('[tamper-evident] is whole as written, and again after a rebuild', async () => {
    expect(await look(copy())).toEqual({ changed: false, kinds: [], messages: [] });
    const path = copy();
    const ledger = await openLedger(path, { spillBytes: 4_096 });
    await ledger.rebuild();
    await ledger.close();
    expect(await look(path)).toEqual({ changed: false, kinds: [], messages: [] });
  });

  it('[tamper-evident] is reported as changed if the change can be seen', async () => {
    let changed = 0;
    await fc.assert(
      fc.asyncProperty(anyEdit, async ({ edit, what }) => {
        let path: string;
        try {
          path = change(edit);
        } catch (error) {
          // An edit that the database itself refuses cannot happen.
          if (/constraint failed|datatype mismatch/.test(String(error))) return;
          throw error;
        }
        const found = await look(path);
        if (!found.changed || isUnsaid(what)) return;
        changed++;
        expect(found.kinds).not.toEqual([]);
      }),
      {
        numRuns: rounds(80),
        reporter: (run) => {
          if (run.failed)
            throw new Error(
              `${run.counterexample?.[0].what} (seed ${run.seed}): ${String(run.errorInstance)}`,
            );
        },
      },
    );
    // Enough to be meaningful: chance decides how many.
    expect(changed).toBeGreaterThan(rounds(8));
  });

  const edits: Readonly<Record<string, readonly [sql: string, message: string]>> = {
    'a claim that is gone': [
      `DELETE FROM claims WHERE session = 'one' AND call = 'order'`,
      'one order The call owns an idempotency key, but its claim is missing.',
    ],
    'a claim on an unused key': [
      `INSERT INTO claims VALUES ('later', 'one', 'pay', 'd')`,
      '  Call "pay" owns an idempotency key that no entry gives to it.',
    ],
    'a claim that was given up': [
      `INSERT INTO claims SELECT key || 'x', session, 'failed', digest FROM claims WHERE call = 'order' AND session = 'one'`,
      '  Call "failed" owns an idempotency key that no entry gives to it.',
    ],
    'a budget that was filled up again': [
      `UPDATE counters SET used = 0 WHERE name LIKE 'session/"one"/%'`,
      '  The counter "session/\\"one\\"/tool_calls" says 0 used and 0 reserved; the entries give 8 and 0.',
    ],
    'a budget used up beforehand': [
      `INSERT INTO counters VALUES ('named/"team"/cost_micros/2099-01-01', 5, 0)`,
      '  The counter "named/\\"team\\"/cost_micros/2099-01-01" says 5 used and 0 reserved; the entries give 0 and 0.',
    ],
    'an unresolved effect that was removed': [
      `DELETE FROM unsettled WHERE call = 'send' AND session = 1`,
      'one send The call is unresolved, but it is not listed as such.',
    ],
    'an effect that was resolved and is asked about again': [
      `INSERT INTO unsettled SELECT position + 1000, session, tool, digest, 'send3' FROM unsettled WHERE call = 'send' AND session = 1`,
      'one send3 The calls listed as unresolved are not those in the entries.',
    ],
    'a workflow that was put back': [
      `UPDATE states SET version = 1 WHERE session = 1`,
      'one  The state of "workflow/w" has another version than the entries.',
    ],
    'a workflow that was put forward': [
      `UPDATE states SET text = replace(text, 'write', 'done') WHERE session = 1`,
      'one  The state of "workflow/w" differs from the entries.',
    ],
    'a workflow that was never started': [
      `INSERT INTO states SELECT session, 'workflow/x', version, text FROM states WHERE session = 1`,
      'one  The state of "workflow/x" has another version than the entries.',
    ],
    'a sealed input that is gone': [
      `DELETE FROM sealed WHERE session = 1 AND call = 'held'`,
      'one held The call needs its sealed input, which is missing.',
    ],
    'a sealed input of another call': [
      `UPDATE sealed SET text = (SELECT text FROM sealed WHERE session = 2 AND call = 'held') WHERE session = 1 AND call = 'held'`,
      'one held The sealed input of the call does not open: it was changed, or sealed with another key.',
    ],
    'a sealed input that is over': [
      `INSERT INTO sealed SELECT session, 'pay', text FROM sealed WHERE session = 1 AND call = 'held'`,
      'one pay A sealed input exists that no open call needs.',
    ],
    'something sealed for a session that is not there': [
      `UPDATE sealed SET session = 99 WHERE session = 1 AND call = 'held'`,
      '  A row of kind "sealed" belongs to a missing session.',
    ],
  };

  it.each(Object.entries(edits))('[tamper-evident] %s is named', async (_, [sql, message]) => {
    const { kinds, messages } = await look(change((database) => database.exec(sql)));
    expect(new Set(kinds)).toEqual(new Set(['side_row']));
    expect(messages).toContain(message);
  });

  it('[tamper-evident] an artifact that is gone, moved or overwritten is named', async () => {
    const only = async (edit: (path: string) => void): Promise<readonly string[]> => {
      const path = copy();
      edit(path);
      return (await look(path)).messages;
    };
    const files = (path: string): string[] =>
      readdirSync(`${path}.artifacts`, { recursive: true, withFileTypes: true })
        .filter((each) => each.isFile())
        .map((each) => join(each.parentPath, each.name));
    const gone = await only((path) => files(path).forEach((file) => rmSync(file)));
    expect(gone).toHaveLength(4);
    expect(gone.every((message) => message.endsWith(' is missing or misplaced.'))).toBe(true);
    const longest = (path: string): string =>
      files(path).sort((left, right) => readFileSync(right).length - readFileSync(left).length)[0] ?? '';
    const other = await only((path) => writeFileSync(longest(path), `"${'z'.repeat(20_000)}"`));
    expect(other).toHaveLength(1);
    expect(other[0]).toMatch(
      /^(one|two) much The content of the artifact "art_\w+" is not the stored one\.$/,
    );
    const swapped = await look(
      change((database) =>
        database.exec(
          'UPDATE artifacts SET hash = (SELECT hash FROM artifacts AS other WHERE other.session <> artifacts.session AND other.bytes = artifacts.bytes AND other.mime = artifacts.mime) WHERE bytes > 100 AND session = 1',
        ),
      ),
    );
    expect(swapped.messages).toHaveLength(1);
    expect(swapped.messages[0]).toMatch(/^one much The artifact "art_\w+" is not the one in the outcome\.$/);
    const dropped = await look(
      change((database) => database.exec('DELETE FROM artifacts WHERE session = 1')),
    );
    expect(dropped.messages).toHaveLength(2);
    expect(dropped.messages[0]).toMatch(
      /^one much The artifact "art_\w+", which the outcome names, is missing\.$/,
    );
  });

  it('[tamper-evident] is rebuilt from the entries, each row as before', async () => {
    const rowsOf = (path: string): unknown => {
      const database = openBare(path, { readOnly: true });
      try {
        return ['claims', 'counters', 'states', 'unsettled', 'sealed', 'artifacts'].map((table) =>
          database.prepare(`SELECT * FROM ${table}`).all(),
        );
      } finally {
        database.close();
      }
    };
    const path = change((database) =>
      database.exec(`
        DELETE FROM unsettled WHERE call = 'send';
        UPDATE unsettled SET tool = 'pay';
        UPDATE counters SET used = used - 1, reserved = 7;
        INSERT INTO counters VALUES ('named/"x"', 1, 1);
        DELETE FROM states WHERE session = 1;
        UPDATE states SET text = '{}', version = 9;
        INSERT INTO states VALUES (1, 'workflow/x', 1, '{}');
        DELETE FROM claims WHERE call = 'order';
        UPDATE claims SET digest = 'd';
        INSERT INTO claims VALUES ('later', 'one', 'pay', 'd');
        INSERT INTO sealed SELECT session, 'pay', text FROM sealed WHERE call = 'held';
      `),
    );
    const ledger = await openLedger(path, { spillBytes: 4_096 });
    await ledger.rebuild();
    await ledger.close();
    expect(rowsOf(path)).toEqual(rowsOf(sound));
    expect((await look(path)).messages).toEqual([]);
  });

  it('[tamper-evident] stays whole after bodies were erased and a session was dropped', async () => {
    const path = join(folder, 'kept', 'ledger.db');
    const ledger = await openLedger(path, { spillBytes: 4_096 });
    const runtime = createRuntime({ tools, ledger, budgets: [{ scope: 'team', toolCalls: 100 }] });
    for (const sessionId of ['one', 'two']) {
      const turn = runtime.turn({ sessionId });
      await turn.call({ id: 'order', name: 'order', arguments: { ref: 'r' } });
      await turn.call({ id: 'send', name: 'send', arguments: {} });
      await turn.call({ id: 'much', name: 'get_much', arguments: { letter: 'z' } });
    }
    await runtime.close();
    await ledger.append(toMove('one', 0, { stage: 'read' }));
    await ledger.erase({ sessionId: 'one', by: 'Ada', reason: 'Asked to.' });
    await ledger.dropSession({ sessionId: 'two', by: 'Ada', reason: 'Too old.' });
    const [team] = await readCounters(ledger, ['named/"team"/tool_calls']);
    await ledger.rebuild();
    expect(await readCounters(ledger, ['named/"team"/tool_calls'])).toEqual([team]);
    await ledger.close();
    expect((await look(path)).messages).toEqual([]);
  });
});
