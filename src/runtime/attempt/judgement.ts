/** The outcome of a body that ran, prepared for storage: redacted, measured, moved to artifacts, frozen. */
import { latestInstant } from '../../base/clock.ts';
import { contentDigest } from '../../base/content-digest.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { endSentence } from '../../base/end-sentence.ts';
import { freezeJson, isJsonObject } from '../../base/json.ts';
import { attachedFilesToExtra } from '../../call/attached-files.ts';
import type { RuleMark } from '../../call/event.ts';
import type { EventDataOf } from '../../call/event-data.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import type { OutputFile, ToolExecutionResult, ToolOutcome, UndoHandle } from '../../call/outcome.ts';
import type { ReasonCode } from '../../call/reason.ts';
import type { ToolResult } from '../../call/tool-result.ts';
import { cutText } from '../../base/cut-text.ts';
import type { BodyContext } from './body-context.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import { modelNote } from '../state/call-stages.ts';
import { aside } from '../state/aside.ts';
import type { AttemptRemarks } from './attempt-remarks.ts';
import { clean, cleanObject, cleanOutput } from '../input/clean.ts';
import { cleanBytes } from '../input/clean-bytes.ts';
import { repeatOf } from '../gates/doubt.ts';
import { inputExtra } from '../input/input-extra.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { ruleFile } from './redact-side-output.ts';
import { ruleFailure } from './rule-output.ts';
import { summarize } from './summarize.ts';

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

export function succeed(
  live: ReadyCall,
  output: JsonValue,
  toolMade: boolean,
  facts: AttemptFacts,
): Judgement | Promise<Judgement> {
  const { engine, tool } = live;
  const kept = cleanOutput(live, output);
  const content = JSON.stringify(kept);
  if (content.length > (tool.inlineLimit ?? engine.inlineLimit) || facts.context.attachments.length > 0)
    return setAside(live, kept, content, toolMade, facts);
  return inline(live, kept, content, toolMade, facts, noFiles);
}

