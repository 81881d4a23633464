import { formatPath, freezeJson, toJson } from '../base/json.ts';
import type { DataOf } from '../call/event-data.ts';
import { cutText } from '../tool/cut-text.ts';
import type { BodyEnd } from './attempt.ts';
import type { CallInHand } from './call-in-hand.ts';
import { classifyThrown } from './classify-thrown.ts';

const longest = 100_000;

/** Keeps what a body gave after its call had ended. The outcome stays what it was. */
export function appendLate(
  hand: CallInHand,
  end: BodyEnd,
  elapsedMs: number,
  attempt: number = hand.call?.attempt ?? 1,
): void {
  const { stragglers } = hand.engine;
  const kept: Promise<unknown> = hand
    .remark({
      type: 'add_late',
      attempt,
      elapsedMs: Math.round(elapsedMs),
      result: readLate(hand, end),
    })
    // The call was told its outcome long ago; a ledger that is gone by now leaves nobody to tell.
    .catch(() => undefined)
    .finally(() => stragglers.delete(kept));
  stragglers.add(kept);
}

function readLate(hand: CallInHand, end: BodyEnd): DataOf<'tool.late'>['result'] {
  const clean = (text: string): string => hand.clean(text);
  if (end.type === 'threw')
    return { type: 'threw', error: cutText(clean(classifyThrown(end.error, clean).message), 4_000) };
  const read = toJson(end.value);
  if (!read.ok)
    return {
      type: 'threw',
      error: clean(`Returned something JSON cannot hold at ${formatPath(read.path)}: ${read.problem}`),
    };
  const output = hand.cleanOutput(read.value);
  const chars = JSON.stringify(output).length;
  if (chars <= longest) return { type: 'returned', output: freezeJson(output) };
  return { type: 'returned', output: cutText(JSON.stringify(output), longest), cutFromChars: chars };
}
