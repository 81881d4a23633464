import { checkObject } from '../base/check-keys.ts';
import { contentBytes, contentDigest } from '../base/content-digest.ts';
import { QuittanceError } from '../base/error.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject } from '../base/json.ts';
import { attachedFilesOf } from '../call/attached-files.ts';
import type { Call } from '../call/call.ts';
import { acceptedInputOf } from '../call/call.ts';
import type {
  CallEvent,
  LogLine,
  QuittanceEvent,
  ToolResponded,
  ConfirmationDecided,
  ToolDecided,
  ToolHeld,
  ToolPreviewed,
} from '../call/event.ts';
import { foldCall } from '../call/evolve.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import { outcomeFromWire, outcomeToWire } from '../call/outcome-wire.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { isCallEvent } from '../ledger/fold-stored.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { renameTexts } from './artifact-names.ts';
import type {
  Cassette,
  CassetteArtifact,
  RecordedCall,
  RecordedLate,
  RecordedRun,
  RecordedAnswer,
  RecordedPreview,
  RecordedVersion,
} from './cassette.ts';
import { outputArtifactOf } from './output-artifact.ts';
import { countedIdentity } from '../call/counted-identity.ts';
import { hasPolicy, isFallen } from '../call/quorum.ts';
import { readWholeArtifact } from '../ledger/reads.ts';

/** The slice of a ledger to record. */
export type CassetteSlice = {
  readonly sessionId: string;
  /** Only these calls. Each must exist and have ended. */
  readonly callIds?: readonly string[];
  /** Only calls requested before this call. */
  readonly until?: string;
};

export type RecordCassetteOptions = {
  /** The current tools, for ledgers that do not record the schemas of calls. */
  readonly tools?: readonly AnyTool[];
  /** Larger artifacts are recorded by their digest only. Default: one million. */
  readonly maxArtifactBytes?: number;
};

/**
 * Records a slice of a ledger as a cassette, without calls that have no outcome. Redacted values stay redacted:
 * nothing sealed is opened.
 */
export async function recordCassette(
  ledger: Pick<
    Ledger,
    'append' | 'readCall' | 'readSession' | 'query' | 'whenChanged' | 'readArtifact' | 'now'
  >,
  slice: CassetteSlice,
  options: RecordCassetteOptions = {},
): Promise<Cassette> {
  checkObject('recordCassette', slice);
  checkObject('The options of recordCassette', options);
  const { tools = [], maxArtifactBytes = 1_000_000 } = options;
  const { sessionId } = slice;
  const chosen = choose(byCall(await ledger.readSession(sessionId)), slice);
  const turns = numbersOf(chosen.map(([first]) => first?.turnId ?? ''));
  const digests = new Map(tools.map(({ name, schemaDigest }) => [name, schemaDigest]));
  const recorded = chosen.flatMap((events) => recordCall(events, turns, digests) ?? []);
  const named = new Map<string, string>();
  for (const artifactId of recorded.flatMap(artifactsOf))
    if (!named.has(artifactId)) named.set(artifactId, `artifact-${named.size + 1}`);
  const artifacts: CassetteArtifact[] = [];
  for (const [artifactId, name] of named) {
    const artifact = await readWholeArtifact(ledger, sessionId, artifactId);
    if (artifact === undefined) continue;
    const { content, mimeType } = artifact;
    const sizeBytes = contentBytes(content).byteLength;
    artifacts.push({
      artifactId: name,
      mimeType,
      digest: contentDigest(content),
      sizeBytes,
      content: sizeBytes <= maxArtifactBytes ? content : undefined,
    });
  }
  const lastDigest = (name: string): string | undefined =>
    recorded.findLast(({ toolName, schemaDigest }) => toolName === name && schemaDigest !== undefined)
      ?.schemaDigest;
  return {
    sessionId,
    createdAt: ledger.now(),
    tools: [...new Set(recorded.map(({ toolName }) => toolName))]
      .toSorted()
      .map((name) => ({ name, schemaDigest: lastDigest(name) })),
    artifacts,
    calls: recorded.map((call) => renameIn(call, named)),
  };
}

