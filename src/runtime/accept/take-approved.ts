/** After an approval: takes up exactly the approved input. */
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
      /** Have the gates not judged this input yet? */
      readonly isNew: boolean;
      /** Does the schema now return another value than the approved one? */
      readonly differs: boolean;
    };

const edited = 'A person changed the arguments before the call ran.';

/** `just`: the recorded input, if it was just prepared. */
export async function takeApproved(
  live: AskedCall,
  { decision, inputDigest, judgedDigest }: Confirmation,
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
  const wasEdited = decision === 'edit' || inputDigest !== judgedDigest;
  const isNoted = !wasEdited || live.notes.includes(edited);
  const notes = isNoted ? live.notes : [...live.notes, edited];
  return {
    type: 'taken',
    live: withInput(live, tool, taken.prepared, notes),
    isNew: taken.prepared.effective.digest !== judgedDigest,
    differs: taken.type === 'differs',
  };
}

const stopped = (live: AcceptedCall, stop: Stop & { type: 'deny' }): Approved => ({
  type: 'stop',
  stop: { ...stop, details: clean(live, stop.details) },
});
