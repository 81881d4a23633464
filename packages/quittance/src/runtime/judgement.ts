/**
 * The judgement of a body that ran: its outcome, redacted, frozen and with large output in artifacts. Also the marks of
 * recorded bodies, the rules on results, and whether a repeat of the call is safe.
 */
import { latestInstant } from '../base/deadlines.ts';
import { contentDigest } from '../base/content-digest.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import { endSentence } from '../base/end-sentence.ts';
import { freezeJson, isJsonObject } from '../base/json.ts';
import { attachedFilesToExtra } from '../call/attached-files.ts';
import type { RuleMark } from '../call/events/gate-event.ts';
import type { EventDataOf } from '../call/event-data.ts';
import { outcomeToModelContent } from '../call/model-content.ts';
import type {
  OutputFile,
  ToolExecutionResult,
  ToolOutcome,
  UndoHandle,
  ToolTimeout,
  ToolFailure,
  ToolResult,
} from '../call/outcome.ts';
import type { ReasonCode } from '../call/reason.ts';
import { cutText } from '../base/cut-text.ts';
import type { BodyContext, NamedAttachment } from './body-context.ts';
import type { CheckedCall } from './active-call.ts';
import { logProblem, modelNote } from './active-call.ts';
import { clean, cleanObject, cleanOutput, cleanBytes, inputExtra } from './call-input.ts';
import { LedgerTrouble } from './ledger-trouble.ts';
import { summarize } from './classify-thrown.ts';
import type { PersistenceFailed } from '../call/events/resolution-event.ts';
import type { ToolContext } from '../tool/tool-context.ts';
import type { Policy } from '../policy/judge/compile-policy.ts';
import type { ToolEnd } from '../policy/judge/output-view.ts';
import { toMarks, toPolicyCall } from './contract-rules.ts';
import type { LogLine } from '../call/events/attempt-event.ts';
import { longestLine } from './body-context.ts';
import { leavesDoubt } from '../call/doubt.ts';
import type { AnyTool } from '../tool/define-tool.ts';

export type Judgement = {
  readonly outcome: ToolOutcome;
  /** The content for the model, byte for byte. */
  readonly content: string;
  readonly toolSuccess: boolean | undefined;
  /** The tool's author declared a retry safe, or the failure without effect. */
  readonly repeatIsSafe: boolean;
  /** Rulings about the output. */
  readonly rules: readonly RuleMark[];
  /** The result of the body, if the outcome must say something else. It is stored with the outcome. */
  readonly late?: EventDataOf<'tool.late'>;
};

export type AttemptFacts = {
  readonly remarks: AttemptRemarks;
  readonly context: BodyContext;
  readonly elapsedMs: number;
  readonly deadlineMs: number;
};

const longestError = 4_000;
const noFiles: readonly never[] = Object.freeze([]);

export async function succeed(
  active: CheckedCall,
  output: JsonValue,
  toolMade: boolean,
  facts: AttemptFacts,
): Promise<Judgement> {
  const { engine, tool } = active;
  const kept = cleanOutput(active, output);
  const content = JSON.stringify(kept);
  if (content.length > (tool.inlineLimit ?? engine.inlineLimit) || facts.context.attachments.length > 0)
    return offload(active, kept, content, toolMade, facts);
  return inline(active, kept, content, toolMade, facts, noFiles);
}

function inline(
  active: CheckedCall,
  kept: JsonValue,
  content: string,
  toolMade: boolean,
  { elapsedMs, remarks }: AttemptFacts,
  files: readonly OutputFile[],
): Judgement {
  const plain: ToolExecutionResult = {
    type: 'ToolExecutionResult',
    callId: active.request.id,
    toolName: active.tool.name,
    output: freezeJson(kept),
    elapsedMs,
    wasCoerced: active.journal.call?.wasCoerced ?? false,
  };
  const undo = undoHandle(active, remarks);
  const isPlain = !toolMade && files.length === 0 && undo === nothingToUndo && remarks.notes.length === 0;
  const outcome: ToolOutcome = isPlain
    ? plain
    : {
        ...plain,
        ...(toolMade && { toolResult: asToolResult(kept) }),
        ...(files.length > 0 && { files }),
        ...undo,
        ...modelNote(remarks.notes),
      };
  return {
    outcome: Object.freeze(outcome),
    content,
    toolSuccess: true,
    repeatIsSafe: false,
    rules: remarks.rules,
  };
}

