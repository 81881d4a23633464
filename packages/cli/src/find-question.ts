/** Finds a confirmation by its id, by a unique beginning of it, or by its call. */
import type { StoredCall } from 'quittance/internal/ledger/journal';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { ConfirmationView } from 'quittance/internal/runtime/views';
import { toConfirmationView } from 'quittance/internal/runtime/views';
import { foldStored } from 'quittance/internal/ledger/fold-stored';
import { exitCodes } from './exit-code.ts';
import { findCall, shellWord } from './find-call.ts';
import { UsageError } from './usage-error.ts';
import { terminalId } from './terminal-text.ts';
import { findConfirmation, findConfirmations } from 'quittance/internal/ledger/reads';

export type Question = {
  readonly view: ConfirmationView;
  readonly stored: StoredCall;
  /** Could the typed id also mean an earlier confirmation of the same call? */
  readonly ambiguous: boolean;
};

export async function findQuestion(
  ledger: OpenLedger,
  typed: string,
  sessionId: string | undefined,
  command: string,
): Promise<Question> {
  const wanted = typed.replace(/…$/, '');
  const named = (await findConfirmation(ledger, wanted)) ?? (await findByStart(ledger, wanted, command));
  const orElse = { what: 'question', list: 'quittance pending' };
  const call = named ?? (await findCall(ledger, typed, sessionId, command, orElse));
  const stored = await ledger.readCall(call.sessionId, call.callId);
  const folded = stored && foldStored(stored);
  const view = folded && toConfirmationView(folded);
  if (stored === undefined || view === undefined)
    throw new UsageError(
      `Call ${JSON.stringify(terminalId(call.callId))} is not awaiting approval.`,
      [
        'quittance pending',
        `quittance show ${shellWord(terminalId(call.callId))} --session ${shellWord(terminalId(call.sessionId))}`,
      ],
      exitCodes.bad,
    );
  if (named !== undefined && named.confirmationId !== view.confirmationId)
    throw new UsageError(
      `Confirmation ${named.confirmationId} has ended, and call ${JSON.stringify(terminalId(call.callId))} has a newer one.`,
      [`quittance ${command} ${view.confirmationId}`, 'quittance pending'],
      exitCodes.bad,
    );
  const asked = stored.events.filter(({ type }) => type === 'tool.held').length;
  return { view, stored, ambiguous: named === undefined && asked > 1 };
}

type Found = NonNullable<Awaited<ReturnType<typeof findConfirmation>>>;

async function findByStart(ledger: OpenLedger, wanted: string, command: string): Promise<Found | undefined> {
  if (!/^cnf_./.test(wanted)) return undefined;
  const found: Found[] = [];
  let cursor: string | undefined;
  do {
    const page = await findConfirmations(ledger, { limit: 500, cursor });
    found.push(...page.rows.filter(({ confirmationId }) => confirmationId.startsWith(wanted)));
    cursor = page.next;
  } while (cursor !== undefined);
  const open = found.filter(({ status }) => status === 'pending');
  const [first, ...others] = open.length > 0 ? open : found;
  if (others.length === 0) return first;
  throw new UsageError(
    `${others.length + 1} confirmations begin with ${JSON.stringify(wanted)}. Select one:`,
    [...(first === undefined ? [] : [first]), ...others]
      .slice(0, 8)
      .map((each) => `quittance ${command} ${each.confirmationId}   (${terminalId(each.toolName)})`),
  );
}
