import type { ClaimHolder, Claims, Counter } from '../../ledger/claims.ts';
import type { Awaitable } from '../../base/json.ts';
import type { LookUp } from '../../ledger/look-up.ts';
import { exactNumbers } from './exact-numbers.ts';
import { claimedDigest } from './append-result.ts';
import type { EffectGuesses } from './effect-guesses.ts';
import type { Key, OrdRow } from './gathered-read.ts';
import { GatheredRead } from './gathered-read.ts';
import { toTextArray } from './text-array.ts';
import type { PgPool } from './pg-pool.ts';
import { fromPgText, toPgText } from './pg-text.ts';

type ClaimRow = OrdRow & {
  readonly session_id: string;
  readonly call_id: string;
  readonly digest: string | null;
  readonly entry: string | null;
};

/** The marked entry decides. A row without one still blocks other calls from the key. */
const readClaimsSql = `SELECT x.o::integer AS ord, coalesce(e.session_id, c.session_id) AS session_id,
    coalesce(e.call_id, c.call_id) AS call_id, c.digest, e.text AS entry
  FROM unnest($1::text[]) WITH ORDINALITY x(k, o) LEFT JOIN @claims c ON c.key = x.k
  LEFT JOIN @marks m ON m.key = 'claim ' || x.k LEFT JOIN @entries e ON e.position = m.position
  WHERE coalesce(e.call_id, c.call_id) IS NOT NULL`;

const findEffectsSql = `SELECT x.o::integer AS ord, u.call_id
  FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY x(s, t, d, o)
  JOIN @unsettled u ON u.session_id = x.s AND u.tool = x.t AND u.digest = x.d ORDER BY x.o, u.position`;

export class PostgresClaims implements Claims {
  readonly #pool: PgPool;

  readonly #claims: GatheredRead<ClaimRow>;
  readonly #effects: GatheredRead<OrdRow & { readonly call_id: string }>;
  readonly #guesses: EffectGuesses;

  constructor(pool: PgPool, guesses: EffectGuesses) {
    this.#pool = pool;
    this.#guesses = guesses;
    this.#claims = new GatheredRead(pool, readClaimsSql);
    this.#effects = new GatheredRead(pool, findEffectsSql);
  }

  async readClaim(claimKey: string): Promise<ClaimHolder | undefined> {
    const [row] = await this.#claims.read([toPgText(claimKey)]);
    return (
      row && {
        sessionId: fromPgText(row.session_id),
        callId: fromPgText(row.call_id),
        inputDigest: claimedDigest(row),
      }
    );
  }

  async readCounters(names: readonly string[]): Promise<readonly Counter[]> {
    if (names.length === 0) return [];
    const rows = await this.#pool.read<Counter>(
      `SELECT ${exactNumbers}, coalesce(c.used, 0) AS used, coalesce(c.reserved, 0) AS reserved
       FROM unnest($1::text[]) WITH ORDINALITY x(name, o) LEFT JOIN @counters c ON c.name = x.name ORDER BY x.o`,
      [toTextArray(names.map(toPgText))],
    );
    return rows.map(({ used, reserved }) => ({ used, reserved }));
  }

  findUnsettledEffects(
    sessionId: string,
    toolName: string,
    inputDigest: string,
    lookUp: LookUp = 'certain',
  ): Awaitable<readonly string[]> {
    if (lookUp === 'before_append' && this.#guesses.tryGuess(sessionId, { toolName, inputDigest })) return [];
    return this.#findEffects([toPgText(sessionId), toPgText(toolName), toPgText(inputDigest)]);
  }

  async #findEffects(key: Key): Promise<readonly string[]> {
    const rows = await this.#effects.read(key);
    return rows.map((row) => fromPgText(row.call_id));
  }
}
