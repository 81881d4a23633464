/** After a person agreed: takes up what they agreed to, and nothing else. */
import type { Confirmation } from '../../call/call.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { clean } from '../input/clean.ts';
import type { Stop } from '../state/gate.ts';
import { alteredStop } from '../state/altered-stop.ts';
import { takeRecorded } from './take-recorded.ts';

export type Approved =
  | { readonly type: 'stop'; readonly stop: Stop }
  | {
      readonly type: 'taken';
      /** Other arguments are in hand than the gates have looked at. */
      readonly isNew: boolean;
      /** They are not the ones that were approved. */
      readonly differs: boolean;
    };

export async function takeApproved(hand: CallInHand, { decision }: Confirmation): Promise<Approved> {
  const before = hand.prepared?.effective.digest;
  const { justTaken } = hand;
  hand.justTaken = undefined;
  const taken = justTaken?.version === hand.version ? justTaken.taken : await takeRecorded(hand);
  hand.lastGate = 'validate';
  if (taken.type === 'unusable') {
    switch (taken.why) {
      case 'altered':
        return { type: 'stop', stop: alteredStop };
      case 'gone':
        return stopped(hand, {
          type: 'deny',
          reason: 'expired',
          code: 'confirmation.expired',
          details: `The call cannot run as it was approved: ${taken.problem}.`,
        });
      case 'refused':
        return stopped(hand, {
          type: 'deny',
          reason: 'validation',
          code: 'tool.invalid_input',
          details: taken.problem,
        });
    }
  }
  hand.prepared = taken.prepared;
  const { digest } = taken.prepared.effective;
  if (decision === 'edit' && hand.adopted !== hand.call?.inputDigest) {
    hand.adopted = hand.call?.inputDigest;
    hand.note('A person changed the arguments before the call ran.');
  }
  return { type: 'taken', isNew: digest !== before, differs: taken.type === 'differs' };
}

const stopped = (hand: CallInHand, stop: Stop & { type: 'deny' }): Approved => ({
  type: 'stop',
  stop: { ...stop, details: clean(hand, stop.details) },
});
