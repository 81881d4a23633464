/**
 * Changes a ledger file and an export at random with a bare database handle and a bare editor: verify finds
 * every change that a reader can see. Thousands of changes to entries in memory are tested next to the
 * verifier.
 */
import { copyFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { OpenLedger } from 'quittance/store';
import { openLedger } from 'quittance/ledger';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '../../packages/cli/src/command.ts';
import { verifyExport } from '../../packages/cli/src/verify-export.ts';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import type { Anchor } from '../../packages/quittance/src/ledger/anchor.ts';
import { createAnchor } from '../../packages/quittance/src/ledger/anchor.ts';
import { chainHash, genesisHash } from '../../packages/quittance/src/ledger/chain.ts';
import type { StoredEntry } from '../../packages/quittance/src/ledger/stored-entry.ts';
import { fillLedger } from '../fill-ledger.ts';
import { rounds } from '../rounds.ts';
import { runCli } from '../run-cli.ts';
import {
  readHeads,
  findCalls,
  findSessions,
  findOpenCalls,
} from '../../packages/quittance/src/ledger/reads.ts';
import type { Database, SqlValue } from '../../packages/quittance/src/store/sqlite/database.ts';
import { openBare } from '../bare-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-tamper-'));
const sound = join(folder, 'sound.db');
const exported = join(folder, 'sound.jsonl');
let anchor: Anchor;
let before: string;
let original: readonly StoredEntry[];

const context = {
  signal: new AbortController().signal,
  startProgress: () => ({ step: () => undefined, done: () => undefined }),
} as unknown as Context; // the only part that verifying uses

