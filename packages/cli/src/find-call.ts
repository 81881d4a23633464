/** Finds a call by its id or by a unique beginning of it. */
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { exitCodes } from './exit-code.ts';
import { fromSafeText, isShownAs, terminalId } from './terminal-text.ts';
import { age } from './time-text.ts';
import { UsageError } from './usage-error.ts';
import { findCalls } from 'quittance/internal/ledger/reads';

export async function findCall(
  ledger: OpenLedger,
  typed: string,
  sessionId: string | undefined,
  command: string,
  /** Another meaning of the typed id, with the command that lists it. */
  orElse?: { readonly what: string; readonly list: string },
): Promise<CallSummary> {
  // Tables cut long ids with an ellipsis, and people copy the cut form.
  const shown = typed.replace(/…$/, '');
  let wanted = shown;
  let found = await search(ledger, wanted, sessionId);
  if (found.length === 0 && fromSafeText(shown) !== shown) {
    wanted = fromSafeText(shown);
    found = await search(ledger, wanted, sessionId);
  }
  if (found.length === 0) found = await searchShown(ledger, typed, sessionId);
  const [first, ...others] = found;
  if (first === undefined)
    throw new UsageError(
      `There is no ${orElse === undefined ? '' : `${orElse.what} and no `}call ${JSON.stringify(wanted)}${sessionId === undefined ? '' : ` in session ${JSON.stringify(terminalId(sessionId))}`}.`,
      [orElse?.list ?? `quittance calls --text ${shellWord(wanted)}`, 'quittance calls'],
      exitCodes.bad,
    );
  if (others.length === 0) return first;
  const now = ledger.now();
  throw new UsageError(
    `${found.length} calls ${first.callId === wanted ? 'have the id' : 'begin with'} ${JSON.stringify(wanted)}. Select one:`,
    found
      .slice(0, 8)
      .map(
        (call) =>
          `quittance ${command} ${shellWord(terminalId(call.callId))} --session ${shellWord(terminalId(call.sessionId))}   (${terminalId(call.toolName)}, ${age(call.requestedAt, now)} ago)`,
      ),
  );
}

async function search(
  ledger: OpenLedger,
  wanted: string,
  sessionId: string | undefined,
): Promise<readonly CallSummary[]> {
  const { rows } = await findCalls(ledger, { idStart: wanted, sessionId, limit: 1_000 });
  const exact = rows.filter(({ callId }) => callId === wanted);
  return exact.length > 0 ? exact : rows.filter(({ callId }) => callId.startsWith(wanted));
}

/** Most calls to search for one that is shown by a number. */
const mostLookedAt = 100_000;

/** Finds calls whose id or session looks like a secret. Both are displayed, and typed, as a number. */
async function searchShown(
  ledger: OpenLedger,
  typed: string,
  sessionId: string | undefined,
): Promise<readonly CallSummary[]> {
  if (!typed.includes('~') && sessionId?.includes('~') !== true) return [];
  const isMeant = (id: string, wanted: string): boolean => id === wanted || isShownAs(id, wanted);
  const found: CallSummary[] = [];
  let looked = 0;
  let cursor: string | undefined;
  do {
    const page = await findCalls(ledger, { limit: 1_000, ...(cursor !== undefined && { cursor }) });
    for (const row of page.rows)
      if (isMeant(row.callId, typed) && (sessionId === undefined || isMeant(row.sessionId, sessionId)))
        found.push(row);
    looked += page.rows.length;
    cursor = page.next;
  } while (cursor !== undefined && looked < mostLookedAt);
  return found;
}

/** Quoted if a shell would interpret it. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
