/** Everything about one call, as a page to read. */
import { readTraceparent, traceIdsOf } from 'quittance/internal/base/traceparent';
import { describeDecider, describeIdentity, describePerson } from 'quittance/internal/call/describe-identity';
import { projectAudit } from 'quittance/internal/call/audit-projection';
import { ToolAuditOutcome } from 'quittance/internal/call/audit';
import type { Call } from 'quittance/internal/call/call';
import type {
  CallEvent,
  CallNotAccepted,
  ConfirmationDecided,
  ConfirmationVoted,
  ToolHeld,
} from 'quittance/internal/call/event';
import { reasonOf } from 'quittance/internal/call/reason';
import type { CallSummary } from 'quittance/internal/ledger/call-query';
import { withRefusals } from 'quittance/internal/ledger/reads';
import { shellWord } from './find-call.ts';
import { artifactLines } from './artifact-lines.ts';
import { colorOf, standing } from './outcome-query.ts';
import type { PageLayout } from './page-layout.ts';
import { comparisonSection } from './comparison-section.ts';
import { previewLines } from './preview-lines.ts';
import { block, indent, json, labelled, paragraph, question, section } from './page-layout.ts';
import { terminalId, safeSentence, terminalText } from './terminal-text.ts';
import { comparisonOf } from 'quittance/internal/view/view-tool-call';
import { fit, trim, textWidth } from './text-width.ts';
import { age, duration, localTimeText } from './time-text.ts';
import type { JsonValue } from 'quittance/internal/base/json';
import type { Vote } from 'quittance/internal/call/vote';
import {
  describeMissing,
  hasPolicy,
  missingOf,
  withVote,
  withoutFallen,
} from 'quittance/internal/call/quorum';
import { fallenLines } from './approval-lines.ts';
import { decisionWords, callTimeline } from './call-timeline.ts';
import { differenceLines } from './difference-lines.ts';
import { inputDifference } from './input-difference.ts';
import { askLines } from './question-page.ts';
import type { CallSpan } from './call-timeline.ts';

export type CallPageFacts = {
  readonly summary: CallSummary;
  readonly call: Call;
  readonly events: readonly CallEvent[];
  /** Failed requests from before the call was accepted. */
  readonly refusals: readonly CallNotAccepted[];
  readonly now: number;
};

export function callPage(facts: CallPageFacts, page: PageLayout): string[] {
  const inside = { ...page, textWidth: page.textWidth - indent.length };
  const { call, events } = facts;
  return [
    ...head(facts, page),
    ...section('Timeline', timelineLines(events, inside), page),
    ...section('Rules', rules(events, inside), page),
    ...section('Input', input(facts, inside), page),
    ...section('Preview', preview(call, inside), page),
    ...comparison(facts, page),
    ...section('Confirmation', confirmationLines(events, inside), page),
    ...section('Hand-off', handoff(events, inside), page),
    ...section('Sent to the model', modelContent(call, inside), page),
    ...section('Late results', late(call, inside), page),
    ...section('Undo', undo(facts, inside), page),
    ...section('Records', records(withRefusals(events, facts.refusals), inside), page),
    ...section('Resolution', resolution(facts, inside), page),
  ];
}

