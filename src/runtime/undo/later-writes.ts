import { isJsonObject } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { foldCall } from '../../call/evolve.ts';
import type { CallEvent } from '../../call/event.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { Engine } from '../state/engine.ts';
import { isCallEvent } from '../../ledger/fold-stored.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import { readRecorded } from '../state/read-recorded.ts';
import { resourceKeysOf } from '../input/resource-keys.ts';
import { undoneCallId } from '../host/undo-tool.ts';

/**
 * Later calls of the session that touched the same resources and were not undone. Tools declare resources by
 * `resourceKeys`; calls of tools without it are ignored.
 */
export async function laterWrites(engine: Engine, tool: AnyTool, call: Call): Promise<readonly Call[]> {
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
 * Did another call of the session write since this one ended something that it may depend on? Calls of other turns and
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
  for (const event of await engine.ledger.journal.readSession(sessionId)) {
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

/** Uses the exact input if it is still available, otherwise the stored form. */
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
