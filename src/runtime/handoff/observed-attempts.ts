/** The attempts of a call that other processes run, as telemetry hears of them. */
import type { Call } from '../../call/call.ts';
import { takenBy } from '../../call/handoff.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';

/** The attempts of workers, in the process that waits for the call. */
export class ObservedAttempts {
  #last = 0;

  /** Call it with each version of the call that was read. */
  note({ journal, engine }: AcceptedCall, call: Call): void {
    const { observer } = journal;
    if (observer?.isRecording !== true) return;
    const taken = takenBy(call);
    if (taken !== undefined && call.attempt > this.#last) {
      this.#last = call.attempt;
      const startedMsAgo = Math.max(0, engine.ledger.now() - taken.at);
      observer.note({ type: 'attempt_started', attempt: call.attempt, startedMsAgo });
    }
    const { settled } = call;
    if (settled === undefined || this.#last === 0) return;
    const { outcome } = settled;
    observer.note({
      type: 'attempt_ended',
      code: 'code' in outcome ? outcome.code : undefined,
      isFinal: true,
    });
  }
}