function head({ summary, call, now }: CallPageFacts, page: PageLayout): string[] {
  const word = standing(summary);
  const why = [summary.reason, summary.code].filter(Boolean).join(' ');
  const { principal, provenance } = call;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['session', terminalId(call.sessionId)],
    ['turn', terminalId(call.turnId)],
    [
      'tool',
      call.displayName === call.toolName
        ? terminalId(call.toolName)
        : `${terminalId(call.toolName)} (${terminalId(call.displayName)})`,
    ],
    ['mode', `${call.mode}, ${call.modeOrigin}`],
    ['risk', call.risk],
    [
      'asked',
      `${localTimeText(call.requestedAt)}, ${age(call.requestedAt, now)} ago`.replace('now ago', 'just now'),
    ],
    ['by', principal && [principal.userId, principal.orgId].filter(Boolean).join(' of ')],
    ['requester', call.askedBy && describeIdentity(call.askedBy)],
    ['model', provenance && [provenance.provider, provenance.model].filter(Boolean).join(' ')],
    ['policy', call.policyVersion],
    ['trace', traceIdIn(call.traceparent)],
    ['attempts', call.attempt === 0 ? 'not executed' : String(call.attempt)],
    [
      'cost',
      summary.costMicros === 0
        ? undefined
        : `${summary.costMicros / 1_000_000} (${summary.costMicros} micros)`,
    ],
    ['grant', call.grantId],
    ['copied from', call.copiedFrom],
    ['repeated', call.recalls === 0 ? undefined : `${call.recalls} times`],
  ];
  const shown = facts.filter((fact): fact is [string, string] => !!fact[1]);
  return [
    `${page.paint('bold', terminalId(call.callId))}  ${page.paint(colorOf(word), word)}${why === '' ? '' : `  ${terminalText(why)}`}`,
    ...(summary.message === undefined ? [] : question(summary.message, page)),
    '',
    ...shown.flatMap(([name, value]) => labelled(name, value, page)),
  ];
}

/** Rules that fired. Those in observe mode changed nothing. */
function rules(events: readonly CallEvent[], page: PageLayout): string[] {
  return events
    .flatMap((event) => (event.type === 'tool.decided' || event.type === 'tool.responded' ? event.rules : []))
    .flatMap(({ ruleId, action, message, observed }) =>
      labelled(observed === true ? `would ${action}` : action, `${ruleId}: ${message}`, page),
    );
}

function input({ call, events }: CallPageFacts, page: PageLayout): string[] {
  const requested = events.find((event) => event.type === 'tool.requested');
  const changes = events.flatMap((event) => (event.type === 'tool.decided' ? event.changes : []));
  const hidden = requested?.hidden ?? [];
  const isSame = call.effectiveInput === undefined;
  return [
    page.paint('dim', isSame ? describeRequested(call) : 'requested'),
    ...json(call.requestedInput, page),
    ...(isSame
      ? []
      : [page.paint('dim', describeEffective(call)), ...json(call.effectiveInput ?? null, page)]),
    ...artifactLines(call.artifacts, page),
    ...changes.flatMap(({ path, rule }) => labelled('changed', `${path}: ${rule}`, page)),
    ...hidden.flatMap((path) => labelled('hidden', path, page)),
    ...labelled('req. digest', call.requestDigest, page),
    ...(call.inputDigest === undefined ? [] : labelled('input digest', call.inputDigest, page)),
  ];
}

/** Says "unchanged" only if the tool received exactly this input. */
function describeRequested({ inputForm, attempt, inputDigest, started }: Call): string {
  if (inputDigest === undefined) return 'requested';
  if (inputForm === undefined)
    return 'requested (recorded by an earlier version, without the defaults and transforms of the schema)';
  const ran = attempt > 0;
  if (started?.handoff === true) return ran ? 'requested, and passed to a worker unchanged' : 'requested';
  return ran
    ? 'requested, and passed to the tool unchanged'
    : 'requested; the tool would receive it unchanged';
}

function describeEffective({ inputForm, attempt }: Call): string {
  const got = attempt > 0 ? 'the input that the tool received' : 'the input that the tool would receive';
  if (inputForm === 'typed') return `effective: a rendering of ${got}, which JSON cannot represent`;
  return inputForm === undefined
    ? 'effective: before defaults and transforms of the schema'
    : `effective: ${got}`;
}

function comparison({ call, now }: CallPageFacts, page: PageLayout): string[] {
  const unasked = comparisonOf(call);
  if (unasked !== undefined) return comparisonSection(unasked, page, now);
  return call.status === 'held' && call.preview === undefined
    ? comparisonSection(call.confirmation?.comparison ?? 'none', page, now)
    : [];
}

