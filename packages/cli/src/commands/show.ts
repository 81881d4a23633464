import type { CallSummary } from 'quittance/internal/ledger/call-query';
import { readRefusals, withRefusals, lastPosition } from 'quittance/internal/ledger/reads';
import { toCallSummary } from 'quittance/internal/ledger/listed-call';
import { foldStored, isCallEvent } from 'quittance/internal/ledger/fold-stored';
import type { CallPageFacts } from '../call-page.ts';
import { callPage } from '../call-page.ts';
import type { CliCommand } from '../command.ts';
import { jsonOption, reads } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { findCall } from '../find-call.ts';
import { terminalId, safeJson } from '../terminal-text.ts';
import { UsageError } from '../usage-error.ts';
import type { JsonObject } from 'quittance/internal/base/json';
import { projectAudit } from 'quittance/internal/call/audit-projection';
import type {
  ConfirmationDecided,
  ToolPreviewed,
  ToolReported,
  CallNotAccepted,
} from 'quittance/internal/call/event';
import type { PreviewView } from 'quittance/internal/runtime/views';
import { callToJson } from '../call-columns.ts';
import { callTimeline } from '../call-timeline.ts';
import { toJsonWithTimes, withoutUndefined } from '../to-json.ts';
import { isKnownEvent } from 'quittance/internal/ledger/formats/v1/event-table';
import { readEntry } from 'quittance/internal/ledger/formats/v1/read-entry';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { persistenceBoundaries } from 'quittance/internal/call/persistence-boundary';
import type { PageLayout } from '../page-layout.ts';
import { labelled, paragraph } from '../page-layout.ts';
import { localTimeText } from '../time-text.ts';

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
      const stored = await ledger.readCall(sessionId, callId);
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

/** Everything about one call, for programs: the summary, the fields of the call as HTTP names them, and its audit records. */

function callFactsToJson({ summary, call, events, refusals }: CallPageFacts): JsonObject {
  const { confirmation, preview, settled, undone, resolution } = call;
  return withoutUndefined({
    ...callToJson(summary),
    displayName: call.displayName,
    requestedInput: call.requestedInput,
    effectiveInput: call.effectiveInput,
    inputForm: call.inputForm,
    acceptedInput: call.acceptedInput,
    artifacts: call.artifacts,
    requestDigest: call.requestDigest,
    changes: events.flatMap((event) => (event.type === 'tool.decided' ? event.changes : [])),
    grantId: call.grantId,
    hidden: call.hidden,
    preview: preview && toJsonWithTimes(previewFields(preview), 'expiresAt'),
    confirmation: confirmation && toJsonWithTimes(confirmation, 'askedAt', 'expiresAt', 'decidedAt'),
    decisions: events.flatMap((event) =>
      event.type === 'confirmation.decided' ? [toJsonWithTimes(decisionFields(event), 'at')] : [],
    ),
    handoff: events.flatMap((event) =>
      event.type === 'tool.reported' ? [toJsonWithTimes(handoffFields(event), 'expiresAt', 'at')] : [],
    ),
    undone: undone && toJsonWithTimes(undone, 'at'),
    settled: settled && toJsonWithTimes(settled, 'at'),
    timeline: callTimeline(events),
    late: call.late.map((late) => toJsonWithTimes(late, 'at')),
    audit: projectAudit(withRefusals(events, refusals)).map((record) => toJsonWithTimes(record, 'at')),
    resolution: resolution && toJsonWithTimes(resolution, 'at'),
  });
}

const previewFields = ({
  operationId,
  revision,
  ready,
  preview,
  snapshot,
  expiresAt,
}: ToolPreviewed): PreviewView => ({
  operationId,
  revision,
  ready,
  preview,
  snapshot,
  expiresAt,
});

type DecisionField =
  | 'confirmationId'
  | 'decision'
  | 'by'
  | 'reason'
  | 'inputDigest'
  | 'revision'
  | 'editedInput'
  | 'editedDigest'
  | 'response'
  | 'at';

const decisionFields = (event: ConfirmationDecided): Pick<ConfirmationDecided, DecisionField> => ({
  confirmationId: event.confirmationId,
  decision: event.decision,
  by: event.by,
  reason: event.reason,
  inputDigest: event.inputDigest,
  revision: event.revision,
  editedInput: event.editedInput,
  editedDigest: event.editedDigest,
  response: event.response,
  at: event.at,
});

const handoffFields = ({
  what,
  worker,
  identity,
  attempt,
  at,
}: ToolReported): { readonly [name: string]: unknown } => ({
  type: what.type,
  worker,
  identity,
  attempt,
  expiresAt: what.type === 'claimed' ? what.expiresAt : undefined,
  at,
});

/** Requests that were not accepted: the ledger has no such call, only an event with the cause. */

/** Without a session, only this many of the newest entries are searched, because no table lists these events. */
const mostLookedAt = 100_000;
const readAtOnce = 500;

async function findRefusals(
  ledger: OpenLedger,
  callId: string,
  sessionId: string | undefined,
): Promise<readonly CallNotAccepted[]> {
  if (sessionId !== undefined) return readRefusals(ledger, { sessionId, callId });
  const until = await lastPosition(ledger);
  const named = `"refused_call":${JSON.stringify(callId)}`;
  const found: CallNotAccepted[] = [];
  let after = Math.max(0, until - mostLookedAt);
  for (;;) {
    const entries = await ledger.readEntries({
      after,
      limit: readAtOnce,
      about: { until, texts: [named, named] },
    });
    for (const entry of entries)
      for (const event of readEntry(entry).events)
        if (isKnownEvent(event) && event.type === 'call.not_accepted' && event.refusedCallId === callId)
          found.push(event);
    const last = entries.at(-1);
    if (last === undefined || entries.length < readAtOnce) return found;
    after = last.position;
  }
}

/** The record of a request that was not accepted. */

const refusalPage = (refusals: readonly CallNotAccepted[], page: PageLayout): string[] =>
  refusals.flatMap((refusal, index) => [
    ...(index === 0 ? [] : ['']),
    page.paint('bold', `${terminalId(refusal.refusedCallId)}  not accepted`),
    ...labelled('session', terminalId(refusal.sessionId), page),
    ...labelled('turn', terminalId(refusal.turnId), page),
    ...labelled('tool', terminalId(refusal.toolName), page),
    ...labelled('mode', `${refusal.mode}, ${refusal.modeOrigin}`, page),
    ...labelled('asked', localTimeText(refusal.failedAt), page),
    ...labelled('recorded', localTimeText(refusal.at), page),
    ...labelled('boundary', `${refusal.boundary}. ${persistenceBoundaries[refusal.boundary] ?? ''}`, page),
    ...labelled('error', refusal.error, page),
    ...paragraph(
      'The ledger could not store this call, so the runtime did not accept it. Nothing ran. The same id can be used again.',
      page,
    ),
  ]);

const refusalsToJson = (refusals: readonly CallNotAccepted[]): JsonObject => ({
  status: 'not_accepted',
  audit: projectAudit(refusals).map((record) => toJsonWithTimes(record, 'at')),
});
