/** The outcome of a body that ran, made ready to be kept: cleaned, measured, offloaded, frozen. */
import { latestInstant } from '../../base/clock.ts';
import { contentDigest } from '../../base/content-digest.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { endSentence } from '../../base/end-sentence.ts';
import { freezeJson, isJsonObject } from '../../base/json.ts';
import { attachedFilesToExtra } from '../../call/attached-files.ts';
import type { DataOf } from '../../call/event-data.ts';
import { outcomeToModelContent } from '../../call/model-content.ts';
import type { OutputFile, ToolOutcome, UndoHandle } from '../../call/outcome.ts';
import type { ReasonCode } from '../../call/reason.ts';
import type { ToolResult } from '../../call/tool-result.ts';
import { cutText } from '../../base/cut-text.ts';
import type { BodyContext } from './body-context.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { clean, cleanObject, cleanOutput, knownSecrets } from '../input/clean.ts';
import { cleanBytes } from '../input/clean-bytes.ts';
import { repeatOf } from '../gates/doubt.ts';
import { inputExtra } from '../input/input-extra.ts';
import { LedgerTrouble } from '../../ledger/ledger-trouble.ts';
import { ruleFile } from './rule-beside.ts';
import { ruleFailure } from './rule-output.ts';
import { summarise } from './summarise.ts';

export type Judgement = {
  readonly outcome: ToolOutcome;
  /** What the model is told, byte for byte. */
  readonly content: string;
  readonly toolSuccess: boolean | undefined;
  /** The tool's author said that trying again is safe. */
  readonly authorSaysRetry: boolean;
  /** What the body gave, where the outcome must say something else: stored with it. */
  readonly late?: DataOf<'tool.late'>;
};

export type AttemptFacts = {
  readonly context: BodyContext;
  readonly elapsedMs: number;
  readonly deadlineMs: number;
};

const longestError = 4_000;

export function succeed(
  hand: CallInHand,
  output: JsonValue,
  toolMade: boolean,
  facts: AttemptFacts,
): Judgement | Promise<Judgement> {
  const { engine, knownTool: tool } = hand;
  const kept = cleanOutput(hand, output);
  const content = JSON.stringify(kept);
  if (content.length > (tool.inlineLimit ?? engine.inlineLimit) || facts.context.attachments.length > 0)
    return setAside(hand, kept, content, toolMade, facts);
  return inline(hand, kept, content, toolMade, facts, []);
}

function inline(
  hand: CallInHand,
  kept: JsonValue,
  content: string,
  toolMade: boolean,
  { elapsedMs }: AttemptFacts,
  files: readonly OutputFile[],
): Judgement {
  const outcome: ToolOutcome = {
    type: 'ToolExecutionResult',
    callId: hand.request.id,
    toolName: hand.knownTool.name,
    output: freezeJson(kept),
    elapsedMs,
    wasCoerced: hand.call?.wasCoerced ?? false,
    ...(toolMade && { toolResult: asToolResult(kept) }),
    ...(files.length > 0 && { files }),
    ...undoHandle(hand),
    ...hand.modelNote(),
  };
  return { outcome: Object.freeze(outcome), content, toolSuccess: true, authorSaysRetry: false };
}

/** What a person may do about it, for the record and for the model. */
function undoHandle(hand: CallInHand): { readonly undo?: UndoHandle } {
  const { undo, undoWithinMs } = hand.knownTool;
  if (undo === undefined) return {};
  const until =
    undoWithinMs === undefined
      ? undefined
      : Math.min(hand.engine.ledger.now() + Math.floor(undoWithinMs), latestInstant);
  hand.note(`A person can undo this${until === undefined ? '' : ` until ${new Date(until).toISOString()}`}.`);
  return { undo: Object.freeze(until === undefined ? {} : { until }) };
}

/**
 * Keeps files, and an output that is too large, as artifacts. Where that fails the output stays on the record of the
 * call: too much to show the model, and too much to lose.
 */
