/**
 * A call in the form in which two sessions are compared: its decisions and results, without ids and times, which
 * differ in every run. Repeated requests are part of it. Facts found after its end (late results, resolutions) are
 * not.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import { toJson } from '../base/json.ts';
import { attachedFilesOf } from '../call/attached-files.ts';
import { projectAudit } from '../call/audit-projection.ts';
import type {
  CallEvent,
  DecidedBy,
  Preview,
  RuleMark,
  ToolDecided,
  ToolHeld,
  ToolRequested,
  ToolResponded,
  ConfirmationDecided,
  ConfirmationVoted,
} from '../call/event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { isKnownEvent } from '../ledger/formats/v1/event-table.ts';
import type { ReadEvent } from '../ledger/unknown-event.ts';

export type DiffedCall = {
  readonly callId: string;
  readonly toolName: string;
  readonly requestedAt: number;
  /** Undefined while it has no outcome. */
  readonly settledAt: number | undefined;
  /** Stored form of the requested arguments. */
  readonly requestedInput: JsonValue;
  /** The compared fields. */
  readonly fields: { readonly [field: string]: JsonValue };
  /** Digest of the executed form; keyed with the ledger's key if something is redacted. */
  readonly digest: string;
  readonly hidden: boolean;
  /** Artifacts it made, in order. */
  readonly artifactIds: readonly string[];
  readonly outcome: ToolOutcome['type'] | undefined;
};

/** The calls of a session in the order of their requests. Events of unknown types are skipped. */
export function toCallViews(events: Iterable<ReadEvent>): readonly DiffedCall[] {
  const calls = new Map<string, CallEvent[]>();
  for (const event of events) {
    if (!isKnownEvent(event) || !('callId' in event)) continue;
    const known = calls.get(event.callId);
    if (known !== undefined) known.push(event);
    else if (event.type === 'tool.requested') calls.set(event.callId, [event]);
  }
  return [...calls.values()].map(toView);
}

type Draft = {
  -readonly [Name in keyof DiffedCall]: DiffedCall[Name];
} & { fields: { [field: string]: JsonValue } };

function toView(events: readonly CallEvent[]): DiffedCall {
  const [first] = events;
  if (first?.type !== 'tool.requested') throw new TypeError('A call begins with tool.requested.');
  const decisions: JsonValue[] = [];
  const questions: { [name: string]: JsonValue }[] = [];
  const tries: JsonValue[] = [];
  const budgets: JsonValue[] = [];
  const draft = draftOf(first);
  const { fields } = draft;
  let conflicts = 0;
  for (const event of events)
    switch (event.type) {
      case 'tool.decided':
        decisions.push(decisionOf(event));
        if (event.effectiveInput !== undefined) fields['effective_arguments'] = event.effectiveInput;
        if (event.changes.length > 0) fields['coercions'] = event.changes;
        if (event.inputDigest !== undefined) draft.digest = event.inputDigest;
        break;
      case 'tool.held':
        questions.push(questionOf(event));
        break;
      case 'confirmation.decided':
        answer(questions, {
          ...actOf(event),
          ...(event.response !== undefined && { response: event.response }),
        });
        break;
      case 'confirmation.voted':
        vote(questions, actOf(event));
        break;
      case 'confirmation.expired':
        answer(questions, { decision: `expired, ${event.effect}` });
        break;
      case 'confirmation.withdrawn':
        answer(questions, { decision: 'withdrawn', reason: event.reason });
        break;
      case 'runtime.budget_exhausted':
        budgets.push({ metric: event.metric, limit: event.limit, used: event.used });
        break;
      case 'tool.responded':
        if (event.final) settle(draft, event);
        else tries.push(plainOutcome(event.outcome));
        break;
      case 'tool.recalled':
        // The outcome was copied from another call with the same key.
        if (event.how === 'cached' && draft.outcome === undefined) fields['copied_from'] = event.fromCallId;
        if (event.how === 'conflict') conflicts++;
        break;
      case 'tool.previewed':
        if (event.ready) fields['preview'] = { shown: toShown(event.preview), snapshot: event.snapshot };
        break;
      case 'confirmation.reminded':
      case 'tool.requested':
      case 'tool.started':
      case 'tool.late':
      case 'retry.requested':
      case 'tool.taken_over':
      case 'tool.reported':
      case 'tool.undone':
      case 'tool.resolved':
      case 'persistence.failed':
        break;
      default:
        event satisfies never;
    }
  fields['decisions'] = decisions;
  fields['audit'] = projectAudit(events).map(({ outcome }) => outcome.kind);
  if (conflicts > 0) fields['conflicts'] = conflicts;
  if (questions.length > 0) fields['questions'] = questions;
  if (tries.length > 0) fields['earlier_attempts'] = tries;
  if (budgets.length > 0) fields['budgets'] = budgets;
  return draft;
}

