/** Compares the reasons to ask now with those that a person has approved. */
import { isSameJson } from '../../base/same-json.ts';
import type { Confirmation } from '../../call/call.ts';
import type { Ask } from '../../call/event.ts';
import type { JudgedCall } from '../state/call-stages.ts';
import { withoutTimes } from './add-quiet-hours.ts';

/**
 * The asks for a person now. If the input differs from the approved one, all earlier asks are repeated;
 * otherwise only new ones count. `differs`: the schema returns another value.
 */
export function asksNow(
  { asks: now, journal }: JudgedCall,
  { asks, revision }: Confirmation,
  differs: boolean,
): { readonly all: readonly Ask[]; readonly added: readonly Ask[] } {
  const isOther = journal.call?.preview?.revision !== revision;
  if (!isOther && !differs)
    return { all: now, added: now.filter((ask) => !asks.some((known) => sameAsk(known, ask))) };
  const again = asks.filter((ask) => !isAboutChange(ask) && !now.some((other) => sameAsk(other, ask)));
  const changes: Ask[] = [
    ...(differs ? [{ by: { type: 'gate', name: 'validate' }, description: otherValue } as const] : []),
    ...(isOther ? [{ by: { type: 'gate', name: 'preview' }, description: otherPreview } as const] : []),
  ];
  const all = [...changes, ...again, ...now];
  return { all, added: all };
}

const isAboutChange = ({ by }: Ask): boolean =>
  by.type === 'gate' && (by.name === 'preview' || by.name === 'validate');

const otherPreview = 'What the tool would do has changed: see its preview.';

const otherValue = 'The tool would now get another value than the one that was approved: see its arguments.';

/** A rule's ask is the same if its digest is; any other ask, if its description is. */
const sameAsk = (left: Ask, right: Ask): boolean =>
  isSameJson(withoutTimes(left.approval) ?? null, withoutTimes(right.approval) ?? null) &&
  left.by.type === right.by.type &&
  left.by.name === right.by.name &&
  left.digest === right.digest &&
  (left.digest !== undefined || left.description === right.description);
