/**
 * Reads heads one page at a time, as they are or as they were at a position. So a reader of all heads gets one
 * consistent view while other processes append. It remembers nothing about sessions it has passed.
 */
import type { Head, HeadQuery } from '../../ledger/chain.ts';
import type { Database, Statement } from './database.ts';
import { prepareRow, prepareValue } from './database.ts';
import type { Heads } from './heads.ts';
import type { SessionHead, SessionRow } from './session-head.ts';
import { toHead } from './session-head.ts';
import { toSqlText } from './sql-text.ts';

type Link = Pick<Head, 'sequence' | 'hash'>;

export class HeadPages {
  readonly #heads: Heads;
  readonly #atOneMoment: <Result>(read: () => Result) => Result;
  readonly #after: Statement<SessionRow>;
  readonly #linkAt: Statement<Link>;
  readonly #lastEnded: Statement<number | null>;
  readonly #around: Statement<string>;

  constructor(database: Database, heads: Heads) {
    this.#heads = heads;
    // Its first step is a read, and from then on it does not see other writes.
    const begin = prepareRow(database, 'SELECT indexed FROM ledger');
    const inTransaction = database.transaction((read: () => void) => {
      begin.get();
      heads.refreshNow();
      read();
    });
    this.#atOneMoment = <Result>(read: () => Result): Result => {
      let results: readonly Result[] = [];
      inTransaction(() => {
        results = [read()];
      });
      return results[0] as Result; // it was read, or the transaction has thrown
    };
    this.#after = prepareRow(
      database,
      'SELECT session, name, sequence, hash FROM sessions WHERE name > ? ORDER BY name LIMIT ?',
    );
    this.#linkAt = prepareRow(database, 'SELECT sequence, hash FROM entries WHERE position = ?');
    const ofSession = 'FROM entry_index WHERE session = ?';
    this.#lastEnded = prepareValue(database, `SELECT max(last) ${ofSession} AND last <= ?`);
    this.#around = prepareValue(database, `SELECT positions ${ofSession} AND first <= ? AND last > ?`);
  }

  read({ after, limit, at = Number.POSITIVE_INFINITY }: HeadQuery): readonly Head[] {
    return this.#atOneMoment(() => {
      const found: Head[] = [];
      let name = after === undefined ? '' : toSqlText(after); // stored names are never empty
      while (found.length < limit) {
        const rows = this.#after.all(name, limit - found.length);
        if (rows.length === 0) break;
        for (const row of rows) {
          ({ name } = row);
          const head = this.#heads.known(row.session) ?? toHead(row);
          const link = this.#linkOf(head, at);
          if (link !== undefined && link.sequence > 0)
            found.push({ sessionId: head.sessionId, sequence: link.sequence, hash: link.hash });
        }
      }
      return found;
    });
  }

  count(): number {
    return this.#atOneMoment(() => this.#heads.count());
  }

  /**
   * The end of the chain when the entry at this position was the last of all; undefined if the chain had not begun.
   */
  #linkOf(head: SessionHead, at: number): Link | undefined {
    if (at >= this.#heads.position || (head.tail.length === 0 && at >= this.#heads.index.end)) return head;
    if (this.#heads.index.positionsIn(head, at, 1).length === 0) return head;
    let last = latest(0, head.tail.positions, at);
    if (last === 0) {
      last = this.#lastEnded.get(head.session, at) ?? 0;
      for (const positions of this.#around.all(head.session, at, at))
        last = latest(last, positions.split(',').map(Number), at);
    }
    return last === 0 ? undefined : this.#linkAt.get(last);
  }
}

function latest(last: number, positions: readonly number[], at: number): number {
  let found = last;
  for (const position of positions) if (position <= at && position > found) found = position;
  return found;
}
