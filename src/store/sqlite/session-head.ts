import { genesisHash } from '../../ledger/chain.ts';
import { SessionTail } from './session-tail.ts';
import { fromSqlText } from './sql-text.ts';

/** The end of a session's chain. */
export type SessionHead = {
  readonly session: number;
  readonly sessionId: string;
  sequence: number;
  hash: string;
  /** Does its row say that it has entries? Entries in the tail are not counted there yet. */
  isListed: boolean;
  /** Versions of calls that were appended to or looked up. */
  versions: Map<string, number>;
  /** Does a call that is not among them not exist? */
  knowsAll: boolean;
  /** Number of its entries in the index. */
  indexedEntries: number;
  /** Positions of its indexed entries in order, once requested. */
  order: number[] | undefined;
  readonly tail: SessionTail;
};

export type SessionRow = {
  readonly session: number;
  readonly name: string;
  readonly sequence: number;
  readonly hash: string | null;
};

export function toHead({ session, name, sequence, hash }: SessionRow): SessionHead {
  const sessionId = fromSqlText(name);
  return {
    session,
    sessionId,
    sequence,
    hash: hash ?? genesisHash(sessionId),
    isListed: sequence > 0,
    versions: new Map(),
    knowsAll: sequence === 0,
    indexedEntries: sequence,
    order: undefined,
    tail: new SessionTail(),
  };
}
