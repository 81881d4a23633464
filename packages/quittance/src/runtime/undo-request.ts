/** Checks whether a call can be undone now, and reads the exact input for its undo. */
import { findAlteration } from './ledger-trouble.ts';
import { describeDecider } from '../call/describe-identity.ts';
import type { ErrorCode } from '../base/error.ts';
import type { Call } from '../call/call.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { Engine } from './engine.ts';
import { isJsonObject } from '../base/json.ts';
import { foldCall } from '../call/evolve.ts';
import type { CallEvent } from '../call/event.ts';
import { isCallEvent } from '../ledger/fold-stored.ts';
import { inputForTool, resourceKeysOf, isInputDigest, keepInput } from './call-input.ts';
import { readRecorded } from './recorded-input.ts';
import { undoneCallId } from './undo-tool.ts';
import type { JsonObject } from '../base/json.ts';
import { acceptInput } from './accept-input.ts';

type UndoRefusal = { readonly code: ErrorCode & `undo.${string}`; readonly message: string };

export async function whyNotUndo(
  engine: Engine,
  tool: AnyTool | undefined,
  call: Call,
  force: boolean,
): Promise<UndoRefusal | undefined> {
  const { callId, toolName, undone } = call;
  if (undone !== undefined)
    return {
      code: 'undo.spent',
      message: `Call ${callId} was undone already, by ${describeDecider(undone.by)} at ${new Date(undone.at).toISOString()} (call ${undone.undoCallId}).`,
    };
  const handle = handleOf(call, tool);
  if (handle.type === 'never')
    return { code: 'undo.unavailable', message: `Call ${callId} cannot be undone: ${handle.why}.` };
  if (handle.until !== undefined && engine.ledger.now() >= handle.until)
    return {
      code: 'undo.expired',
      message: `Call ${callId} could be undone until ${new Date(handle.until).toISOString()}.`,
    };
  if (tool?.undo === undefined)
    return {
      code: 'undo.unavailable',
      message: `Call ${callId} cannot be undone here: this runtime has no tool "${toolName}" that can undo anything.`,
    };
  if (force) return undefined;
  const later = await laterWrites(engine, tool, call);
  if (later.length === 0) return undefined;
  return {
    code: 'undo.conflict',
    message: `Call ${callId} cannot be undone without harm: ${later.map((other) => `call ${other.callId} (${other.toolName})`).join(', ')} touched the same since. Undo those first, or undo with { force: true }.`,
  };
}

const never = (why: string): { readonly type: 'never'; readonly why: string } => ({ type: 'never', why });

/** The time until which a call can be undone, or the reason why it cannot. A later resolution counts like the outcome. */
function handleOf(
  { settled, resolution, copiedFrom }: Call,
  tool: AnyTool | undefined,
): { readonly type: 'until'; readonly until?: number } | { readonly type: 'never'; readonly why: string } {
  if (settled === undefined) return never('it has not ended');
  if (copiedFrom !== undefined)
    return never(`it was answered by call ${copiedFrom}, which did the work; undo that one`);
  const { outcome } = settled;
  if (outcome.type === 'ToolExecutionResult' || outcome.type === 'ToolArtifactReference')
    return outcome.undo === undefined
      ? never('its tool could not undo anything when it ran')
      : { type: 'until', ...outcome.undo };
  if (resolution?.resolution !== 'succeeded') return never('it did not succeed');
  return {
    type: 'until',
    ...(tool?.undoWithinMs !== undefined && { until: resolution.at + tool.undoWithinMs }),
  };
}

/**
 * Later calls of the session that touched the same resources and were not undone. Tools declare resources by
 * `resourceKeys`; calls of tools without it are ignored.
 */
async function laterWrites(engine: Engine, tool: AnyTool, call: Call): Promise<readonly Call[]> {
  const touched = await keysOfRecorded(engine, tool, call);
  if (touched === undefined || touched.length === 0) return [];
  const found: Call[] = [];
  for (const later of await callsSince(engine, call)) {
    const other = engine.tools.get(later.toolName);
    if (other === undefined || other.surelyReads || later.undone !== undefined) continue;
    if (undoneCallId(later.callId) === call.callId) continue;
    const keys = await keysOfRecorded(engine, other, later);
    if (keys?.some((key) => touched.includes(key)) === true) found.push(later);
  }
  return found;
}

