/**
 * The raw limit: the same rows with the same indexes in the same number of commits, serialised and sent in batches by
 * hand-written SQL. It checks nothing, hashes nothing and keeps no heads. This file stays as it is while the store is
 * tuned: the figures are compared with it.
 */
import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';
import { toIntArray, toTextArray } from '../../packages/postgres/src/pg-values.ts';
import { serveLane } from './lane.ts';

/** More connections than this were slower on two cores. */
const mostConnections = 2;

const insertSql = `INSERT INTO raw.entries (position, session_id, sequence, call_id, version, text, bodies, salt, hash)
  SELECT nextval('raw.positions'), s, n, c, $4, t, b, $7, $8
  FROM unnest($1::text[], $2::int[], $3::text[], $5::text[], $6::text[]) x(s, n, c, t, b)`;

await serveLane(async ({ url, name, samples }) => {
  const clients = Array.from({ length: mostConnections }, () => new pg.Client({ connectionString: url }));
  await Promise.all(clients.map((client) => client.connect()));
  const shapes = samples.map(({ text, bodies }) => ({
    text: JSON.parse(text) as Record<string, unknown>,
    bodies: JSON.parse(bodies) as unknown,
  }));
  const salt = randomBytes(18).toString('base64url');
  const digest = createHash('sha256').update(salt).digest('hex');
  const sequences = new Map<number, number>();
  let calls = 0;

  async function run(
    client: pg.Client,
    first: number,
    many: number,
    untilMs: number,
    took: number[],
  ): Promise<void> {
    const workers = Array.from({ length: many }, (_, n) => first + n);
    const sessions = toTextArray(workers.map((worker) => `session-${name}-${worker}`));
    while (performance.now() < untilMs) {
      const beganMs = performance.now();
      const ids = workers.map(() => `call_${name}_${calls++}`);
      for (const [version, { text, bodies }] of shapes.entries()) {
        const places = workers.map((worker) => (sequences.get(worker) ?? 0) + 1);
        for (const [index, worker] of workers.entries()) sequences.set(worker, places[index] ?? 0);
        const texts = ids.map((call) => JSON.stringify({ ...text, call }));
        await client.query(insertSql, [
          sessions,
          toIntArray(places),
          toTextArray(ids),
          version + 1,
          toTextArray(texts),
          toTextArray(ids.map(() => JSON.stringify(bodies))),
          salt,
          digest,
        ]);
      }
      const ms = performance.now() - beganMs;
      for (let n = 0; n < many; n++) took.push(ms);
    }
  }

  return {
    async burst(inFlight, forMs, took) {
      const untilMs = performance.now() + forMs;
      const used = clients.slice(0, Math.min(clients.length, inFlight));
      const share = Math.ceil(inFlight / used.length);
      await Promise.all(
        used.map((client, n) => run(client, n * share, Math.min(share, inFlight - n * share), untilMs, took)),
      );
    },
    async close() {
      await Promise.all(clients.map((client) => client.end()));
    },
  };
});
