import type { ClaimHolder, Claims, Counter } from '../../ledger/claims.ts';
import { toTextArray } from './text-array.ts';
import type { PgPool } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-text.ts';

export class PostgresClaims implements Claims {
  readonly #pool: PgPool;

  constructor(pool: PgPool) {
    this.#pool = pool;
  }

  async readClaim(claimKey: string): Promise<ClaimHolder | undefined> {
    const [row] = await this.#pool.query<{ session_id: string; call_id: string; digest: string }>(
      'SELECT session_id, call_id, digest FROM @claims WHERE key = $1',
      [toPgText(claimKey)],
    );
    return (
      row && {
        sessionId: fromPgText(row.session_id),
        callId: fromPgText(row.call_id),
        inputDigest: fromPgText(row.digest),
      }
    );
  }

  async readCounters(names: readonly string[]): Promise<readonly Counter[]> {
    if (names.length === 0) return [];
    const rows = await this.#pool.query<Counter>(
      `SELECT coalesce(c.used, 0) AS used, coalesce(c.reserved, 0) AS reserved
       FROM unnest($1::text[]) WITH ORDINALITY x(name, o) LEFT JOIN @counters c ON c.name = x.name ORDER BY x.o`,
      [toTextArray(names.map(toPgText))],
    );
    return rows.map(({ used, reserved }) => ({ used, reserved }));
  }

  async findUnsettledEffects(
    sessionId: string,
    toolName: string,
    inputDigest: string,
  ): Promise<readonly string[]> {
    const rows = await this.#pool.query<{ call_id: string }>(
      'SELECT call_id FROM @unsettled WHERE session_id = $1 AND tool = $2 AND digest = $3 ORDER BY position',
      [toPgText(sessionId), toPgText(toolName), toPgText(inputDigest)],
    );
    return rows.map((row) => fromPgText(row.call_id));
  }
}