/** What a person did with a question. */
const actOf = ({
  decision,
  by,
  reason,
  editedInput,
}: ConfirmationDecided | ConfirmationVoted): { readonly [field: string]: JsonValue } => ({
  decision,
  by: byOf(by),
  ...(reason !== undefined && { reason }),
  ...(editedInput !== undefined && { arguments: editedInput }),
});

function draftOf(first: ToolRequested): Draft {
  return {
    callId: first.callId,
    toolName: first.toolName,
    requestedAt: first.at,
    settledAt: undefined,
    requestedInput: first.requestedInput,
    digest: first.requestDigest,
    hidden: first.hidden.length > 0,
    artifactIds: [],
    outcome: undefined,
    fields: {
      tool: first.toolName,
      mode: first.mode,
      arguments: first.requestedInput,
      hidden: first.hidden,
      ...metadataOf(first),
    },
  };
}

/** The conversation is shown to approvers. Only its effects are differences. */
function metadataOf({ attrs }: ToolRequested): { readonly metadata?: JsonObject } {
  if (attrs === undefined) return {};
  const { conversation: _, ...metadata } = attrs;
  return Object.keys(metadata).length === 0 ? {} : { metadata };
}

function settle(draft: Draft, event: ToolResponded): void {
  const { outcome, content } = event;
  const { fields } = draft;
  Object.assign(fields, plainOutcome(outcome));
  fields['content'] = content;
  fields['attempts'] = event.attempt;
  fields['cost_micros'] = event.costMicros;
  if (event.toolSuccess !== undefined) fields['tool_success'] = event.toolSuccess;
  if (event.reached.length > 0) fields['reached'] = event.reached;
  if (event.rules.length > 0) fields['output_rules'] = event.rules.map(markOf);
  draft.outcome = outcome.type;
  draft.settledAt = event.at;
  const files =
    'files' in outcome
      ? (outcome.files ?? [])
      : outcome.type === 'ToolFailure'
        ? (attachedFilesOf(outcome.payloadExtras)?.files ?? [])
        : [];
  draft.artifactIds = [
    ...(outcome.type === 'ToolArtifactReference' ? [outcome.artifactId] : []),
    ...files.map(({ artifactId }) => artifactId),
  ];
}

const toShown = (preview: Preview): JsonValue => {
  const copy = toJson(preview);
  return copy.ok ? copy.value : null;
};

/** An outcome without the values that differ in every run. */
function plainOutcome(outcome: ToolOutcome): JsonObject {
  const { type, ...rest } = outcome;
  const plain: { [name: string]: unknown } = { outcome: type };
  for (const [name, value] of Object.entries(rest))
    if (!ofOneRun.has(name))
      plain[snake(name)] =
        name === 'files' ? (value as FilesOf).map(plainFile) : name === 'undo' ? value !== undefined : value;
  // An outcome is JSON except for absent members.
  const copy = toJson(plain);
  return copy.ok ? (copy.value as JsonObject) : { outcome: type };
}

const ofOneRun: ReadonlySet<string> = new Set([
  'callId',
  'toolName',
  'elapsedMs',
  'deadlineMs',
  'artifactId',
]);

type FilesOf = NonNullable<Extract<ToolOutcome, { type: 'ToolExecutionResult' }>['files']>;
const plainFile = (file: FilesOf[number]): unknown => ({ ...file, artifactId: undefined });

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const decisionOf = ({ decision, decidedBy, rules, sideEffect }: ToolDecided): JsonObject => ({
  decision,
  ...(decidedBy !== undefined && { by: byOf(decidedBy) }),
  ...(rules.length > 0 && { rules: rules.map(markOf) }),
  ...(sideEffect !== undefined && { side_effect: sideEffect }),
});

const byOf = ({ type, name }: DecidedBy): string => `${type} ${name}`;

const markOf = ({ ruleId, action, message, tags, observed, policyError }: RuleMark): JsonObject => ({
  rule: ruleId,
  action,
  message,
  ...(tags !== undefined && { tags }),
  ...(observed === true && { observed }),
  ...(policyError === true && { policy_error: policyError }),
});

const questionOf = ({ description, asks }: ToolHeld): { [name: string]: JsonValue } => ({
  description,
  asks: asks.map((ask) => ({
    by: byOf(ask.by),
    description: ask.description,
    ...(ask.code !== undefined && { code: ask.code }),
    ...(ask.stage !== undefined && { stage: `${ask.stage.workflow}/${ask.stage.stageId}` }),
  })),
});

/** One of several people who must approve. */
function vote(questions: { [name: string]: JsonValue }[], said: JsonObject): void {
  const last = questions.at(-1);
  if (last === undefined) return;
  const votes = last['votes'];
  last['votes'] = [...(Array.isArray(votes) ? (votes as readonly JsonValue[]) : []), said];
}

function answer(questions: { [name: string]: JsonValue }[], said: JsonObject): void {
  const last = questions.at(-1);
  if (last !== undefined) last['answer'] = said;
}
