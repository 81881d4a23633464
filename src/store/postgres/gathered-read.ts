/**
 * Look-ups that share round trips. Keys of the same turn of the event loop become one statement with an array per
 * column. So do keys that arrive while earlier statements run.
 */
import { closedError } from '../../ledger/refuse-entry.ts';
import type { PgPool } from './pg-pool.ts';
import { saturatedError } from './pg-pool.ts';
import { toTextArray } from './text-array.ts';

/** The columns of a key, in the order of the parameters. */
export type Key = readonly string[];
/** Rows say with `ord` to which key they belong, counted from 1. */
export type OrdRow = { readonly ord: number };

type Asked<Row> = {
  readonly key: Key;
  readonly resolve: (rows: readonly Row[]) => void;
  readonly reject: (error: unknown) => void;
};

const mostInStatement = 256;
const mostStatements = 2;
const mostQueued = 50_000;

export class GatheredRead<Row extends OrdRow> {
  readonly #pool: PgPool;
  readonly #sql: string;
  #queue: Asked<Row>[] = [];
  #running = 0;
  #isScheduled = false;

  /** `sql` joins `unnest($1::text[], …) WITH ORDINALITY x(…, o)`. */
  constructor(pool: PgPool, sql: string) {
    this.#pool = pool;
    this.#sql = sql;
  }

  /** The rows of one key, in the order of the statement. */
  read(key: Key): Promise<readonly Row[]> {
    if (this.#pool.isClosed) return Promise.reject(closedError());
    if (this.#queue.length >= mostQueued) return Promise.reject(saturatedError());
    return new Promise((resolve, reject) => {
      this.#queue.push({ key, resolve, reject });
      if (this.#isScheduled || this.#running >= mostStatements) return;
      this.#isScheduled = true;
      queueMicrotask(() => {
        this.#isScheduled = false;
        this.#next();
      });
    });
  }

  #next(): void {
    while (this.#queue.length > 0 && this.#running < mostStatements) {
      const asked =
        this.#queue.length <= mostInStatement ? this.#queue : this.#queue.slice(0, mostInStatement);
      this.#queue = asked === this.#queue ? [] : this.#queue.slice(mostInStatement);
      this.#running++;
      void this.#send(asked).finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }

  async #send(asked: readonly Asked<Row>[]): Promise<void> {
    try {
      const columns = (asked[0]?.key ?? []).map((_, n) => toTextArray(asked.map(({ key }) => key[n] ?? '')));
      const rows = await this.#pool.read<Row>(this.#sql, columns);
      const found: Row[][] = asked.map(() => []);
      for (const row of rows) found[row.ord - 1]?.push(row);
      for (const [index, { resolve }] of asked.entries()) resolve(found[index] ?? []);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  }
}
