import type { CallSummary } from '../../ledger/call-query.ts';
import { readRefusals } from '../../ledger/read-refusals.ts';
import { toCallSummary } from '../../ledger/summarize-call.ts';
import { foldStored, isCallEvent } from '../../ledger/fold-stored.ts';
import type { CallPageFacts } from '../call-page.ts';
import { callFactsToJson } from '../call-json.ts';
import { callPage } from '../call-page.ts';
import type { CliCommand } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall } from '../find-call.ts';
import { findRefusals } from '../find-refusals.ts';
import { refusalPage, refusalsToJson } from '../refusal-page.ts';
import { terminalId, safeJson } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';

export const showCommand: CliCommand = {
  name: 'show',
  summary: 'Show everything about one call',
  takes: '<call>',
  most: 1,
  about: [
    'Shows the gates with their times, the requested and the executed input, the preview, and every decision and edit. Then the grant, the hand-off, every attempt, the text for the model, undo, the audit records, and later resolutions. The beginning of a call id is enough if it is unique.',
    'For a call that the ledger could not store, and that was never accepted, it shows when the call was requested and what failed.',
  ],
  options: {
    session: { value: 'ID', help: 'Session of the call, if several sessions have this call id' },
    json: jsonOption,
  },
  examples: [
    ['quittance show call_7', 'one call'],
    ['quittance show call_7 --session ticket-42', 'the call of that session'],
    ['quittance show call_7 --json | jq .content', 'the text the model received, for a program'],
  ],
  effect: reads,
  run: (given, context) =>
    context.withLedger(given, async (ledger) => {
      const [typed] = given.args;
      if (typed === undefined)
        throw new UsageError('Missing call id.', ['quittance show <call>', 'quittance calls']);
      let found: CallSummary;
      try {
        found = await findCall(ledger, typed, given.text('session'), 'show');
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        const refusals = await findRefusals(ledger, typed, given.text('session'));
        if (refusals.length === 0) throw error;
        if (given.has('json')) await context.out.print(safeJson(refusalsToJson(refusals)));
        else for (const line of refusalPage(refusals, context.out)) await context.out.print(line);
        return exitCodes.good;
      }
      const { sessionId, callId } = found;
      const stored = await ledger.journal.readCall(sessionId, callId);
      const call = stored && foldStored(stored);
      if (stored === undefined || call === undefined)
        throw new UsageError(
          `The read tables list call ${JSON.stringify(terminalId(callId))}, but the ledger has no entries for it.`,
          ['quittance verify', 'quittance rebuild'],
          exitCodes.bad,
        );
      const facts: CallPageFacts = {
        summary: toCallSummary(call),
        call,
        events: stored.events.filter(isCallEvent),
        refusals: await readRefusals(ledger, { sessionId, callId }),
        now: context.now(),
      };
      if (given.has('json')) await context.out.print(safeJson(callFactsToJson(facts)));
      else for (const line of callPage(facts, context.out)) await context.out.print(line);
      return exitCodes.good;
    }),
};