const nothingToUndo = Object.freeze({});

/** States for the record and the model whether a person can undo the call. */
function undoHandle(active: CheckedCall, remarks: AttemptRemarks): { readonly undo?: UndoHandle } {
  const { undo, undoWithinMs } = active.tool;
  if (undo === undefined) return nothingToUndo;
  const until =
    undoWithinMs === undefined
      ? undefined
      : Math.min(active.engine.ledger.now() + Math.floor(undoWithinMs), latestInstant);
  remarks.note(
    `A person can undo this${until === undefined ? '' : ` until ${new Date(until).toISOString()}`}.`,
  );
  return { undo: Object.freeze(until === undefined ? {} : { until }) };
}

/**
 * Stores files and a large output as artifacts. If that fails, the output goes on the record of the call: it
 * is too long for the model and must not be lost.
 */
async function offload(
  active: CheckedCall,
  kept: JsonValue,
  content: string,
  toolMade: boolean,
  facts: AttemptFacts,
): Promise<Judgement> {
  try {
    return await storeOffloaded(active, kept, content, toolMade, facts);
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    const why = cutText(clean(active, error.message), 500);
    active.journal.apply({ type: 'fail_to_persist', boundary: 'artifact', error: why, keptIn: 'record' });
    const reply =
      'The tool ran, but its output could not be stored as an artifact. It is on the record of the call.';
    return fail(
      active,
      { code: 'tool.indeterminate', error: reply, retryable: false, output: kept, whole: true },
      facts,
    );
  }
}

async function storeOffloaded(
  active: CheckedCall,
  kept: JsonValue,
  content: string,
  toolMade: boolean,
  facts: AttemptFacts,
): Promise<Judgement> {
  const { engine, tool, request } = active;
  const { remarks } = facts;
  const files = await keepFiles(active, facts.context);
  if (content.length <= (tool.inlineLimit ?? engine.inlineLimit))
    return inline(active, kept, content, toolMade, facts, files);
  const artifactId = await keepText(active, content);
  // The summary shows only part of a large output, so the tool's message is added as a note.
  const message = isJsonObject(kept) && typeof kept['success'] === 'boolean' ? messageIn(kept) : undefined;
  if (message !== undefined) remarks.note(message);
  const outcome: ToolOutcome = {
    type: 'ToolArtifactReference',
    callId: request.id,
    toolName: tool.name,
    artifactId,
    summary: summarize(content),
    sizeBytes: utf8.encode(content).byteLength,
    digest: contentDigest(content),
    elapsedMs: facts.elapsedMs,
    wasCoerced: active.journal.call?.wasCoerced ?? false,
    ...(toolMade && { toolResult: onlyControls(asToolResult(kept)) }),
    ...(files.length > 0 && { files }),
    ...undoHandle(active, remarks),
    ...modelNote(remarks.notes),
  };
  return {
    outcome: Object.freeze(outcome),
    content: outcomeToModelContent(outcome),
    toolSuccess: true,
    repeatIsSafe: false,
    rules: remarks.rules,
  };
}

const utf8 = new TextEncoder();

async function keepText(active: CheckedCall, content: string): Promise<string> {
  const artifactId = active.engine.ids.secret('art');
  await active.engine.ledger.putArtifact({
    artifactId,
    sessionId: active.turn.sessionId,
    callId: active.request.id,
    mimeType: 'application/json',
    content,
  });
  return artifactId;
}

async function keepFiles(active: CheckedCall, { attachments }: BodyContext): Promise<readonly OutputFile[]> {
  const files: OutputFile[] = [];
  for (const attached of attachments) {
    const { artifactId, mimeType, content, name } = await ruleFile(active, attached);
    const kept =
      typeof content === 'string'
        ? clean(active, content)
        : cleanBytes(content, (text) => clean(active, text), active.secrets.known);
    await active.engine.ledger.putArtifact({
      artifactId,
      sessionId: active.turn.sessionId,
      callId: active.request.id,
      mimeType,
      content: kept,
    });
    const sizeBytes = typeof kept === 'string' ? utf8.encode(kept).byteLength : kept.byteLength;
    const digest = contentDigest(kept);
    files.push(
      Object.freeze({ artifactId, mimeType, sizeBytes, digest, ...(name !== undefined && { name }) }),
    );
  }
  return Object.freeze(files);
}

