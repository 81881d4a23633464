/** Puts a live fork on record, before its calls are made. The console and the command line use the same checks. */
import { randomBytes } from 'node:crypto';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { SessionFork } from 'quittance/internal/replay/fork-session';
import { beginFork } from 'quittance/internal/replay/fork-session';
import { HttpRefusal } from './problem.ts';
import type { ForkPlan } from './read-fork.ts';
import { readHeads } from 'quittance/internal/ledger/reads';

/** The id of a new session. */
export const forkId = (from: string): string =>
  `${from.slice(0, 200)}-fork-${randomBytes(4).toString('hex')}`;

/** Refuses before anything is recorded. */
export async function recordFork(
  ledger: OpenLedger,
  tools: readonly { readonly name: string }[],
  { position, calls }: ForkPlan,
  { from, callId, as }: { readonly from: string; readonly callId: string; readonly as: string },
): Promise<SessionFork> {
  const known = new Set(tools.map(({ name }) => name));
  const missing = new Set(calls.map(({ toolName }) => toolName).filter((name) => !known.has(name)));
  if (missing.size > 0)
    throw new HttpRefusal(
      'http.bad_request',
      `This process cannot run ${[...missing].map((name) => JSON.stringify(name.slice(0, 100))).join(', ')}. Another process has these tools.`,
    );
  if ((await readHeads(ledger, as)).length > 0)
    throw new HttpRefusal(
      'http.bad_request',
      `Session ${JSON.stringify(as)} already exists. A fork needs a new session.`,
    );
  const fork = { fromSessionId: from, atCallId: callId, position, after: 'live' } as const;
  await beginFork(ledger, as, fork);
  return fork;
}