/** The events of each call, in the order of their requests. */
export function byCall(events: readonly QuittanceEvent[]): readonly (readonly CallEvent[])[] {
  const calls = new Map<string, CallEvent[]>();
  for (const event of events) {
    if (!isCallEvent(event)) continue;
    const known = calls.get(event.callId);
    if (known === undefined) calls.set(event.callId, [event]);
    else known.push(event);
  }
  return [...calls.values()];
}

function choose(
  calls: readonly (readonly CallEvent[])[],
  { sessionId, callIds, until }: CassetteSlice,
): readonly (readonly CallEvent[])[] {
  const ids = calls.map(([first]) => first?.callId);
  for (const wanted of [...(callIds ?? []), ...(until === undefined ? [] : [until])])
    if (!ids.includes(wanted))
      throw new QuittanceError(
        'call.unknown',
        `Session ${JSON.stringify(sessionId)} has no call ${JSON.stringify(wanted)}.`,
        { sessionId, callId: wanted },
      );
  if (calls.length === 0)
    throw new QuittanceError(
      'call.unknown',
      `This ledger has no calls of session ${JSON.stringify(sessionId)}.`,
      { sessionId },
    );
  const upTo = until === undefined ? calls : calls.slice(0, ids.indexOf(until));
  return callIds === undefined
    ? upTo
    : upTo.filter(([first]) => first !== undefined && callIds.includes(first.callId));
}

function numbersOf(turnIds: readonly string[]): ReadonlyMap<string, number> {
  return new Map([...new Set(turnIds)].map((turnId, index) => [turnId, index + 1]));
}

/** Undefined for a call that has not ended. */
function recordCall(
  events: readonly CallEvent[],
  turns: ReadonlyMap<string, number>,
  digests: ReadonlyMap<string, string>,
): RecordedCall | undefined {
  const call = foldCall(events);
  if (call?.settled === undefined) return undefined;
  const late = call.late.at(-1)?.result;
  const [first] = events;
  const digest = first?.type === 'tool.requested' ? first.schemaDigest : undefined;
  return {
    callId: call.callId,
    turn: turns.get(call.turnId) ?? 1,
    toolName: call.toolName,
    schemaDigest: digest ?? digests.get(call.toolName),
    policyVersion: call.policyVersion,
    requestedInput: call.requestedInput,
    effectiveInput: acceptedOf(call),
    hidden: call.hidden,
    ...recordBefore(events),
    runs: recordRuns(events, late),
    outcome: call.settled.outcome,
  };
}

/**
 * The input that the schema accepted, if it is not the requested one. In a replay, the tool's schema produces it
 * again.
 */
function acceptedOf(call: Call): JsonObject | undefined {
  const accepted = acceptedInputOf(call);
  return accepted === call.requestedInput || !isJsonObject(accepted) ? undefined : accepted;
}

function recordRuns(events: readonly CallEvent[], late: RecordedLate | undefined): readonly RecordedRun[] {
  const runs: RecordedRun[] = [];
  let unkept: RecordedRun['unkept'] = [];
  for (const event of events)
    // A storage failure is recorded together with the end it belongs to.
    if (event.type === 'persistence.failed')
      unkept = [...unkept, { boundary: event.boundary, error: event.error, keptIn: event.keptIn }];
    else if (event.type === 'tool.responded' && event.attempt > 0) {
      const reportedAgain = event.final ? events.flatMap(toReportedAgain) : [];
      runs.push({ ...toRun(event, event.final ? late : undefined), reportedAgain, unkept });
      unkept = [];
    }
  // Later ones are about late results.
  return runs;
}

const toReportedAgain = (event: CallEvent): readonly string[] =>
  event.type === 'tool.recalled' && event.how === 'replayed' ? [event.details] : [];

function toRun(
  event: ToolResponded,
  late: RecordedLate | undefined,
): Omit<RecordedRun, 'reportedAgain' | 'unkept'> {
  const { outcome, unsettledEffect: unsettled, costMicros, reached, log, payloadExtras, rules } = event;
  const partial = outcome.type === 'ToolFailure' ? undefined : payloadExtras?.['partial'];
  return {
    outcome,
    unsettled,
    costMicros,
    reached,
    log: log.map(withoutTime),
    partial: isJsonObject(partial) ? partial : undefined,
    late: late?.type === 'returned' ? { type: 'returned', output: late.output } : late,
    rules,
  };
}