/** Stores the files of a body without a result to list them in. */
export async function keepFilesLeft(
  active: CheckedCall,
  context: BodyContext,
): Promise<readonly OutputFile[]> {
  if (context.attachments.length === 0) return [];
  try {
    return await keepFiles(active, context);
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    logProblem(active, `Its attached files could not be stored: ${error.message}`);
    return [];
  }
}

/** The failure of a call whose body ended, but whose result was not checked. Its text tells no details. */
export const notChecked = ({ tool }: CheckedCall): Failed => ({
  code: 'tool.invalid_output',
  error: `The tool "${tool.name}" ran, but its result could not be checked.`,
  retryable: false,
});

type Failed = {
  readonly code: ReasonCode;
  readonly error: string;
  readonly retryable: boolean;
  readonly extras?: JsonObject;
  readonly traceback?: string | undefined;
  readonly repeatIsSafe?: boolean;
  /** The output of the body, despite the failure. */
  readonly output?: JsonValue;
  readonly toolMade?: boolean;
  /** Store the output on the record however large it is. */
  readonly whole?: boolean;
  /**
   * The part of the output that the error shows after its reason. `whole`: the recorded error is already
   * complete.
   */
  readonly shows?: 'message' | 'output' | 'whole';
  /** The extras come from a recorded failure and already include its input. */
  readonly isRecorded?: boolean;
};

/** The most characters of an output that an error shows. */
const longestShown = 2_000;

/** The reason, the tool's message to the user, and the output if the reason may not show it. */
function errorInWords(reason: string, output: JsonValue | undefined, shows: Failed['shows']): string {
  if (shows === 'whole') return cutText(reason, longestError + 2 * longestShown);
  const cut = cutText(reason, longestError);
  if (output === undefined || shows === undefined) return cut;
  const message = messageIn(output);
  const withMessage = message === undefined || cut.includes(message) ? cut : `${endSentence(cut)} ${message}`;
  if (shows === 'message') return withMessage;
  const text = cutText(typeof output === 'string' ? output : JSON.stringify(output), longestShown);
  return withMessage.includes(text) ? withMessage : `${endSentence(withMessage)} Output: ${text}`;
}

/** The message to the user in a tool's output. */
function messageIn(output: JsonValue): string | undefined {
  const message = isJsonObject(output) && Object.hasOwn(output, 'message') ? output['message'] : undefined;
  return typeof message === 'string' && message.trim() !== '' ? cutText(message, longestShown) : undefined;
}

/** The outcome of a body that ran and failed. Its output, partial results and files go into the extras. */
export async function fail(
  active: CheckedCall,
  asGiven: Failed,
  { context, elapsedMs, remarks }: AttemptFacts,
): Promise<Judgement> {
  const { request, tool, engine } = active;
  const { failed, partial } = await underRules(active, asGiven, context.partial, remarks);
  const output = failed.output === undefined ? undefined : cleanOutput(active, failed.output);
  const content = output === undefined ? '' : JSON.stringify(output);
  const large = failed.whole !== true && content.length > engine.inlineLimit;
  const given = failed.extras === undefined ? {} : cleanObject(active, failed.extras);
  // If rules withhold the output, they also withhold the files.
  const files = failed.code === 'policy.output' ? [] : await keepFilesLeft(active, context);
  // The author's keys stay; the runtime renames its own.
  const free = (key: string): string => (Object.hasOwn(given, key) ? `recorded_${key}` : key);
  const extras: JsonObject = {
    ...given,
    ...(failed.isRecorded !== true && inputExtra(active.journal, free)),
    ...(failed.traceback !== undefined && {
      [free('traceback')]: cutText(clean(active, failed.traceback), longestError),
    }),
    ...(partial !== undefined && { [free('partial')]: partial }),
    ...(files.length > 0 && { [free('files')]: attachedFilesToExtra(files) }),
    ...(output !== undefined &&
      (large
        ? { [free('output_artifact')]: await keepText(active, content) }
        : { [free('output')]: output })),
  };
  const outcome: ToolOutcome = {
    type: 'ToolFailure',
    callId: request.id,
    toolName: tool.name,
    code: failed.code,
    error: errorInWords(clean(active, failed.error), output, failed.shows),
    ...repeatOf(tool, failed),
    elapsedMs,
    ...(Object.keys(extras).length > 0 && { payloadExtras: freezeJson(extras) }),
    ...(failed.toolMade === true &&
      output !== undefined && {
        toolResult: large ? onlyControls(asToolResult(output)) : asToolResult(output),
      }),
    ...modelNote(remarks.notes),
  };
  return {
    outcome: Object.freeze(outcome),
    content: outcomeToModelContent(outcome),
    toolSuccess: false,
    repeatIsSafe: failed.repeatIsSafe === true,
    rules: remarks.rules,
  };
}