function preview({ preview: shown }: Call, page: PageLayout): string[] {
  if (shown === undefined) return [];
  const until = shown.expiresAt === undefined ? '' : `, valid until ${localTimeText(shown.expiresAt)}`;
  return [
    page.paint('dim', `revision ${shown.revision}${shown.ready ? '' : ', not final'}${until}`),
    ...previewLines(shown.preview, page, 'start'),
  ];
}

/** Workers that claimed the call and their reports. Digests of tokens are not shown. */
const handoff = (events: readonly CallEvent[], page: PageLayout): string[] =>
  events.flatMap((event) => {
    if (event.type !== 'tool.reported') return [];
    const { what, worker, identity, attempt } = event;
    const who = describePerson({ name: worker, identity });
    const when = `${localTimeText(event.at)}, attempt ${attempt}`;
    switch (what.type) {
      case 'claimed': {
        const until = what.expiresAt === undefined ? '' : `, until ${localTimeText(what.expiresAt)}`;
        return labelled('claimed by', `${who}: ${when}${until}`, page);
      }
      case 'given':
        return labelled('reported by', `${who}: ${when}`, page);
      case 'differs':
        return labelled('reported by', `${who}: ${when}, a different result`, page);
    }
  });

function undo(
  { call: { undone, settled, callId, sessionId }, now }: CallPageFacts,
  page: PageLayout,
): string[] {
  if (undone !== undefined)
    return [
      ...labelled('undone by', `${describeDecider(undone.by)}, ${localTimeText(undone.at)}`, page),
      ...(undone.reason === undefined ? [] : labelled('reason', undone.reason, page)),
      ...labelled('by call', undone.undoCallId, page),
    ];
  const handle = settled !== undefined && 'undo' in settled.outcome ? settled.outcome.undo : undefined;
  if (handle === undefined) return [];
  if (handle.until !== undefined && now >= handle.until)
    return [page.paint('dim', `could be undone until ${localTimeText(handle.until)}`)];
  const until = handle.until === undefined ? '' : ` until ${localTimeText(handle.until)}`;
  return paragraph(
    `It can be undone${until}, by a runtime that has the tool: runtime.calls.undo(${JSON.stringify({ sessionId: terminalId(sessionId), callId: terminalId(callId) })}, { by }).`,
    page,
  );
}

function modelContent({ settled }: Call, page: PageLayout): string[] {
  if (settled === undefined) return [page.paint('dim', 'nothing yet')];
  const { outcome, content } = settled;
  const files = 'files' in outcome ? (outcome.files ?? []) : [];
  return [
    ...block(safeSentence(content), page),
    ...(outcome.modelNote === undefined ? [] : labelled('note', outcome.modelNote, page)),
    ...files.flatMap((file) =>
      labelled('file', `${file.name ?? file.artifactId}, ${file.mimeType}, ${file.sizeBytes} bytes`, page),
    ),
    ...(outcome.type === 'ToolArtifactReference'
      ? labelled('artifact', `${outcome.artifactId}, ${outcome.sizeBytes} bytes`, page)
      : []),
  ];
}

const late = ({ late: results }: Call, page: PageLayout): string[] =>
  results.flatMap(({ attempt, elapsedMs, result }) => [
    `attempt ${attempt} ${result.type} after ${duration(elapsedMs)}`,
    ...(result.type === 'returned' ? json(result.output, page) : block(safeSentence(result.error), page)),
  ]);

const records = (events: readonly (CallEvent | CallNotAccepted)[], page: PageLayout): string[] =>
  projectAudit(events).flatMap(({ at, outcome, decidedBy }) => {
    const what =
      'reason' in outcome
        ? outcome.reason
        : 'description' in outcome
          ? outcome.description
          : 'boundary' in outcome
            ? `${outcome.boundary}: ${outcome.error}`
            : ToolAuditOutcome.result(outcome)?.success === false
              ? 'not successful'
              : '';
    const by = decidedBy === undefined ? '' : `by ${describeDecider(decidedBy)}`;
    const text = [what, by].filter(Boolean).join(' · ');
    const start = `${localTimeText(at).slice(11)}  ${fit(outcome.kind, 21)}  `;
    return [`${start}${page.paint('dim', trim(terminalText(text), page.textWidth - start.length))}`];
  });