async function setAside(
  hand: CallInHand,
  kept: JsonValue,
  content: string,
  toolMade: boolean,
  facts: AttemptFacts,
): Promise<Judgement> {
  try {
    return await keepAside(hand, kept, content, toolMade, facts);
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    const why = cutText(clean(hand, error.message), 500);
    hand.apply({ type: 'fail_to_persist', boundary: 'artifact', error: why, keptIn: 'record' });
    const told = `The tool ran, but its output could not be kept aside (${why}). It is on the record of the call.`;
    return fail(
      hand,
      { code: 'tool.indeterminate', error: told, retryable: false, output: kept, whole: true },
      facts,
    );
  }
}

async function keepAside(
  hand: CallInHand,
  kept: JsonValue,
  content: string,
  toolMade: boolean,
  facts: AttemptFacts,
): Promise<Judgement> {
  const { engine, knownTool: tool, request } = hand;
  const files = await keepFiles(hand, facts.context);
  if (content.length <= (tool.inlineLimit ?? engine.inlineLimit))
    return inline(hand, kept, content, toolMade, facts, files);
  const artifactId = await keepText(hand, content);
  // The reference shows the beginning of the output; what the tool has to say may stand at its end.
  const message = isJsonObject(kept) && typeof kept['success'] === 'boolean' ? messageIn(kept) : undefined;
  if (message !== undefined) hand.note(message);
  const outcome: ToolOutcome = {
    type: 'ToolArtifactReference',
    callId: request.id,
    toolName: tool.name,
    artifactId,
    summary: summarise(content),
    sizeBytes: utf8.encode(content).byteLength,
    digest: contentDigest(content),
    elapsedMs: facts.elapsedMs,
    wasCoerced: hand.call?.wasCoerced ?? false,
    ...(toolMade && { toolResult: onlyControls(asToolResult(kept)) }),
    ...(files.length > 0 && { files }),
    ...undoHandle(hand),
    ...hand.modelNote(),
  };
  return {
    outcome: Object.freeze(outcome),
    content: outcomeToModelContent(outcome),
    toolSuccess: true,
    authorSaysRetry: false,
  };
}

const utf8 = new TextEncoder();

async function keepText(hand: CallInHand, content: string): Promise<string> {
  const artifactId = hand.engine.ids.secret('art');
  await hand.engine.ledger.artifacts.put({
    artifactId,
    sessionId: hand.turn.sessionId,
    callId: hand.request.id,
    mimeType: 'application/json',
    content,
  });
  return artifactId;
}