/** No secret leaves through an error: rules on results redact it here too, and a block withholds it. */
async function underRules(
  active: CheckedCall,
  failed: Failed,
  partial: JsonObject | undefined,
  remarks: AttemptRemarks,
): Promise<{ readonly failed: Failed; readonly partial: JsonValue | undefined }> {
  const { policy } = active;
  // The message of a rule was already judged.
  if (policy === undefined || failed.code === 'policy.output') return { failed, partial };
  const parts = {
    error: failed.error,
    output: failed.output,
    extras: {
      ...failed.extras,
      ...(partial !== undefined && { [partialKey]: partial }),
      ...(failed.traceback !== undefined && { [tracebackKey]: failed.traceback }),
    },
  };
  const ruled = await ruleFailure(active, policy, parts, remarks);
  if (ruled.type === 'block')
    return { failed: { code: 'policy.output', error: ruled.message, retryable: false }, partial: undefined };
  const { [partialKey]: kept, [tracebackKey]: traceback, ...extras } = ruled.extras;
  const { output: _, extras: __, traceback: ___, toolMade, ...rest } = failed;
  return {
    failed: {
      ...rest,
      error: ruled.error,
      ...(failed.extras !== undefined && { extras }),
      ...(typeof traceback === 'string' && { traceback }),
      ...(ruled.output !== undefined && { output: ruled.output }),
      toolMade: toolMade === true && ruled.output === failed.output,
    },
    partial: kept,
  };
}

/** A key that no author uses in extras. */
const partialKey = '\0partial';
const tracebackKey = '\0traceback';

/** `toolResult` checked the shape when the tool made it, and redaction changes no boolean. */
const asToolResult = (kept: JsonValue): ToolResult => freezeJson(kept) as unknown as ToolResult;

const controls: ReadonlySet<string> = new Set(['success', 'terminal', 'needsFollowup', 'nextAction']);

/** The control fields and the message of a result, without the part that made it too large. */
function onlyControls(result: ToolResult): ToolResult {
  const { message } = result;
  return Object.freeze({
    ...Object.fromEntries(Object.entries(result).filter(([key]) => controls.has(key))),
    ...(message !== undefined && { message: cutText(message, longestShown) }),
  }) as unknown as ToolResult;
}

/** The end of an attempt before it is judged. */
export type AttemptEnd =
  | BodyEnd
  | { readonly type: 'timed_out'; readonly idle: boolean }
  | { readonly type: 'cancelled'; readonly reason: string };

/** The end of a body. */
export type BodyEnd =
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: unknown };

const none: readonly never[] = Object.freeze([]);

/** Remarks about one attempt, collected while its end is judged. The judgement takes both lists. */
export class AttemptRemarks {
  /** For the model, in addition to the content of the outcome. */
  notes: readonly string[];
  /** Rulings about the output. */
  rules: readonly RuleMark[] = none;

  constructor(notes: readonly string[] = none) {
    this.notes = notes;
  }

  note(text: string): void {
    this.notes = [...this.notes, text];
  }
}

/** The end of a recorded body, with facts that a body cannot state itself. See `endAsRecorded`. */
export type RecordedEnd = {
  /**
   * The error that the body will throw, if it throws. It may claim any reason code, unlike the error of any
   * other body.
   */
  readonly thrown: unknown;
  /** Set if it timed out. */
  readonly timeout: Pick<ToolTimeout, 'elapsedMs' | 'deadlineMs' | 'retryable'> | undefined;
  /**
   * The rulings about its output. The record no longer has the removed data, so the rules could not find it
   * again.
   */
  readonly rules: readonly RuleMark[];
  /** Version of these rules. */
  readonly policyVersion: string | undefined;
  /** The notes for each repeated report of the same result. */
  readonly reportedAgain: readonly string[];
  /** Parts of its end that could not be stored in the ledger. */
  readonly unkept: readonly Pick<PersistenceFailed, 'boundary' | 'error' | 'keptIn'>[];
};

