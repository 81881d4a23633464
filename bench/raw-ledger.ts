/** The raw limit: rows like ours, serialised and inserted by plain better-sqlite3. */
import { hash, randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';
import type { Lane } from './ledger.ts';

/** As often as the ledger does it. */
const longestTail = 4_096;

type Sample = { readonly text: string; readonly bodies: string };

/** `samples`: the rows of each commit of a call, in order. */
export function createRawLane(path: string, samples: readonly Sample[]): Lane {
  const database = openTables(path);
  const insert = database.prepare('INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const index = database.prepare('INSERT INTO entry_index VALUES (?, ?, ?, ?, ?, ?)');
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const shapes = samples.map(({ text, bodies }) => ({
    text: JSON.parse(text) as Record<string, unknown>,
    bodies: JSON.parse(bodies) as unknown,
  }));
  const salt = randomBytes(18).toString('base64url');
  const digest = hash('sha256', salt);
  const sequences = new Map<number, number>();
  let tail = new Map<string, [session: number, call: string, positions: number[], version: number]>();
  let tailLength = 0;
  let position = 0;
  let calls = 0;

  return {
    async burst(inFlight, forMs, took) {
      const untilMs = performance.now() + forMs;
      while (performance.now() < untilMs) {
        const beganMs = performance.now();
        const first = calls;
        calls += inFlight;
        for (const [written, { text, bodies }] of shapes.entries()) {
          begin.run();
          for (let session = 0; session < inFlight; session++) {
            const call = `call_${first + session}`;
            const sequence = (sequences.get(session) ?? 0) + 1;
            sequences.set(session, sequence);
            position++;
            text['call'] = call;
            const known = tail.get(call);
            if (known === undefined) tail.set(call, [session, call, [position], written + 1]);
            else {
              known[2].push(position);
              known[3] = written + 1;
            }
            tailLength++;
            insert.run(
              position,
              session,
              sequence,
              call,
              written + 1,
              JSON.stringify(text),
              JSON.stringify(bodies),
              salt,
              digest,
            );
          }
          if (tailLength >= longestTail) {
            const sorted = [...tail.values()].sort(
              (left, right) => left[0] - right[0] || (left[1] < right[1] ? -1 : 1),
            );
            for (const [session, call, positions, version] of sorted)
              index.run(session, call, positions[0], positions.at(-1), positions.join(), version);
            tail = new Map();
            tailLength = 0;
          }
          commit.run();
        }
        const ms = performance.now() - beganMs;
        for (let n = 0; n < inFlight; n++) took.push(ms);
      }
      await Promise.resolve();
    },
  };
}

/** The tables of the ledger, with its settings. */
function openTables(path: string): Database.Database {
  const database = new Database(path);
  database.pragma('page_size = 8192');
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec(`
    CREATE TABLE entries (
      position INTEGER PRIMARY KEY, session INTEGER NOT NULL, sequence INTEGER NOT NULL, call TEXT,
      version INTEGER, text TEXT NOT NULL, bodies TEXT, salt TEXT, hash TEXT NOT NULL);
    CREATE TABLE entry_index (
      session INTEGER NOT NULL, call TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
      positions TEXT NOT NULL, version INTEGER, PRIMARY KEY (session, call, first)) WITHOUT ROWID;
  `);
  return database;
}