async function keepFiles(hand: CallInHand, { attachments }: BodyContext): Promise<readonly OutputFile[]> {
  const files: OutputFile[] = [];
  for (const attached of attachments) {
    const { artifactId, mimeType, content, name } = await ruleFile(hand, attached);
    const kept =
      typeof content === 'string'
        ? clean(hand, content)
        : cleanBytes(content, (text) => clean(hand, text), knownSecrets(hand));
    await hand.engine.ledger.artifacts.put({
      artifactId,
      sessionId: hand.turn.sessionId,
      callId: hand.request.id,
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

/** Files of a body that gave no result to list them in. */
export async function keepFilesLeft(hand: CallInHand, context: BodyContext): Promise<readonly OutputFile[]> {
  if (context.attachments.length === 0) return [];
  try {
    return await keepFiles(hand, context);
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    hand.aside(`Files it had attached could not be kept: ${error.message}`);
    return [];
  }
}

export type Failed = {
  readonly code: ReasonCode;
  readonly error: string;
  readonly retryable: boolean;
  readonly extras?: JsonObject;
  readonly traceback?: string | undefined;
  readonly authorSaysRetry?: boolean;
  /** What the body gave although it failed. */
  readonly output?: JsonValue;
  readonly toolMade?: boolean;
  /** Keep the output on the record however large it is. */
  readonly whole?: boolean;
  /** What of the output the error says beside its reason. `whole`: the error is complete, as it was recorded. */
  readonly shows?: 'message' | 'output' | 'whole';
  /** The extras are those of a recorded failure: its input is among them. */
  readonly isRecorded?: boolean;
};

/** The most characters of an output that an error shows. */
const longestShown = 2_000;

/** The reason, what the tool says to the user, and the output where the reason may hide it. */
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

/** The text for the user in what a tool returned. */
function messageIn(output: JsonValue): string | undefined {
  const message = isJsonObject(output) && Object.hasOwn(output, 'message') ? output['message'] : undefined;
  return typeof message === 'string' && message.trim() !== '' ? cutText(message, longestShown) : undefined;
}

/** The outcome of a body that ran and failed. What it gave and left behind goes into the extras. */
export async function fail(
  hand: CallInHand,
  asGiven: Failed,
  { context, elapsedMs }: AttemptFacts,
): Promise<Judgement> {
  const { request, knownTool: tool, engine } = hand;
  const { failed, partial } = await underRules(hand, asGiven, context.partial);
  const output = failed.output === undefined ? undefined : cleanOutput(hand, failed.output);
  const content = output === undefined ? '' : JSON.stringify(output);
  const large = failed.whole !== true && content.length > engine.inlineLimit;
  const given = failed.extras === undefined ? {} : cleanObject(hand, failed.extras);
  // What rules withhold of its output they withhold of what lies beside it.
  const files = failed.code === 'policy.output' ? [] : await keepFilesLeft(hand, context);
  // What the author gave keeps its key; what the runtime adds steps aside.
  const free = (key: string): string => (Object.hasOwn(given, key) ? `recorded_${key}` : key);
  const extras: JsonObject = {
    ...given,
    ...(failed.isRecorded !== true && inputExtra(hand, free)),
    ...(failed.traceback !== undefined && {
      [free('traceback')]: cutText(clean(hand, failed.traceback), longestError),
    }),
    ...(partial !== undefined && { [free('partial')]: partial }),
    ...(files.length > 0 && { [free('files')]: attachedFilesToExtra(files) }),
    ...(output !== undefined &&
      (large ? { [free('output_artifact')]: await keepText(hand, content) } : { [free('output')]: output })),
  };
  const outcome: ToolOutcome = {
    type: 'ToolFailure',
    callId: request.id,
    toolName: tool.name,
    code: failed.code,
    error: errorInWords(clean(hand, failed.error), output, failed.shows),
    ...repeatOf(tool, failed),
    elapsedMs,
    ...(Object.keys(extras).length > 0 && { payloadExtras: freezeJson(extras) }),
    ...(failed.toolMade === true &&
      output !== undefined && {
        toolResult: large ? onlyControls(asToolResult(output)) : asToolResult(output),
      }),
    ...hand.modelNote(),
  };
  return {
    outcome: Object.freeze(outcome),
    content: outcomeToModelContent(outcome),
    toolSuccess: false,
    authorSaysRetry: failed.authorSaysRetry === true,
  };
}

/** No secret leaves through an error: what rules redact in results they redact here, and what they block is withheld. */
async function underRules(
  hand: CallInHand,
  failed: Failed,
  partial: JsonObject | undefined,
): Promise<{ readonly failed: Failed; readonly partial: JsonValue | undefined }> {
  const { policy } = hand;
  // What a rule itself says about a result has been through it.
  if (policy === undefined || failed.code === 'policy.output') return { failed, partial };
  const ruled = await ruleFailure(hand, policy, {
    error: failed.error,
    output: failed.output,
    extras: {
      ...failed.extras,
      ...(partial !== undefined && { [partialKey]: partial }),
      ...(failed.traceback !== undefined && { [tracebackKey]: failed.traceback }),
    },
  });
  if (typeof ruled === 'string')
    return { failed: { code: 'policy.output', error: ruled, retryable: false }, partial: undefined };
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

/** No author's extras have keys like these. */
const partialKey = '\0partial';
const tracebackKey = '\0traceback';

/** `toolResult` checked the shape when the tool made it, and cleaning changes no boolean. */
const asToolResult = (kept: JsonValue): ToolResult => freezeJson(kept) as unknown as ToolResult;

const controls: ReadonlySet<string> = new Set(['success', 'terminal', 'needsFollowup', 'nextAction']);

/** What a result says about the turn and to the user, without what made it too large. */
function onlyControls(result: ToolResult): ToolResult {
  const { message } = result;
  return Object.freeze({
    ...Object.fromEntries(Object.entries(result).filter(([key]) => controls.has(key))),
    ...(message !== undefined && { message: cutText(message, longestShown) }),
  }) as unknown as ToolResult;
}
