/**
 * For a person who decides about a call without a preview: how the arguments differ from those of the last
 * call on the same resource. Only a few calls are read, by an index of the ledger.
 */
import type { JsonObject, JsonPath, JsonValue } from '../../base/json.ts';
import { formatPath, isJsonObject } from '../../base/json.ts';
import { redacted } from '../../base/text-mask.ts';
import type { Call } from '../../call/call.ts';
import type { ArgumentComparison, PreviewField } from '../../call/event.ts';
import { cutText } from '../../base/cut-text.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import { cleanOutput } from '../input/clean.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { keysOfRecorded } from '../undo/later-writes.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';
import { resourceKeysOf } from '../input/resource-keys.ts';

/** Most calls of the tool in the session that are compared, newest first. */
const mostCalls = 10;
const mostScanned = 1_000;
const mostFields = 50;
const longestValue = 2_000;
/** Characters shown around a change in a long text. */
const around = 60;

/**
 * Undefined if the tool declares no resource keys, or no earlier call of the session used the same resource.
 */
export async function compareWithLast(live: ReadyCall): Promise<ArgumentComparison | undefined> {
  const keys = resourceKeysOf(live.tool, () => inputForTool(live.tool.input, live.input));
  if (keys === undefined || keys.length === 0) return undefined;
  try {
    const last = await findLast(live, keys);
    return last && compare(live, last);
  } catch (error) {
    // A person can decide without it. If the ledger fails, the hold reports it.
    if (error instanceof LedgerTrouble) return undefined;
    throw error;
  }
}

async function findLast(live: ReadyCall, keys: readonly string[]): Promise<Call | undefined> {
  const { engine, tool, sessionId } = live;
  const { rows } = await engine.ledger.queries.findCalls({
    sessionId,
    toolName: tool.name,
    limit: mostCalls,
    scan: mostScanned,
  });
  for (const { callId, outcome } of rows) {
    const succeeded = outcome === 'ToolExecutionResult' || outcome === 'ToolArtifactReference';
    if (!succeeded || callId === live.callId) continue;
    const stored = await engine.ledger.journal.readCall(sessionId, callId);
    const call = stored && foldStored(stored);
    if (call === undefined) continue;
    const touched = await keysOfRecorded(engine, tool, call);
    if (touched?.some((key) => keys.includes(key)) === true) return call;
  }
  return undefined;
}

/** Compares the stored forms: hidden values stay hidden. */
function compare(live: ReadyCall, last: Call): ArgumentComparison {
  const found: PreviewField[] = [];
  collect(last.effectiveInput ?? last.requestedInput, live.input.effective.kept, [], found);
  const shown = cleanOutput(live, found.slice(0, mostFields) as unknown as JsonValue); // JSON fields are JSON
  return {
    callId: last.callId,
    at: last.requestedAt,
    fields: shown as unknown as readonly PreviewField[], // cleaning changes texts, not shapes
    more: Math.max(0, found.length - mostFields),
  };
}

function collect(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  path: JsonPath,
  found: PreviewField[],
): void {
  if (isJsonObject(before) && isJsonObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
      collect(own(before, key), own(after, key), [...path, key], found);
    return;
  }
  if (JSON.stringify(before) === JSON.stringify(after) && !isHidden(after)) return;
  found.push({ name: formatPath(path), ...shortened(before, after) });
}

/** Two hidden values look alike and may differ. */
const isHidden = (value: JsonValue | undefined): boolean =>
  value !== undefined && JSON.stringify(value).includes(redacted);

const own = (holder: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(holder, key) ? holder[key] : undefined;

/** The part in which two long texts differ. */
function shortened(before: JsonValue | undefined, after: JsonValue | undefined): Partial<PreviewField> {
  const one = textOf(before);
  const other = textOf(after);
  if (Math.max(one?.length ?? 0, other?.length ?? 0) <= longestValue)
    return { ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
  if (one === undefined || other === undefined)
    return {
      ...(one !== undefined && { before: cutText(one, longestValue) }),
      ...(other !== undefined && { after: cutText(other, longestValue) }),
    };
  let start = 0;
  while (start < one.length && one[start] === other[start]) start++;
  let end = 0;
  while (end < Math.min(one.length, other.length) - start && one.at(-1 - end) === other.at(-1 - end)) end++;
  const cut = (text: string): string => {
    const [from, to] = [Math.max(0, start - around), Math.min(text.length, text.length - end + around)];
    const part = `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
    return cutText(part.toWellFormed(), longestValue);
  };
  return { before: cut(one), after: cut(other) };
}

const textOf = (value: JsonValue | undefined): string | undefined =>
  value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