beforeAll(async () => {
  await fillLedger(sound);
  const ledger = await openLedger(sound);
  before = await view(ledger);
  original = await ledger.readEntries({ limit: 10_000 });
  anchor = createAnchor(await readHeads(ledger), Date.now());
  await ledger.close();
  await runCli(['export', '--ledger', sound, '--out', exported]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Everything that can be asked of a ledger. */
async function view(ledger: OpenLedger): Promise<string> {
  const entries = await ledger.readEntries({ limit: 10_000 });
  const { rows: calls } = await findCalls(ledger, { limit: 1_000 });
  const { rows: sessions } = await findSessions(ledger, { limit: 1_000 });
  const heads = await readHeads(ledger);
  const read = await Promise.all(
    heads.map(async ({ sessionId }) => [sessionId, await ledger.readSession(sessionId)]),
  );
  const each = await Promise.all(
    calls.map(async ({ sessionId, callId }) => ledger.readCall(sessionId, callId)),
  );
  return JSON.stringify([entries, calls, sessions, heads, read, each, await findOpenCalls(ledger)]);
}

type Tables = { readonly ledger: Database };
type Found = {
  readonly changed: boolean;
  /**
   * Is each session a prefix of what it was? A chain that ends too soon is still a chain, without an anchor.
   */
  readonly onlyCut: boolean;
  readonly problems: number;
  readonly kinds: readonly string[];
};

const toLines = (entries: readonly StoredEntry[]): string[] =>
  entries.map((entry) => JSON.stringify({ ...entry, position: 0 }));
const isBeginning = (entries: readonly StoredEntry[]): boolean => {
  const sessions = Map.groupBy(entries, ({ sessionId }) => sessionId);
  return [...sessions].every(([sessionId, some]) => {
    const whole = toLines(original.filter((entry) => entry.sessionId === sessionId));
    return toLines(some).every((line, index) => line === whole[index]);
  });
};

let copies = 0;
/** A copy of the ledger with an edit behind its back. */
async function change(edit: (tables: Tables) => void, options: { rebuilt?: boolean } = {}): Promise<string> {
  const path = join(folder, `copy-${++copies}.db`);
  for (const suffix of ['', '.key', '.last'])
    if (existsSync(sound + suffix)) copyFileSync(sound + suffix, path + suffix);
  cpSync(`${sound}.artifacts`, `${path}.artifacts`, { recursive: true });
  const tables = { ledger: openBare(path) };
  // Left as the program left it, with its journal: only the tables are changed here.
  tables.ledger.pragma('foreign_keys = OFF');
  try {
    edit(tables);
  } finally {
    tables.ledger.close();
  }
  if (options.rebuilt) rmSync(`${path}.last`, { force: true });
  return path;
}

async function look(path: string, held?: Anchor): Promise<Found> {
  const kinds: string[] = [];
  let ledger: OpenLedger | undefined;
  try {
    ledger = await openLedger(path, { spillBytes: 4_096 });
    const after = await view(ledger).catch((error: unknown) => String(error));
    const onlyCut = isBeginning(await ledger.readEntries({ limit: 10_000 }));
    const { problems } = await verifyLedger(ledger, held, context, async ({ kind }) => void kinds.push(kind));
    return { changed: after !== before, onlyCut, problems, kinds };
  } catch (error) {
    // A crash is not a finding.
    if (error instanceof TypeError || error instanceof RangeError) throw error;
    return { changed: true, onlyCut: false, problems: 1, kinds: [`refused: ${String(error)}`] };
  } finally {
    await ledger?.close();
    for (const end of ['', '-wal', '-shm', '.last', '.spill', '.owners', '.key'])
      rmSync(path + end, { recursive: true, force: true });
    rmSync(`${path}.artifacts`, { recursive: true, force: true });
  }
}

const columns: Readonly<Record<keyof Tables, Readonly<Record<string, readonly string[]>>>> = {
  ledger: {
    entries: ['position', 'session', 'sequence', 'call', 'version', 'text', 'bodies', 'salt', 'hash'],
    sessions: ['session', 'name', 'sequence', 'hash'],
    calls: [
      'call_id',
      'tool_name',
      'status',
      'outcome',
      'code',
      'message',
      'unresolved',
      'settled_at',
      'owner_id',
    ],
    session_counts: ['calls', 'failures', 'denials', 'open_calls', 'first_at'],
  },
};
const places = (Object.keys(columns) as (keyof Tables)[]).flatMap((file) =>
  Object.keys(columns[file]).map((table) => ({ file, table })),
);

type Row = Readonly<Record<string, SqlValue>>;

/** Another value of the same kind. */
function another(value: SqlValue | undefined, at: number, put: string): SqlValue {
  if (typeof value === 'number') return value + 1 + (at % 3);
  if (typeof value !== 'string' || value === '') return put;
  const index = at % value.length;
  return value.slice(0, index) + put + value.slice(index + (at % 2));
}

type Edit = (tables: Tables) => void;

const anyEdit: fc.Arbitrary<{ edit: Edit; what: string }> = fc
  .tuple(
    // Most of what can be changed is in the entries.
    fc.oneof(fc.constant({ file: 'ledger', table: 'entries' } as const), fc.constantFrom(...places)),
    fc.constantFrom('set', 'set', 'set', 'delete', 'swap', 'empty', 'cut'),
    fc.nat(),
    fc.nat(),
    fc.constantFrom('x', '0', '"', '}', 'é', '\u0000'),
  )
  .map(([{ file, table }, how, one, other, put]) => {
    const names = columns[file][table] ?? [];
    const name = names[other % names.length] ?? '';
    const edit: Edit = (tables) => {
      const database = tables[file];
      const rows = database.prepare<Row>(`SELECT * FROM ${table}`).all();
      const row = rows[one % rows.length];
      const second = rows[other % rows.length];
      if (row === undefined || second === undefined) return;
      const where = (Object.keys(row) as string[]).map((key) => `${key} IS ?`).join(' AND ');
      const set = (target: Row, value: SqlValue = null): void =>
        void database
          .prepare(`UPDATE OR REPLACE ${table} SET ${name} = ? WHERE ${where}`)
          .run(value, ...Object.values(target));
      if (how === 'delete')
        database.prepare(`DELETE FROM ${table} WHERE ${where}`).run(...Object.values(row));
      else if (how === 'cut' && file === 'ledger')
        database.prepare('DELETE FROM entries WHERE position > ?').run(one % rows.length);
      else if (how === 'swap') {
        set(row, second[name]);
        set(second, row[name]);
      } else if (how === 'empty') set(row, null);
      else set(row, another(row[name], other, put));
    };
    return { edit, what: `${how} ${file}.${table}.${name} of row ${one}, ${other}, ${JSON.stringify(put)}` };
  });

describe('[tamper-evident] a ledger file', () => {
  it('[tamper-evident] is whole as written', async () => {
    expect(await look(await change(() => undefined), anchor)).toMatchObject({
      changed: false,
      problems: 0,
      kinds: [],
    });
  });

  it('[tamper-evident] a ledger file that was changed is reported, wherever the change can be read', async () => {
    let changed = 0;
    await fc.assert(
      fc.asyncProperty(anyEdit, async ({ edit }) => {
        let path: string;
        try {
          path = await change(edit);
        } catch (error) {
          // An edit that the database itself refuses cannot happen.
          if (/constraint failed|datatype mismatch/.test(String(error))) return;
          throw error;
        }
        // Only a missing end needs an anchor.
        const found = await look(path);
        if (!found.changed) return;
        changed++;
        const isFound =
          found.problems > 0 || (found.onlyCut && (await look(await change(edit), anchor)).problems > 0);
        expect(isFound).toBe(true);
      }),
      { numRuns: rounds(100), reporter: tell },
    );
    expect(changed).toBeGreaterThan(rounds(30));
  });
});

/** Prints the edit, not only its seed. */
function tell(run: fc.RunDetails<[{ edit: Edit; what: string }]>): void {
  if (run.failed)
    throw new Error(`${run.counterexample?.[0].what} (seed ${run.seed}): ${String(run.errorInstance)}`);
}

describe('[tamper-evident] with an anchor', () => {
  const sessionOf = (database: Database, name: string): number =>
    database.prepareValue<number>('SELECT session FROM sessions WHERE name = ?').get(name) ?? 0;

  /** Recomputes the chain of a session, like an attacker who knows how. */
  function rechain(database: Database, name: string): void {
    const session = sessionOf(database, name);
    const rows = database
      .prepare<{ position: number; text: string }>(
        'SELECT position, text FROM entries WHERE session = ? ORDER BY sequence',
      )
      .all(session);
    let hash = genesisHash(name);
    for (const [index, { position, text }] of rows.entries()) {
      hash = chainHash(hash, index + 1, text);
      database
        .prepare('UPDATE entries SET sequence = ?, hash = ? WHERE position = ?')
        .run(index + 1, hash, position);
    }
    database
      .prepare('UPDATE sessions SET sequence = ?, hash = ? WHERE session = ?')
      .run(rows.length, hash, session);
  }

  const rewritings: Readonly<Record<string, Edit>> = {
    'a chain that was computed anew': ({ ledger }) => {
      ledger.exec(
        `UPDATE entries SET text = replace(text, '"external"', '"safe_write"') WHERE call = 'call_refund'`,
      );
      rechain(ledger, 'ticket-42');
    },
    'a call that was taken out of it': ({ ledger }) => {
      ledger.exec(`DELETE FROM entries WHERE call = 'call_denied'`);
      rechain(ledger, 'ticket-42');
    },
    'a tail that was cut': ({ ledger }) => {
      ledger
        .prepare('DELETE FROM entries WHERE session = ? AND sequence >= ?')
        .run(sessionOf(ledger, 'ticket-42'), 16);
      rechain(ledger, 'ticket-42');
    },
    'a session that is gone': ({ ledger }) => {
      const session = sessionOf(ledger, 'ticket-43');
      for (const table of ['entries', 'sessions'])
        ledger.prepare(`DELETE FROM ${table} WHERE session = ?`).run(session);
    },
  };

  it.each(Object.entries(rewritings))('[tamper-evident] %s is found', async (_, edit) => {
    const found = await look(await change(edit, { rebuilt: true }), anchor);
    expect(found.changed).toBe(true);
    expect(found.kinds).toContain('anchor');
  });

  it('[tamper-evident] a permitted erasure and a permitted drop leave it whole', async () => {
    const path = await change(() => undefined);
    const ledger = await openLedger(path);
    const [entry] = await ledger.readEntries({ sessionId: 'ticket-42', limit: 1 });
    expect(await ledger.erase({ sessionId: 'ticket-42', by: 'Ada', reason: 'Asked to.' })).toBeGreaterThan(5);
    const [erased] = await ledger.readEntries({ sessionId: 'ticket-42', limit: 1 });
    expect([entry?.bodies === undefined, erased?.bodies]).toEqual([false, undefined]);
    expect(await ledger.dropSession({ sessionId: 'ticket-43', by: 'Ada', reason: 'Too old.' })).toBe(true);
    const kinds: string[] = [];
    await verifyLedger(
      ledger,
      anchor,
      context,
      async ({ kind, message }) => void kinds.push(`${kind} ${message}`),
    );
    expect(kinds).toEqual([]);
    await ledger.close();
  });
});

describe('[tamper-evident] an export that was changed', () => {
  const check = async (bytes: Uint8Array, held?: Anchor): Promise<number> => {
    const path = join(folder, 'changed.jsonl');
    writeFileSync(path, bytes);
    return (await verifyExport(path, held, context, async () => undefined)).problems;
  };

  it('[tamper-evident] is reported, whichever byte changed', async () => {
    const bytes = readFileSync(exported);
    expect(await check(bytes, anchor)).toBe(0);
    const anyChange = fc.tuple(fc.nat({ max: bytes.length - 1 }), fc.nat({ max: 300 }), fc.nat({ max: 255 }));
    await fc.assert(
      fc.asyncProperty(
        anyChange,
        fc.constantFrom('set', 'take', 'cut', 'put'),
        async ([at, count, byte], how) => {
          const put = how === 'set' || how === 'put' ? [byte] : [];
          const rest =
            how === 'set' ? at + 1 : how === 'take' ? at + 1 + count : how === 'put' ? at : bytes.length;
          const changed = Buffer.concat([bytes.subarray(0, at), Buffer.from(put), bytes.subarray(rest)]);
          const text = (read: Buffer): string => read.toString('utf8').trimEnd();
          // Space at the very end does not matter.
          if (changed.equals(bytes) || text(changed) === text(bytes)) return;
          expect(await check(changed)).toBeGreaterThan(0);
        },
      ),
      {
        numRuns: rounds(200),
        // Insignificant space, in the one line that no digest covers.
        examples: [[[bytes.lastIndexOf('{') + 1, 0, 0x20], 'put']],
      },
    );
  });
});

describe('[tamper-evident] quittance verify', () => {
  it('[tamper-evident] names the first bad position of a file and exits with 1', async () => {
    const path = await change(({ ledger }) =>
      ledger.exec(`UPDATE entries SET bodies = replace(bodies, '500', '900') WHERE call = 'call_refund'`),
    );
    const { code, out } = await runCli(['verify', '--ledger', path]);
    expect(code).toBe(1);
    expect(out).toContain('First bad place: session "ticket-42"');
    const whole = await runCli(['verify', '--ledger', sound]);
    expect(whole.code).toBe(0);
  });
});
