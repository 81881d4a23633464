/** After a person agreed: takes up what they agreed to, and nothing else. */
import type { Confirmation } from '../../call/call.ts';
import { clean } from '../input/clean.ts';
import type { Taken } from '../input/taken.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { alteredStop } from '../state/altered-stop.ts';
import type { AskedCall, ReadyCall } from '../state/call-stages.ts';
import { withInput } from '../state/call-stages.ts';
import type { Stop } from '../state/gate.ts';
import { toolOf } from './tool-of.ts';
import { takeRecorded } from './take-recorded.ts';

export type Approved =
  | { readonly type: 'stop'; readonly stop: Stop }
  | {
      readonly type: 'taken';
      readonly live: AskedCall & ReadyCall;
      /** The input is not the one that the gates have looked at. */
      readonly isNew: boolean;
      /** The schema gives another value than the one that was approved. */
      readonly differs: boolean;
    };

const edited = 'A person changed the arguments before the call ran.';

/** `just`: the recorded input, where it was taken a moment ago. */
export async function takeApproved(
  live: AskedCall,
  { decision, inputDigest }: Confirmation,
  just: Taken | undefined,
): Promise<Approved> {
  const tool = toolOf(live);
  const taken = just ?? (await takeRecorded({ ...live, tool }));
  if (taken.type === 'unusable')
    switch (taken.why) {
      case 'altered':
        return { type: 'stop', stop: alteredStop };
      case 'gone':
        return stopped(live, {
          type: 'deny',
          reason: 'expired',
          code: 'confirmation.expired',
          details: `The call cannot run as it was approved: ${taken.problem}.`,
        });
      case 'refused':
        return stopped(live, {
          type: 'deny',
          reason: 'validation',
          code: 'tool.invalid_input',
          details: taken.problem,
        });
    }
  const isNoted = decision !== 'edit' || live.notes.includes(edited);
  const notes = isNoted ? live.notes : [...live.notes, edited];
  return {
    type: 'taken',
    live: withInput(live, tool, taken.prepared, notes),
    isNew: taken.prepared.effective.digest !== inputDigest,
    differs: taken.type === 'differs',
  };
}

const stopped = (live: AcceptedCall, stop: Stop & { type: 'deny' }): Approved => ({
  type: 'stop',
  stop: { ...stop, details: clean(live, stop.details) },
});