function resolution({ call, summary }: CallPageFacts, page: PageLayout): string[] {
  const found = call.resolution;
  if (found !== undefined)
    return [
      ...labelled(
        'found',
        `${found.resolution}, by ${describeDecider(found.by)}, ${localTimeText(found.at)}`,
        page,
      ),
      ...(found.reason === undefined ? [] : labelled('reason', found.reason, page)),
      ...(found.result === undefined ? [] : json(found.result, page)),
    ];
  if (!summary.unresolved) return [];
  return [
    page.paint('yellow', 'It is unknown whether its effect happened.'),
    ...paragraph(reasonOf('tool.indeterminate').whatToDo, page),
    `quittance reconcile ${shellWord(terminalId(call.callId))} --as succeeded --by NAME --reason WHY`,
  ];
}

/** A ledger may come from elsewhere, so the stored text is checked again. */
function traceIdIn(stored: string | undefined): string | undefined {
  const traceparent = readTraceparent(stored);
  return traceparent && traceIdsOf(traceparent).traceId;
}

/** Every confirmation of a call and its decision. */

function confirmationLines(events: readonly CallEvent[], page: PageLayout): string[] {
  const lines: string[] = [];
  let input: JsonValue = null;
  let open: ToolHeld | undefined;
  let votes: readonly Vote[] = [];
  for (const event of events)
    switch (event.type) {
      case 'tool.requested':
        input = event.requestedInput;
        break;
      case 'tool.decided':
        input = event.effectiveInput ?? input;
        break;
      case 'tool.held':
        if (lines.length > 0) lines.push('');
        open = event;
        votes = [];
        lines.push(...held(event, page));
        break;
      case 'confirmation.decided':
        open = undefined;
        lines.push(...decidedLines(event, input, page), ...voidLines(event, page));
        input = event.editedInput ?? input;
        break;
      case 'confirmation.voted':
        lines.push(...votedLines(event, input, page), ...voidLines(event, page));
        votes = withVote(withoutFallen({ votes, fallen: [] }, event.fallen).votes, event);
        input = event.editedInput ?? input;
        break;
      case 'confirmation.reminded':
        lines.push(
          ...labelled(
            event.kind === 'reminder' ? 'reminded' : 'escalated',
            `${localTimeText(event.dueAt)}; missing ${event.missing.join('; ')}`,
            page,
          ),
        );
        break;
      case 'confirmation.expired': {
        open = undefined;
        const effect = event.effect === 'allow' ? 'so the call was allowed' : 'so the call did not run';
        lines.push(...labelled('answer', `none, expired, ${effect}`, page));
        break;
      }
      case 'confirmation.withdrawn':
        open = undefined;
        lines.push(...labelled('answer', `none: withdrawn, ${event.reason}`, page));
        break;
      case 'tool.recalled':
      case 'tool.previewed':
      case 'tool.started':
      case 'tool.responded':
      case 'tool.late':
      case 'retry.requested':
      case 'tool.taken_over':
      case 'tool.reported':
      case 'tool.resolved':
      case 'tool.undone':
      case 'persistence.failed':
      case 'runtime.budget_exhausted':
        break;
      default:
        event satisfies never;
    }
  if (open !== undefined)
    lines.push(
      ...(hasPolicy(open.asks)
        ? labelled('missing', describeMissing(missingOf({ asks: open.asks, askedAt: open.at }, votes)), page)
        : []),
      page.paint('yellow', 'Awaiting approval:'),
      `quittance approve ${shellWord(terminalText(open.confirmationId))} --by NAME`,
    );
  return lines;
}

/** The earlier votes that this act found void. */
const voidLines = ({ fallen = [] }: ConfirmationDecided | ConfirmationVoted, page: PageLayout): string[] =>
  fallen.flatMap((each) => fallenLines(each, page));

