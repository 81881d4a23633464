import type { Head, HeadQuery } from '../../ledger/chain.ts';
import type { Integrity } from '../../ledger/integrity.ts';
import type { SideRow } from '../../ledger/side-row.ts';
import type { StoreFinding } from '../../ledger/store-finding.ts';
import type { PgPool } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-text.ts';
import type { PostgresQueries } from './postgres-queries.ts';
import { rebuildSideTables } from './side-rebuild.ts';
import { listSideRows } from './side-rows.ts';

type HeadRow = { readonly session_id: string; readonly sequence: number; readonly hash: string };

export class PostgresIntegrity implements Integrity {
  readonly #pool: PgPool;
  readonly #queries: PostgresQueries;
  readonly #now: () => number;

  constructor(pool: PgPool, queries: PostgresQueries, now: () => number) {
    this.#pool = pool;
    this.#queries = queries;
    this.#now = now;
  }

  async readHeads(sessionId?: string): Promise<readonly Head[]> {
    const rows = await this.#pool.read<HeadRow>(
      `SELECT session_id, sequence, hash FROM @sessions
       WHERE sequence > 0${sessionId === undefined ? '' : ' AND session_id = $1'} ORDER BY session_id`,
      sessionId === undefined ? [] : [toPgText(sessionId)],
    );
    return rows.map(toHead);
  }

  async findHeads({ after, limit, at }: HeadQuery): Promise<readonly Head[]> {
    const rows = await this.#pool.read<HeadRow>(
      at === undefined
        ? `SELECT session_id, sequence, hash FROM @sessions WHERE session_id > $1 AND sequence > 0
           ORDER BY session_id LIMIT $2`
        : `SELECT s.session_id, e.sequence, e.hash FROM @sessions s
           JOIN LATERAL (SELECT sequence, hash FROM @entries e
             WHERE e.session_id = s.session_id AND e.position <= $3 ORDER BY e.sequence DESC LIMIT 1) e ON true
           WHERE s.session_id > $1 ORDER BY s.session_id LIMIT $2`,
      [after === undefined ? '' : toPgText(after), limit, ...(at === undefined ? [] : [at])],
    );
    return rows.map(toHead);
  }

  async countSessions(): Promise<number> {
    const [row] = await this.#pool.read<{ sessions: number }>(
      'SELECT count(*) AS sessions FROM @sessions WHERE sequence > 0',
    );
    return row?.sessions ?? 0;
  }

  readSideRows(): AsyncIterable<SideRow> {
    return listSideRows(this.#pool);
  }

  /** The heads must be the last entries of their sessions: everything else is compared by `verify`. */
  async *inspect(_signal: AbortSignal): AsyncGenerator<StoreFinding, void, undefined> {
    // It reads all entries, which takes longer than other statements may on a large ledger.
    const rows = await this.#pool.longTransaction((query) => query<{ session_id: string }>(otherHeadsSql));
    for (const { session_id } of rows) {
      const sessionId = fromPgText(session_id);
      yield {
        kind: 'side_row',
        level: 'problem',
        message: `The table "sessions" does not name the last entry of session ${JSON.stringify(sessionId)}. Another program changed it. \`quittance rebuild\` makes it again.`,
        sessionId,
      };
    }
  }

  async rebuild(): Promise<readonly string[]> {
    const problems = await rebuildSideTables(this.#pool, this.#now);
    await this.#queries.fill();
    return problems;
  }
}

const otherHeadsSql = `SELECT coalesce(s.session_id, e.session_id) AS session_id FROM @sessions s
  FULL JOIN (SELECT DISTINCT ON (session_id) session_id, sequence, hash FROM @entries
    ORDER BY session_id, sequence DESC) e ON e.session_id = s.session_id
  WHERE (s.sequence, s.hash) IS DISTINCT FROM (e.sequence, e.hash) AND NOT (s.sequence = 0 AND e.sequence IS NULL)
  LIMIT 100`;

const toHead = ({ session_id, sequence, hash }: HeadRow): Head => ({
  sessionId: fromPgText(session_id),
  sequence,
  hash,
});
