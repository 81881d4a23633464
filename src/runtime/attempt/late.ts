import type { JsonValue } from '../../base/json.ts';
import { formatPath, freezeJson, toJson } from '../../base/json.ts';
import type { Command } from '../../call/command.ts';
import type { EventDataOf } from '../../call/event-data.ts';
import { cutText } from '../../base/cut-text.ts';
import type { BodyEnd } from './attempt.ts';
import type { ToolEnd } from '../../policy/judge/compile-policy.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { isReady } from '../state/call-stages.ts';
import { AttemptRemarks } from './attempt-remarks.ts';
import { clean, cleanOutput } from '../input/clean.ts';
import { ruleOutput, withheld } from './rule-output.ts';
import { within } from '../../base/within.ts';
import { classifyThrown } from './classify-thrown.ts';
import { LedgerTrouble } from '../host/ledger-trouble.ts';

const longest = 100_000;

/** Time limit for the checks of a result that is stored after its deadline. */
export const storingGraceMs = 1_000;

/** Stores a result that a body returned after its call had ended. The outcome stays unchanged. */
export function appendLate(
  live: AcceptedCall,
  end: BodyEnd,
  elapsedMs: number,
  attempt: number = live.journal.call?.attempt ?? 1,
): void {
  const { stragglers } = live.engine;
  const kept: Promise<unknown> = readLate(live, end)
    .then((result) => keepLate(live, { type: 'add_late', attempt, elapsedMs: Math.round(elapsedMs), result }))
    // The caller already has the outcome, so this error is not reported to it.
    .catch(() => undefined)
    .finally(() => stragglers.delete(kept));
  stragglers.add(kept);
}

/** If neither the ledger nor the spill file can store it, it stays in memory until one of them can. */
async function keepLate(live: AcceptedCall, late: Command & { type: 'add_late' }): Promise<void> {
  try {
    await live.journal.addLate(late);
  } catch (error) {
    if (!(error instanceof LedgerTrouble)) throw error;
    live.engine.failedWrites.add({
      call: { sessionId: live.sessionId, callId: live.callId, turnId: live.turn.turnId },
      depth: live.turn.depth === 0 ? undefined : live.turn.depth,
      boundary: 'settle',
      error: cutText(clean(live, error.message), 500),
      late,
    });
  }
}

export async function readLate(
  live: AcceptedCall,
  end: BodyEnd,
): Promise<EventDataOf<'tool.late'>['result']> {
  if (end.type === 'threw') {
    const text = clean(live, classifyThrown(end.error).message);
    const error = await underRules(live, { type: 'error', text });
    return {
      type: 'threw',
      error: cutText(typeof error === 'string' ? error : JSON.stringify(error), 4_000),
    };
  }
  const read = toJson(end.value);
  if (!read.ok)
    return {
      type: 'threw',
      error: clean(live, `Returned something JSON cannot hold at ${formatPath(read.path)}: ${read.problem}`),
    };
  const output = cleanOutput(live, await underRules(live, { type: 'result', value: read.value }));
  const chars = JSON.stringify(output).length;
  if (chars <= longest) return { type: 'returned', output: freezeJson(output) };
  return { type: 'returned', output: cutText(JSON.stringify(output), longest), cutFromChars: chars };
}

/** A rule withholds a late result just like a timely one. */
async function underRules(live: AcceptedCall, end: ToolEnd): Promise<JsonValue> {
  const { policy } = live;
  if (policy === undefined || !isReady(live)) return end.type === 'error' ? end.text : end.value;
  // A rule that never answers must not keep the late result off the record.
  const ruled = await within(
    live.engine,
    storingGraceMs,
    ruleOutput(live, policy, end, new AttemptRemarks()),
    undefined,
  );
  return ruled === undefined || ruled.type === 'block' ? withheld : ruled.output;
}