/** The decision that ended a question. */
function decidedLines(event: ConfirmationDecided, input: JsonValue, page: PageLayout): string[] {
  const by = describeDecider(event.by);
  const why = event.reason === undefined ? '' : `: ${event.reason}`;
  const optional = (label: string, text: string | undefined): string[] =>
    text === undefined ? [] : labelled(label, text, page);
  return [
    ...labelled('answer', `${decisionWords[event.decision]} by ${by}${why}`, page),
    ...labelled('at', localTimeText(event.at), page),
    ...(event.receivedAt === undefined
      ? []
      : labelled('received', `${localTimeText(event.receivedAt)}, before it expired`, page)),
    ...optional('told', event.response),
    ...(event.editedInput === undefined
      ? []
      : differenceLines(inputDifference(input, event.editedInput), page)),
    ...optional('approved', event.editedDigest),
  ];
}

/** One person's act on a question that needs more people. */
function votedLines(event: ConfirmationVoted, input: JsonValue, page: PageLayout): string[] {
  const why = event.reason === undefined ? '' : `: ${event.reason}`;
  return [
    ...labelled('partial', `${decisionWords[event.decision]} by ${describeDecider(event.by)}${why}`, page),
    ...labelled('at', localTimeText(event.at), page),
    ...(event.editedInput === undefined
      ? []
      : differenceLines(inputDifference(input, event.editedInput), page)),
    ...(event.editedDigest === undefined ? [] : labelled('approved', event.editedDigest, page)),
  ];
}

const held = (event: ToolHeld, page: PageLayout): string[] => [
  ...question(event.description, page),
  ...event.asks.flatMap((ask) => askLines(ask, page)),
  ...(event.risk.length === 0 ? [] : labelled('risk', event.risk.join(', '), page)),
  ...(event.expiresAt === undefined
    ? []
    : labelled(
        'expires',
        `${localTimeText(event.expiresAt)}, ${event.timeoutEffect === 'allow' ? 'then it is allowed' : 'then it is denied'}`,
        page,
      )),
  ...labelled('for input', event.inputDigest, page),
  ...(event.revision === undefined ? [] : labelled('for revision', String(event.revision), page)),
  ...labelled('question', event.confirmationId, page),
];

/** Bars to scale: the start and the duration of each stage. */
function timelineLines(events: readonly CallEvent[], page: PageLayout): string[] {
  const spans = callTimeline(events);
  const end = Math.max(0.1, ...spans.map(({ from, ms }) => from + (ms ?? 0)));
  const nameWidth = Math.max(0, ...spans.map(({ name, nested }) => textWidth(name) + (nested ? 2 : 0)));
  const barWidth = Math.max(10, Math.min(32, Math.floor((page.textWidth - nameWidth) / 3)));
  const noteWidth = page.textWidth - nameWidth - 2 - 9 - 2 - barWidth - 2;
  return spans.map((span) => {
    const note = trim(terminalText(span.note), noteWidth);
    const took =
      span.ms === undefined
        ? '…'
        : span.ms === 0 && span.nested
          ? ''
          : span.ms === 0
            ? `+${duration(span.from)}`
            : duration(span.ms);
    return [
      fit(`${span.nested ? '  ' : ''}${terminalText(span.name)}`, nameWidth),
      fit(took, 9, 'right'),
      page.paint('cyan', bar(span, end, barWidth)),
      page.paint('dim', note),
    ].join('  ');
  });
}

function bar({ from, ms, nested }: CallSpan, end: number, width: number): string {
  if (nested && ms === 0) return ' '.repeat(width);
  const start = Math.min(width - 1, Math.floor((from / end) * width));
  const length = ms === undefined ? width - start : Math.max(1, Math.round((ms / end) * width));
  const mark = ms === 0 ? '◆' : (ms === undefined ? '░' : '█').repeat(Math.min(length, width - start));
  return fit(' '.repeat(start) + mark, width);
}