const withoutTime = ({ message, fields }: LogLine): Omit<LogLine, 'at'> => ({
  message,
  ...(fields !== undefined && { fields }),
});

/** The artifacts that an outcome names, in order. */
function artifactsOf({ runs, outcome }: RecordedCall): readonly string[] {
  return [...runs.map((run) => run.outcome), outcome].flatMap((each) => {
    switch (each.type) {
      case 'ToolArtifactReference':
        return [...filesOf(each), each.artifactId];
      case 'ToolExecutionResult':
        return filesOf(each);
      case 'ToolFailure':
        return [
          ...(attachedFilesOf(each.payloadExtras)?.files ?? []).map(({ artifactId }) => artifactId),
          ...[outputArtifactOf(each.payloadExtras) ?? []].flat(),
        ];
      case 'ToolTimeout':
      case 'ToolDenied':
        return [];
    }
  });
}

const filesOf = ({ files = [] }: Extract<ToolOutcome, { files?: unknown }>): readonly string[] =>
  files.map(({ artifactId }) => artifactId);

function renameIn(call: RecordedCall, names: ReadonlyMap<string, string>): RecordedCall {
  if (names.size === 0) return call;
  const rename = <Value extends JsonValue>(value: Value): Value =>
    // Renaming texts changes no other part of a value.
    renameTexts(value, names) as Value;
  const outcome = (each: ToolOutcome): ToolOutcome => outcomeFromWire(rename(outcomeToWire(each)));
  return {
    ...call,
    requestedInput: rename(call.requestedInput),
    effectiveInput: call.effectiveInput && rename(call.effectiveInput),
    previews: call.previews.map((each) => ({ ...each, input: each.input && rename(each.input) })),
    answers: call.answers.map((each) => ({
      ...each,
      input: each.input && rename(each.input),
      ...('arguments' in each && { arguments: rename(each.arguments) }),
    })),
    runs: call.runs.map((run) => ({ ...run, outcome: outcome(run.outcome) })),
    outcome: outcome(call.outcome),
  };
}

/** Records what happened to a call before its tool ran: previews, confirmations and their decisions. */

function recordBefore(events: readonly CallEvent[]): Pick<RecordedCall, 'previews' | 'answers'> {
  const answers: RecordedAnswer[] = [];
  const previews: (RecordedPreview & { readonly operationId: string | undefined })[] = [];
  let displayName = '';
  let input: JsonObject | undefined;
  let shown = 0;
  let held: ToolHeld | undefined;
  const fallen = events.flatMap((event) =>
    event.type === 'confirmation.voted' || event.type === 'confirmation.decided' ? (event.fallen ?? []) : [],
  );
  for (const event of events)
    switch (event.type) {
      case 'tool.requested':
        ({ displayName } = event);
        break;
      case 'tool.decided':
        if (event.inputDigest !== undefined) input = acceptedIn(event) ?? input;
        // A preview before a decision belongs to the input of that decision.
        previews.push(...previews.splice(shown).map((preview) => ({ ...preview, input })));
        shown = previews.length;
        break;
      case 'tool.previewed': {
        const last = previews.at(-1);
        const version = toVersion(event);
        if (last !== undefined && last.operationId === event.operationId)
          previews[previews.length - 1] = { ...last, versions: [...last.versions, version] };
        else
          previews.push({ operationId: event.operationId, input, versions: [version], problem: undefined });
        break;
      }
      case 'tool.held':
        held = event;
        break;
      case 'confirmation.voted':
        // A replay has no rights that could end, so a vote that fell is not given again.
        if (!fallen.some((each) => isFallen(event, each)))
          answers.push({ input, ...identityOf(event), ...toAnswer({ ...event, response: undefined }) });
        // Later answers are about the edited arguments.
        if (event.editedInput !== undefined) input = event.editedAccepted ?? event.editedInput;
        break;
      case 'confirmation.decided':
        answers.push({ input, ...(isShared(held) && identityOf(event)), ...toAnswer(event) });
        held = undefined;
        break;
      case 'confirmation.expired':
        // An approval that was not used in time still counts as a decision.
        if (held !== undefined)
          answers.push({ input, decision: 'expired', afterMs: Math.max(0, event.at - held.at) });
        held = undefined;
        break;
      case 'confirmation.withdrawn':
        if (held !== undefined) answers.push({ input, decision: 'withdrawn' });
        held = undefined;
        break;
      case 'tool.responded': {
        const problem = previewProblem(event, displayName);
        if (problem === undefined) break;
        const last = previews.at(-1);
        // A decision followed the final version; a later preview is a new try.
        if (last !== undefined && isDraft(events, last.operationId))
          previews[previews.length - 1] = { ...last, problem };
        else previews.push({ operationId: undefined, input, versions: [], problem });
        break;
      }
      case 'confirmation.reminded':
      case 'tool.started':
      case 'tool.late':
      case 'tool.recalled':
      case 'tool.taken_over':
      case 'tool.reported':
      case 'tool.resolved':
      case 'tool.undone':
      case 'persistence.failed':
      case 'retry.requested':
      case 'runtime.budget_exhausted':
        break;
      default:
        event satisfies never;
    }
  return {
    answers,
    previews: previews.map(({ input: about, versions, problem }) => ({ input: about, versions, problem })),
  };
}

