/** Parts of other ledgers and of older backups, copied into a ledger so that every chain is valid by itself. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';
import type { OpenLedger } from 'quittance/store';
import { createManualClock } from 'quittance/testing';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Anchor } from '../../packages/quittance/src/ledger/anchor.ts';
import { createAnchor } from '../../packages/quittance/src/ledger/anchor.ts';
import { verifyLedger } from '../../packages/quittance/src/replay/verify-ledger.ts';
import { sharePostgres } from '../postgres/shared-postgres.ts';
import { readHeads } from '../../packages/quittance/src/ledger/reads.ts';
import { openBare } from '../bare-database.ts';

const folder = mkdtempSync(join(tmpdir(), 'quittance-spliced-'));
let client: pg.Client;
let server: string;
beforeAll(async () => {
  ({ url: server } = await sharePostgres());
  client = new pg.Client({ connectionString: server });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  rmSync(folder, { recursive: true, force: true });
});

const manual = createManualClock();
let setBackMs = 0;
/** A clock that a person can set back. */
const clock = { ...manual, now: () => manual.now() - setBackMs };
const sealKey = new Uint8Array(32).fill(7);
const tool = defineTool({
  name: 'pay',
  mode: 'external',
  input: { type: 'object' },
  run: () => (clock.advance(1_000), 'paid'),
});

type Place = { readonly store: 'SQLite' | 'PostgreSQL'; readonly url: string; readonly schema: string };
const newPlace = (store: Place['store']): Place => {
  const schema = `spliced_${randomUUID().slice(0, 8)}`;
  const url =
    store === 'SQLite'
      ? join(folder, `${schema}.db`)
      : `${server}${server.includes('?') ? '&' : '?'}schema=${schema}`;
  return { store, url, schema };
};

async function using<Result>({ url }: Place, work: (ledger: OpenLedger) => Promise<Result>): Promise<Result> {
  const ledger = await openLedger(url, { clock, sealKey });
  try {
    return await work(ledger);
  } finally {
    await ledger.close();
  }
}

/** One call that is paid, in seconds. */
const pay = (place: Place, sessionId: string, id: string): Promise<void> =>
  using(place, async (ledger) => {
    const runtime = createRuntime({ tools: [tool], ledger, clock });
    const { type } = await runtime.turn({ sessionId }).call({ id, name: 'pay', arguments: { id } });
    expect(type).toBe('ToolExecutionResult');
    await runtime.close();
    clock.advance(1_000);
  });

const anchorOf = (place: Place): Promise<Anchor> =>
  using(place, async (ledger) => {
    clock.advance(1_000);
    return createAnchor(await readHeads(ledger), ledger.now());
  });

/** Copies the entries of a session, after `sequence`, with valid positions. The rest is made by `rebuild`. */
async function splice(from: Place, to: Place, session: string, sequence = 0): Promise<void> {
  if (to.store === 'SQLite') {
    const database = openBare(to.url);
    database.prepare('ATTACH ? AS other').run(from.url);
    database
      .prepare(
        'INSERT INTO sessions (name) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE name = ?)',
      )
      .run(session, session);
    database
      .prepare(
        `INSERT INTO entries (position, session, sequence, call, version, text, bodies, salt, hash, marks)
         SELECT (SELECT max(position) FROM entries) + row_number() OVER (ORDER BY e.position),
           (SELECT session FROM sessions WHERE name = s.name), e.sequence, e.call, e.version, e.text, e.bodies, e.salt, e.hash, e.marks
         FROM other.entries e JOIN other.sessions s USING (session) WHERE s.name = ? AND e.sequence > ? ORDER BY e.position`,
      )
      .run(session, sequence);
    database.close();
  } else
    await client.query(
      `INSERT INTO ${to.schema}.entries
       SELECT (SELECT max(position) FROM ${to.schema}.entries) + row_number() OVER (ORDER BY position),
         session_id, sequence, call_id, version, text, bodies, salt, hash
       FROM ${from.schema}.entries WHERE session_id = $1 AND sequence > $2`,
      [session, sequence],
    );
}

async function remove({ store, url, schema }: Place, session: string): Promise<void> {
  if (store === 'SQLite') {
    const database = openBare(url);
    database
      .prepare('DELETE FROM entries WHERE session = (SELECT session FROM sessions WHERE name = ?)')
      .run(session);
    database.close();
    // The note of the last entry would tell that the file has lost entries.
    rmSync(`${url}.last`, { force: true });
  } else await client.query(`DELETE FROM ${schema}.entries WHERE session_id = $1`, [session]);
}

async function verify(place: Place, anchor: Anchor | undefined): Promise<readonly string[]> {
  const found: string[] = [];
  await using(place, (ledger) => ledger.rebuild() as Promise<unknown>);
  await using(place, (ledger) =>
    verifyLedger(
      ledger,
      anchor,
      {
        signal: new AbortController().signal,
        startProgress: () => ({ step: () => undefined, done: () => undefined }),
      },
      async ({ kind, sessionId, message }) => void found.push(`${kind} ${sessionId ?? ''}: ${message}`),
    ),
  );
  return found;
}