/** Returns the given object as `this`, so that a subclass adds its private fields to that object. */
class Itself {
  constructor(object: object) {
    return object;
  }
}

/**
 * A mark on the context of an attempt. Its private field belongs to this class, which is not exported and which a body
 * cannot reach through the context. So a body can neither create nor read such a mark.
 */
class Marked extends Itself {
  #end: RecordedEnd;

  constructor(context: ToolContext, end: RecordedEnd) {
    super(context);
    this.#end = end;
  }

  static read(context: ToolContext): RecordedEnd | undefined {
    return #end in context ? context.#end : undefined;
  }

  static put(context: ToolContext, end: RecordedEnd): void {
    if (#end in context) context.#end = end;
    else new Marked(context, end);
  }
}

/** States how a recorded run ended, before its body ends. Only code of this package can call it. */
export const endAsRecorded = (context: ToolContext, end: RecordedEnd): void => Marked.put(context, end);

export const recordedEndOf = (context: ToolContext): RecordedEnd | undefined => Marked.read(context);

type RuledOutput =
  | { readonly type: 'pass'; readonly output: JsonValue }
  | { readonly type: 'block'; readonly message: string };

/**
 * Applies the rules on results to a result or the text of an error. Warnings become notes for the model, and every ruling
 * is recorded.
 */
export async function ruleOutput(
  active: CheckedCall,
  policy: Policy,
  end: ToolEnd,
  remarks: AttemptRemarks,
): Promise<RuledOutput> {
  const ruling = await policy.judgeOutput(toPolicyCall(active), end);
  const marks = toMarks(active, ruling);
  const added = marks.filter(
    ({ ruleId, message }) =>
      !remarks.rules.some((known) => known.ruleId === ruleId && known.message === message),
  );
  if (added.length > 0) remarks.rules = [...remarks.rules, ...added];
  for (const { action, message, observed } of added)
    if (action === 'warn' && observed === undefined) remarks.note(message);
  return ruling.decision === 'block' && ruling.decidedBy !== undefined
    ? { type: 'block', message: clean(active, ruling.decidedBy.message) }
    : { type: 'pass', output: ruling.output };
}

type FailureParts = {
  readonly error: string;
  readonly output: JsonValue | undefined;
  readonly extras: JsonObject;
};

type RuledFailure =
  | ({ readonly type: 'pass' } & FailureParts)
  | { readonly type: 'block'; readonly message: string };

/** The parts of a failure after the rules have judged them. */
async function ruleFailure(
  active: CheckedCall,
  policy: Policy,
  { error, output, extras }: FailureParts,
  remarks: AttemptRemarks,
): Promise<RuledFailure> {
  const text = await ruleOutput(active, policy, { type: 'error', text: error }, remarks);
  if (text.type === 'block') return text;
  const given = output === undefined ? undefined : await ruleValue(active, policy, output, remarks);
  if (given?.type === 'block') return given;
  const rest =
    Object.keys(extras).length === 0 ? undefined : await ruleValue(active, policy, extras, remarks);
  if (rest?.type === 'block') return rest;
  return {
    type: 'pass',
    // A text stays a text.
    error: typeof text.output === 'string' ? text.output : JSON.stringify(text.output),
    output: given?.output,
    extras: rest === undefined ? extras : isJsonObject(rest.output) ? rest.output : { redacted: rest.output },
  };
}

export const ruleValue = (
  active: CheckedCall,
  policy: Policy,
  value: JsonValue,
  remarks: AttemptRemarks,
): Promise<RuledOutput> => ruleOutput(active, policy, { type: 'result', value }, remarks);

/** Replaces a value that a rule blocks. */
export const withheld = '[WITHHELD]';

/**
 * Applies the rules on results to side output: log lines, targets, files. Returns a placeholder if a rule blocks it. Warnings
 * and marks are recorded with the result only.
 */
export async function redactSideOutput(active: CheckedCall, value: JsonValue): Promise<JsonValue> {
  const { policy } = active;
  if (policy === undefined) return value;
  const ruling = await policy.judgeOutput(toPolicyCall(active), { type: 'result', value });
  return ruling.decision === 'block' ? withheld : ruling.output;
}

/** The log lines and targets of a body, as stored. All lines are cleaned at once, because a secret may span several. */
export async function keepSideOutput(
  active: CheckedCall,
  { lines, targets }: BodyContext,
): Promise<{ readonly log: readonly LogLine[]; readonly reached: readonly string[] }> {
  const clean = cleanObject(active, { lines, targets }) as { lines: LogLine[]; targets: string[] }; // hides texts only
  return { log: await ruleLines(active, clean.lines), reached: await ruleTargets(active, clean.targets) };
}

async function ruleLines(active: CheckedCall, lines: readonly LogLine[]): Promise<readonly LogLine[]> {
  const ruled: LogLine[] = [];
  for (const { at, message, fields } of lines) {
    const line: JsonObject = fields === undefined ? { message } : { message, fields };
    const left = await redactSideOutput(active, line);
    ruled.push(toLine(at, left));
  }
  return ruled;
}

/** The line after the rules. A rule may replace the whole line with a text. */
function toLine(at: number, left: JsonValue): LogLine {
  if (!isJsonObject(left)) return { at, message: toShortText(left) };
  const { message = null, fields } = left;
  return { at, message: toShortText(message), ...(isJsonObject(fields) && { fields }) };
}

const toText = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value));
const toShortText = (value: JsonValue): string => cutText(toText(value), longestLine);

