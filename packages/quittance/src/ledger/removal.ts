/**
 * Removes old or personal content on request: one call, one session, or all sessions that rules select. Open, held and
 * unresolved calls are never removed, because people still need them. Each removal is recorded with a name and a reason.
 */
import { isQuittanceError, QuittanceError } from '../base/error.ts';
import type { SessionSummary } from './call-query.ts';
import { readEntry } from './formats/v1/read-entry.ts';
import type { Ledger } from './ledger.ts';
import { ledgerSessionId } from './ledger.ts';
import type { Removal } from './retention.ts';
import { readHeads, findSessions, findCalls } from './reads.ts';

/** The person who requests the removal, and the reason. */
export type RemovalReason = Pick<Removal, 'by' | 'identity' | 'reason'>;

export type RetentionRule = {
  /** Only sessions whose id matches; `*` stands for any text. Default: every session. */
  readonly session?: string | undefined;
  /** Time since the last event of the session. */
  readonly olderThanMs: number;
  /** `drop` removes the session; `erase` empties its contents and keeps its chain. */
  readonly action: 'drop' | 'erase';
};

export type RetentionRun = {
  readonly dropped: readonly string[];
  readonly erased: readonly string[];
  /** Old sessions with an open, held or unresolved call. They stay. */
  readonly kept: readonly string[];
};

/** Empties a session, or one call of it. Returns the number of entries. */
export async function eraseContents(
  ledger: Ledger,
  { sessionId, callId }: { readonly sessionId: string; readonly callId: string | undefined },
  reason: RemovalReason,
): Promise<number> {
  await refuseUnresolved(ledger, sessionId, callId);
  if (callId === undefined) return ledger.erase({ sessionId, ...reason });
  const entryIds = await findEntries(ledger, sessionId, callId);
  return entryIds.length === 0 ? 0 : ledger.erase({ sessionId, entryIds, ...reason });
}

/** Removes a session. False if there is none. */
export async function removeSession(
  ledger: Ledger,
  sessionId: string,
  reason: RemovalReason,
): Promise<boolean> {
  for (;;) {
    const [head] = await readHeads(ledger, sessionId);
    if (head === undefined || sessionId === ledgerSessionId) return false;
    await refuseUnresolved(ledger, sessionId, undefined);
    // A call that becomes unresolved in the meantime changes the hash.
    if (await ledger.dropSession({ sessionId, ...reason, lastHash: head.hash })) return true;
  }
}

/** Applies the first rule that matches each old session. */
export async function applyRetention(
  ledger: Ledger,
  rules: readonly RetentionRule[],
  reason: RemovalReason,
  { signal, dryRun = false }: { readonly signal: AbortSignal; readonly dryRun?: boolean },
): Promise<RetentionRun> {
  const run = { dropped: [] as string[], erased: [] as string[], kept: [] as string[] };
  for (const { session, rule } of await findOld(ledger, rules, signal)) {
    if (signal.aborted) break;
    const { sessionId } = session;
    if (session.openCalls > 0 || session.unresolved > 0) run.kept.push(sessionId);
    else if (dryRun) (rule.action === 'drop' ? run.dropped : run.erased).push(sessionId);
    else
      try {
        if (rule.action === 'drop' && (await removeSession(ledger, sessionId, reason)))
          run.dropped.push(sessionId);
        if (
          rule.action === 'erase' &&
          (await eraseContents(ledger, { sessionId, callId: undefined }, reason)) > 0
        )
          run.erased.push(sessionId);
      } catch (error) {
        if (!isQuittanceError(error, 'ledger.in_use')) throw error;
        run.kept.push(sessionId);
      }
  }
  return run;
}

type Old = { readonly session: SessionSummary; readonly rule: RetentionRule };

const sessionsPerPage = 100;

async function findOld(
  ledger: Ledger,
  rules: readonly RetentionRule[],
  signal: AbortSignal,
): Promise<readonly Old[]> {
  if (rules.length === 0) return [];
  const now = ledger.now();
  const youngest = Math.min(...rules.map(({ olderThanMs }) => olderThanMs));
  const matchers = rules.map((rule) => ({ rule, matches: createMatcher(rule.session) }));
  const found: Old[] = [];
  for (let cursor: string | undefined; !signal.aborted;) {
    const { rows, next } = await findSessions(ledger, {
      until: now - youngest,
      limit: sessionsPerPage,
      ...(cursor !== undefined && { cursor }),
    });
    for (const session of rows) {
      const match = matchers.find(({ matches }) => matches(session.sessionId));
      if (match !== undefined && session.lastAt < now - match.rule.olderThanMs)
        found.push({ session, rule: match.rule });
    }
    if (next === undefined) break;
    cursor = next;
  }
  return found;
}

function createMatcher(pattern: string | undefined): (sessionId: string) => boolean {
  if (pattern === undefined || pattern === '*') return () => true;
  const [first = '', ...rest] = pattern.split('*');
  return (sessionId) => {
    if (rest.length === 0) return sessionId === first;
    const last = rest.at(-1) ?? '';
    if (!sessionId.startsWith(first) || !sessionId.slice(first.length).endsWith(last)) return false;
    let at = first.length;
    const end = sessionId.length - last.length;
    for (const part of rest.slice(0, -1)) {
      const place = sessionId.indexOf(part, at);
      if (place === -1 || place + part.length > end) return false;
      at = place + part.length;
    }
    return at <= end;
  };
}

/** Throws `ledger.in_use` while the effect of a call is unresolved. */
export async function refuseUnresolved(
  ledger: Ledger,
  sessionId: string,
  callId: string | undefined,
): Promise<void> {
  const { rows } = await findCalls(ledger, {
    sessionId,
    unresolved: true,
    limit: 1_000,
  });
  const found = rows.find((call) => call.sessionId === sessionId && (callId ?? call.callId) === call.callId);
  if (found === undefined) return;
  throw new QuittanceError(
    'ledger.in_use',
    `Call ${found.callId} of session ${sessionId} is unresolved: it is not known whether it took effect. Resolve it first, ` +
      'with quittance reconcile.',
    { sessionId, callId: found.callId },
  );
}

async function findEntries(ledger: Ledger, sessionId: string, callId: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (let after = 0; ;) {
    const entries = await ledger.readEntries({ sessionId, after, limit: 500 });
    for (const entry of entries) {
      const read = readEntry(entry);
      if (read.callId === callId) found.push(read.entryId);
    }
    const last = entries.at(-1);
    if (last === undefined || entries.length < 500) return found;
    after = last.position;
  }
}