function inline(
  live: ReadyCall,
  kept: JsonValue,
  content: string,
  toolMade: boolean,
  { elapsedMs, remarks }: AttemptFacts,
  files: readonly OutputFile[],
): Judgement {
  const plain: ToolExecutionResult = {
    type: 'ToolExecutionResult',
    callId: live.request.id,
    toolName: live.tool.name,
    output: freezeJson(kept),
    elapsedMs,
    wasCoerced: live.journal.call?.wasCoerced ?? false,
  };
  const undo = undoHandle(live, remarks);
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
function undoHandle(live: ReadyCall, remarks: AttemptRemarks): { readonly undo?: UndoHandle } {
  const { undo, undoWithinMs } = live.tool;
  if (undo === undefined) return nothingToUndo;
  const until =
    undoWithinMs === undefined
      ? undefined
      : Math.min(live.engine.ledger.now() + Math.floor(undoWithinMs), latestInstant);
  remarks.note(
    `A person can undo this${until === undefined ? '' : ` until ${new Date(until).toISOString()}`}.`,
  );
  return { undo: Object.freeze(until === undefined ? {} : { until }) };
}

/**
 * Stores files and a large output as artifacts. If that fails, the output goes on the record of the call: it
 * is too long for the model and must not be lost.
 */
async function setAside(
  live: ReadyCall,
  kept: JsonValue,
  content: string,
  toolMade: boolean,
  facts: AttemptFacts,
): Promise<Judgement> {
  try {
    return await keepAside(live, kept, content, toolMade, facts);
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    const why = cutText(clean(live, error.message), 500);
    live.journal.apply({ type: 'fail_to_persist', boundary: 'artifact', error: why, keptIn: 'record' });
    const reply =
      'The tool ran, but its output could not be stored as an artifact. It is on the record of the call.';
    return fail(
      live,
      { code: 'tool.indeterminate', error: reply, retryable: false, output: kept, whole: true },
      facts,
    );
  }
}

async function keepAside(
  live: ReadyCall,
  kept: JsonValue,
  content: string,
  toolMade: boolean,
  facts: AttemptFacts,
): Promise<Judgement> {
  const { engine, tool, request } = live;
  const { remarks } = facts;
  const files = await keepFiles(live, facts.context);
  if (content.length <= (tool.inlineLimit ?? engine.inlineLimit))
    return inline(live, kept, content, toolMade, facts, files);
  const artifactId = await keepText(live, content);
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
    wasCoerced: live.journal.call?.wasCoerced ?? false,
    ...(toolMade && { toolResult: onlyControls(asToolResult(kept)) }),
    ...(files.length > 0 && { files }),
    ...undoHandle(live, remarks),
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

async function keepText(live: ReadyCall, content: string): Promise<string> {
  const artifactId = live.engine.ids.secret('art');
  await live.engine.ledger.artifacts.put({
    artifactId,
    sessionId: live.turn.sessionId,
    callId: live.request.id,
    mimeType: 'application/json',
    content,
  });
  return artifactId;
}

async function keepFiles(live: ReadyCall, { attachments }: BodyContext): Promise<readonly OutputFile[]> {
  const files: OutputFile[] = [];
  for (const attached of attachments) {
    const { artifactId, mimeType, content, name } = await ruleFile(live, attached);
    const kept =
      typeof content === 'string'
        ? clean(live, content)
        : cleanBytes(content, (text) => clean(live, text), live.secrets.known);
    await live.engine.ledger.artifacts.put({
      artifactId,
      sessionId: live.turn.sessionId,
      callId: live.request.id,
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
export async function keepFilesLeft(live: ReadyCall, context: BodyContext): Promise<readonly OutputFile[]> {
  if (context.attachments.length === 0) return [];
  try {
    return await keepFiles(live, context);
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    aside(live, `Its attached files could not be stored: ${error.message}`);
    return [];
  }
}

/** The failure of a call whose body ended, but whose result was not checked. Its text tells no details. */
export const notChecked = ({ tool }: ReadyCall): Failed => ({
  code: 'tool.invalid_output',
  error: `The tool "${tool.name}" ran, but its result could not be checked.`,
  retryable: false,
});

export type Failed = {
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
  const said = message === undefined || cut.includes(message) ? cut : `${endSentence(cut)} ${message}`;
  if (shows === 'message') return said;
  const text = cutText(typeof output === 'string' ? output : JSON.stringify(output), longestShown);
  return said.includes(text) ? said : `${endSentence(said)} Output: ${text}`;
}

/** The message to the user in a tool's output. */
function messageIn(output: JsonValue): string | undefined {
  const message = isJsonObject(output) && Object.hasOwn(output, 'message') ? output['message'] : undefined;
  return typeof message === 'string' && message.trim() !== '' ? cutText(message, longestShown) : undefined;
}

/** The outcome of a body that ran and failed. Its output, partial results and files go into the extras. */
export async function fail(
  live: ReadyCall,
  asGiven: Failed,
  { context, elapsedMs, remarks }: AttemptFacts,
): Promise<Judgement> {
  const { request, tool, engine } = live;
  const { failed, partial } = await underRules(live, asGiven, context.partial, remarks);
  const output = failed.output === undefined ? undefined : cleanOutput(live, failed.output);
  const content = output === undefined ? '' : JSON.stringify(output);
  const large = failed.whole !== true && content.length > engine.inlineLimit;
  const given = failed.extras === undefined ? {} : cleanObject(live, failed.extras);
  // If rules withhold the output, they also withhold the files.
  const files = failed.code === 'policy.output' ? [] : await keepFilesLeft(live, context);
  // The author's keys stay; the runtime renames its own.
  const free = (key: string): string => (Object.hasOwn(given, key) ? `recorded_${key}` : key);
  const extras: JsonObject = {
    ...given,
    ...(failed.isRecorded !== true && inputExtra(live.journal, free)),
    ...(failed.traceback !== undefined && {
      [free('traceback')]: cutText(clean(live, failed.traceback), longestError),
    }),
    ...(partial !== undefined && { [free('partial')]: partial }),
    ...(files.length > 0 && { [free('files')]: attachedFilesToExtra(files) }),
    ...(output !== undefined &&
      (large ? { [free('output_artifact')]: await keepText(live, content) } : { [free('output')]: output })),
  };
  const outcome: ToolOutcome = {
    type: 'ToolFailure',
    callId: request.id,
    toolName: tool.name,
    code: failed.code,
    error: errorInWords(clean(live, failed.error), output, failed.shows),
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
  live: ReadyCall,
  failed: Failed,
  partial: JsonObject | undefined,
  remarks: AttemptRemarks,
): Promise<{ readonly failed: Failed; readonly partial: JsonValue | undefined }> {
  const { policy } = live;
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
  const ruled = await ruleFailure(live, policy, parts, remarks);
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

/** No extras of an author have such keys. */
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