async function ruleTargets(active: CheckedCall, targets: readonly string[]): Promise<readonly string[]> {
  const ruled: string[] = [];
  for (const target of targets) ruled.push(toShortText(await redactSideOutput(active, target)));
  return ruled;
}

/** Rules read text files and file names like results. They cannot read binary files. */
async function ruleFile(active: CheckedCall, file: NamedAttachment): Promise<NamedAttachment> {
  const text = typeof file.content === 'string' ? file.content : readText(file);
  const content = text === undefined ? undefined : toText(await redactSideOutput(active, text));
  const name = file.name === undefined ? undefined : toShortText(await redactSideOutput(active, file.name));
  return {
    ...file,
    ...(content !== undefined && content !== text && { content }),
    ...(name !== undefined && { name }),
  };
}

const textTypes = /^(?:text\/|application\/(?:[\w.+-]*[+/-])?(?:json|xml|yaml|javascript)\b)/i;

function readText({ mimeType, content }: NamedAttachment): string | undefined {
  if (typeof content === 'string' || !textTypes.test(mimeType)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}

/** A note for the model about a result that the ledger could not store at first. */
export const spillNotice =
  'The ledger could not be written. This result is stored separately and will be added to the ledger later.';

/** The outcome with one more note for the model. */
export const withNote = (outcome: ToolOutcome, note: string): ToolOutcome =>
  Object.freeze({
    ...outcome,
    modelNote: outcome.modelNote === undefined ? note : `${outcome.modelNote} ${note}`,
  });

/** True if the twin guard checks calls of this tool. */
export const isGuarded = ({ mayRerun, mode, rerun }: AnyTool): boolean =>
  !mayRerun && mode !== 'read' && rerun !== 'allow';

type Ended = {
  readonly code: ReasonCode;
  /** The default of the reason code, or the value that the tool's author chose. */
  readonly retryable: boolean;
  readonly repeatIsSafe?: boolean | undefined;
};

/** The fields of an outcome about a repeat of its call. If the twin guard would stop a repeat, it is not retryable. */
export function repeatOf(
  tool: AnyTool,
  { code, retryable, repeatIsSafe = false }: Ended,
): Pick<ToolFailure, 'retryable' | 'inDoubt' | 'blocksTool'> {
  if (!isGuarded(tool) || !leavesDoubt({ code, mayRerun: tool.mayRerun, repeatIsSafe })) return { retryable };
  return inDoubt(retryable);
}

/** Fields of an outcome whose effect is unknown. */
export const inDoubt = (retryable: boolean): Pick<ToolFailure, 'retryable' | 'inDoubt' | 'blocksTool'> => ({
  retryable: false,
  inDoubt: true,
  ...(retryable && { blocksTool: false }),
});