/** The input that the schema accepted, if it is not the requested one. A decision after an edit does not repeat it. */
const acceptedIn = ({
  acceptedInput,
  effectiveInput,
  changes,
  inputForm,
}: ToolDecided): JsonObject | undefined =>
  acceptedInput ?? (changes.length > 0 || inputForm === undefined ? effectiveInput : undefined);

const toVersion = ({ preview, snapshot, expiresAt, at }: ToolPreviewed): RecordedVersion => ({
  preview,
  snapshot,
  expiresInMs: expiresAt === undefined ? undefined : Math.max(0, expiresAt - at),
});

const isDraft = (events: readonly CallEvent[], operationId: string | undefined): boolean =>
  !events.some(
    (event) => event.type === 'tool.previewed' && event.operationId === operationId && event.ready,
  );

type Answer = RecordedAnswer extends infer Each
  ? Each extends unknown
    ? Omit<Each, 'input'>
    : never
  : never;

/** Does a rule say who must approve? */
const isShared = (held: ToolHeld | undefined): boolean => held !== undefined && hasPolicy(held.asks);

/** A delegate is recorded as the person they acted for, because a replay has no delegations. */
const identityOf = ({ by }: Pick<ConfirmationDecided, 'by'>): Pick<RecordedAnswer, 'identity'> => ({
  identity: by.behalf?.at(-1)?.identity ?? countedIdentity(by.identity),
});

type Answered = Pick<
  ConfirmationDecided,
  'decision' | 'by' | 'reason' | 'response' | 'editedAccepted' | 'editedInput'
>;

function toAnswer(decided: Answered): Answer {
  const { decision, by, reason, response } = decided;
  const editedInput = decided.editedAccepted ?? decided.editedInput;
  if (by.type !== 'person') return { decision: 'deny', by: undefined, reason };
  switch (decision) {
    case 'approve':
    case 'deny':
      return { decision, by: by.name, reason };
    case 'edit':
      // An edit with erased arguments can only be replayed as an approval.
      return isJsonObject(editedInput)
        ? { decision, by: by.name, reason, arguments: editedInput }
        : { decision: 'approve', by: by.name, reason };
    case 'respond':
      return { decision, by: by.name, reason, response: response ?? '' };
  }
}

/** The problem of a preview, from the outcome of the call. */
function previewProblem({ outcome }: ToolResponded, displayName: string): string | undefined {
  if (outcome.type !== 'ToolDenied' || outcome.code !== 'preview.failed') return undefined;
  const before = `The preview of "${displayName}" `;
  const { details } = outcome;
  return details.startsWith(before) && details.endsWith('.') ? details.slice(before.length, -1) : 'failed';
}
