import type { Call } from '../../call/call.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { CallObserver } from '../state/call-observer.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { callKey } from '../state/call-key.ts';
import type { TakenOverCall } from '../take-over/take-over.ts';

/**
 * A report is judged and stored. If this process does not wait for the call, it adds a span to the trace of the call.
 * The process that waits counts the call.
 */
export async function observeReport(
  { activeCalls }: RuntimeState,
  live: TakenOverCall,
  call: Call,
  settle: () => Promise<ToolOutcome | undefined>,
): Promise<ToolOutcome | undefined> {
  const waiting = activeCalls.get(callKey(call));
  if (waiting !== undefined) {
    waiting.live.journal.observer?.note({ type: 'settling' });
    return settle();
  }
  const observer = CallObserver.start(live, call.traceparent);
  live.journal.observer = observer;
  let outcome: ToolOutcome | undefined;
  try {
    observer?.noteCountedElsewhere();
    observer?.note({ type: 'settling' });
    outcome = await settle();
    return outcome;
  } finally {
    observer?.end(outcome);
  }
}