describe.each(['SQLite', 'PostgreSQL'] as const)('[tamper-evident] with an anchor, on %s', (store) => {
  const setUp = async (): Promise<{ readonly place: Place; readonly other: Place }> => {
    const [place, other] = [newPlace(store), newPlace(store)];
    await pay(place, 'mine', 'a');
    await pay(other, 'mine', 'x');
    await pay(other, 'foreign', 'x');
    return { place, other };
  };

  test('an intact ledger that goes on has no problem', async () => {
    const { place } = await setUp();
    const anchor = await anchorOf(place);
    await pay(place, 'mine', 'b');
    await pay(place, 'new', 'c');
    expect(await verify(place, anchor)).toEqual([]);
  });

  test('a session that was copied from another ledger is found, seconds after it was made', async () => {
    const { place, other } = await setUp();
    const anchor = await anchorOf(place);
    await splice(other, place, 'foreign');
    expect(await verify(place, anchor)).toEqual([
      expect.stringContaining('anchor foreign: The session claims to have begun before the anchor'),
    ]);
  });

  test('a session that was replaced by one of the same name is found', async () => {
    const { place, other } = await setUp();
    const anchor = await anchorOf(place);
    await remove(place, 'mine');
    // So that there is an entry to count positions from.
    await pay(place, 'new', 'c');
    await splice(other, place, 'mine');
    expect(await verify(place, anchor)).toContainEqual(expect.stringContaining('anchor mine: '));
  });

  test('calls that a copy of the ledger made before the anchor are found at the end of their session', async () => {
    const { place, other } = await setUp();
    await remove(other, 'mine');
    await splice(place, other, 'mine');
    await using(other, (ledger) => ledger.rebuild() as Promise<unknown>);
    await pay(other, 'mine', 'later');
    clock.advance(120_000);
    const anchor = await anchorOf(place);
    const end = anchor.heads.find(({ sessionId }) => sessionId === 'mine')?.sequence ?? 0;
    await splice(other, place, 'mine', end);
    expect(await verify(place, anchor)).toContainEqual(
      expect.stringContaining('anchor mine: The call claims to be older than the anchor'),
    );
  });

  test('a removed session that is there again is found, even without the anchor', async () => {
    const { place, other } = await setUp();
    await remove(other, 'mine');
    await splice(place, other, 'mine');
    await using(place, async (ledger) =>
      ledger.dropSession({ sessionId: 'mine', by: 'Ada', reason: 'Old.' }),
    );
    clock.advance(1_000);
    await splice(other, place, 'mine');
    const found = await verify(place, undefined);
    expect(found).toContainEqual(expect.stringContaining('head mine: The session was removed'));
  });

  const drop = (place: Place, sessionId: string): Promise<unknown> =>
    using(place, async (ledger) => ledger.dropSession({ sessionId, by: 'Ada', reason: 'Old.' }));

  test('a removed session that is there again and went on is found, even without the anchor', async () => {
    const { place, other } = await setUp();
    await remove(other, 'mine');
    await splice(place, other, 'mine');
    await drop(place, 'mine');
    await splice(other, place, 'mine');
    await using(place, (ledger) => ledger.rebuild() as Promise<unknown>);
    await pay(place, 'mine', 'later');
    expect(await verify(place, undefined)).toContainEqual(
      expect.stringContaining('head mine: The session was removed'),
    );
  });

  test('a removed session that begins again has no finding, even if the clock was set back', async () => {
    onTestFinished(() => void (setBackMs = 0));
    const { place } = await setUp();
    await drop(place, 'mine');
    // As a time server may do.
    setBackMs += 20_000;
    await pay(place, 'mine', 'again');
    expect(await verify(place, undefined)).toEqual([]);
    // An hour, and other sessions go on too.
    await drop(place, 'mine');
    setBackMs += 3_600_000;
    await pay(place, 'other', 'x');
    await pay(place, 'mine', 'again');
    expect(await verify(place, undefined)).toEqual([]);
  });

  test('an older state of a session is found only with an anchor', async () => {
    const { place } = await setUp();
    await pay(place, 'kept', 'z');
    const older = newPlace(store);
    await pay(older, 'first', 'z');
    await splice(place, older, 'mine');
    await pay(place, 'mine', 'b');
    const anchor = await anchorOf(place);
    await remove(place, 'mine');
    await splice(older, place, 'mine');
    expect(await verify(place, undefined)).toEqual([]);
    expect(await verify(place, anchor)).toEqual([expect.stringContaining('anchor mine: The chain was cut')]);
  });

  test('a ledger that was restored whole from an older backup is found only with an anchor', async () => {
    const { place } = await setUp();
    const older = newPlace(store);
    await pay(older, 'first', 'z');
    await splice(place, older, 'mine');
    await pay(place, 'mine', 'b');
    await pay(place, 'new', 'c');
    const anchor = await anchorOf(place);
    expect(await verify(older, undefined)).toEqual([]);
    expect(await verify(older, anchor)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('anchor mine: The chain was cut'),
        expect.stringContaining('anchor new: The session is missing'),
      ]),
    );
  });

  test('a fork of the same length is found only with an anchor from after the fork', async () => {
    const { place, other } = await setUp();
    await pay(place, 'kept', 'z');
    const before = await anchorOf(place);
    await remove(other, 'mine');
    await splice(place, other, 'mine');
    await using(other, (ledger) => ledger.rebuild() as Promise<unknown>);
    await pay(place, 'mine', 'b');
    await pay(other, 'mine', 'fork');
    const after = await anchorOf(place);
    await remove(place, 'mine');
    await splice(other, place, 'mine');
    expect(await verify(place, before)).toEqual([]);
    expect(await verify(place, after)).toEqual([expect.stringContaining('the chain was recomputed')]);
  });

  test('a session from another ledger that was made after the anchor is not found', async () => {
    const { place, other } = await setUp();
    const anchor = await anchorOf(place);
    await pay(other, 'newer', 'x');
    await splice(other, place, 'newer');
    expect(await verify(place, anchor)).toEqual([]);
  });
});