/**
 * True if another call of the session has since written something that this one may depend on. Calls of other turns and
 * processes count, and undoes. A tool without `resourceKeys` may write anything.
 */
export async function wasWrittenSince(
  engine: Engine,
  sessionId: string,
  callId: string,
  keys: readonly string[] | undefined,
): Promise<boolean> {
  for (const later of await callsSince(engine, { sessionId, callId })) {
    const tool = engine.tools.get(later.toolName);
    if (tool?.surelyReads === true) continue;
    const written = tool === undefined ? undefined : await keysOfRecorded(engine, tool, later);
    if (keys === undefined || written === undefined || written.some((key) => keys.includes(key))) return true;
  }
  return false;
}

async function callsSince(
  engine: Engine,
  { sessionId, callId }: Pick<Call, 'sessionId' | 'callId'>,
): Promise<readonly Call[]> {
  const calls = new Map<string, { readonly events: CallEvent[]; isLater: boolean }>();
  let hasEnded = false;
  for (const event of await engine.ledger.readSession(sessionId)) {
    if (!isCallEvent(event)) continue;
    const known = calls.get(event.callId) ?? { events: [], isLater: false };
    calls.set(event.callId, known);
    known.events.push(event);
    if (event.callId === callId) hasEnded ||= event.type === 'tool.responded' && event.final;
    else if (event.type === 'tool.started' || event.type === 'tool.responded') known.isLater ||= hasEnded;
  }
  const later = [...calls.values()].filter(({ isLater }) => isLater).map(({ events }) => foldCall(events));
  return later.filter((other): other is Call => other !== undefined && other.attempt > 0);
}

/** The resource keys of a recorded call, from its exact input if still available, otherwise from the stored form. */
export async function keysOfRecorded(
  engine: Engine,
  tool: AnyTool,
  call: Call,
): Promise<readonly string[] | undefined> {
  if (tool.resourceKeys === undefined) return undefined;
  const recorded = await readRecorded(engine, call);
  const { input: schema } = tool;
  if (recorded.ok && recorded.form === 'json') {
    const { effectiveInput: value, accepted: checked } = recorded;
    return resourceKeysOf(tool, () => inputForTool(schema, { form: 'json', value, checked }));
  }
  const checked = recorded.ok ? recorded.accepted : recorded.raw;
  const read = await schema.check(structuredClone(checked));
  if (!read.ok || !isJsonObject(checked)) return undefined;
  return resourceKeysOf(tool, () => inputForTool(schema, { form: 'typed', value: read.value, checked }));
}

/** The input of an undo: the exact arguments of the call that is undone. */
type UndoInput =
  | {
      readonly ok: true;
      readonly arguments: JsonObject;
      /** The undoing tool, prepared to accept these arguments. */
      readonly asUndone: (tool: AnyTool | undefined) => AnyTool | undefined;
    }
  | { readonly ok: false; readonly problem: string };

export async function readUndoInput(engine: Engine, call: Call): Promise<UndoInput> {
  const { sessionId, callId } = call;
  const stored = await engine.ledger.readCall(sessionId, callId);
  const alteration = await findAlteration(stored);
  if (alteration !== undefined) return { ok: false, problem: alteration };
  const recorded = await readRecorded(engine, call);
  if (!recorded.ok) return recorded;
  const { form, effectiveInput, accepted } = recorded;
  if (form === 'json') return { ok: true, arguments: effectiveInput, asUndone: asRecorded };
  const tool = engine.tools.get(call.toolName);
  // Ledgers of earlier versions do not store the schema's result.
  if (form === undefined || tool === undefined)
    return { ok: true, arguments: accepted, asUndone: (undoing) => undoing };
  const kept = keepInput(accepted, tool.redact?.input, engine.redactor, engine.seal);
  const again = await acceptInput({ engine, tool, sessionId }, { input: accepted, kept }, accepted, false);
  const digest = call.inputDigest ?? '';
  if (!again.ok || !isInputDigest(digest, again.prepared, engine.seal.digestKey))
    return { ok: false, problem: 'its schema now gives the tool another value than the one it ran with' };
  return { ok: true, arguments: accepted, asUndone: (undoing) => undoing };
}

/** A schema may not accept its own output. */
const asRecorded = (tool: AnyTool | undefined): AnyTool | undefined =>
  tool &&
  Object.freeze({
    ...tool,
    input: {
      ...tool.input,
      keepsValue: true as const,
      check: (value: unknown) => ({ ok: true as const, value }),
    },
  });
