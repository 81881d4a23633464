/**
 * Ends the open calls of a ledger that was restored from a backup.
 *
 * The original ledger may have continued after the backup was taken. A call that was held, approved or waiting then may
 * have run there since, so this copy must not run it. Only an attempt that its tool declared safe to run again stays open.
 */
import type { Call } from '../../call/call.ts';
import { isHandoff } from '../../call/handoff.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import { endAsFailed } from '../execute/make-attempt.ts';
import { readOpenCalls } from '../handoff/open-calls.ts';
import { clean } from '../input/clean.ts';
import { settle, settleStopped } from '../settle/settle.ts';
import type { RecoveredCall } from '../state/recovery.ts';
import type { RuntimeState } from '../state/runtime-state.ts';
import { importSpills } from '../state/spill.ts';
import { judgeUnknown, lostAttempt } from '../take-over/lost-attempt.ts';
import type { TakenOverCall } from '../take-over/take-over.ts';
import { takeOver } from '../take-over/take-over.ts';
import type { FoundCall } from './orphans.ts';
import { readOpen } from './orphans.ts';

/** `backupAt`: the time of the backup, by the ledger's clock. */
export async function endRestored(state: RuntimeState, backupAt: number): Promise<readonly RecoveredCall[]> {
  await importSpills(state.engine);
  const open: { readonly sessionId: string; readonly callId: string }[] = [];
  for await (const { sessionId, callId } of readOpenCalls(state.engine.ledger))
    open.push({ sessionId, callId });
  const ended: RecoveredCall[] = [];
  for (const ref of open) {
    const found = await readOpen(state, ref);
    if (found === undefined) continue;
    const how = await endOne(state, found, backupAt);
    ended.push({ ...ref, toolName: found.call.toolName, how });
  }
  return ended;
}

async function endOne(
  state: RuntimeState,
  { stored, call }: FoundCall,
  backupAt: number,
): Promise<RecoveredCall['how']> {
  const live = await takeOver(state, stored, call);
  const when = new Date(backupAt).toISOString();
  if (call.status === 'running') return endAttempt(live, call, when);
  const asked = call.confirmation;
  const reason = `The ledger was restored from a backup of ${when}`;
  if (asked?.status === 'pending')
    live.journal.apply({
      type: 'withdraw',
      confirmationId: asked.confirmationId,
      reason: clean(live, reason),
    });
  await settleStopped(live, {
    type: 'deny',
    reason: 'ended',
    code: 'turn.ended',
    details: clean(
      live,
      `${reason}. The call has not run since, but it may have run between the backup and the restore. ` +
        'Find out whether it took effect before you request it again.',
    ),
  });
  return 'cancelled';
}

async function endAttempt(live: TakenOverCall, call: Call, when: string): Promise<RecoveredCall['how']> {
  if (call.failed !== undefined) {
    await endAsFailed(live, call.failed);
    return 'failed';
  }
  if (call.started?.mayRerun === true && !isHandoff(call)) return 'left';
  const outcome: ToolOutcome = await settle(
    live,
    judgeUnknown(live, `The ledger was restored from a backup of ${when}, when the tool was running`),
    lostAttempt(live),
  );
  return outcome.type === 'ToolFailure' ? 'indeterminate' : 'failed';
}
