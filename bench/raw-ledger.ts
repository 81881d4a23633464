/** The raw limit: rows like ours, serialised and inserted by plain `node:sqlite`. */
import { hash, randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import type { Lane } from './ledger.ts';

type Sample = { readonly text: string; readonly bodies: string };

/** `samples`: the rows of each commit of a call, in order. */
export function createRawLane(path: string, samples: readonly Sample[]): Lane {
  const database = openTables(path);
  const insert = database.prepare('INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const shapes = samples.map(({ text, bodies }) => ({
    text: JSON.parse(text) as Record<string, unknown>,
    bodies: JSON.parse(bodies) as unknown,
  }));
  const salt = randomBytes(18).toString('base64url');
  const digest = hash('sha256', salt);
  const sequences = new Map<number, number>();
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
function openTables(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA page_size = 8192;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE entries (
      position INTEGER PRIMARY KEY, session INTEGER NOT NULL, sequence INTEGER NOT NULL, call TEXT,
      version INTEGER, text TEXT NOT NULL, bodies TEXT, salt TEXT, hash TEXT NOT NULL);
    CREATE INDEX entries_by_session ON entries (session);
    CREATE INDEX entries_by_call ON entries (session, call, version) WHERE call IS NOT NULL;
  `);
  return database;
}
