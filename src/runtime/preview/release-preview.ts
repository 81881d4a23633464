/**
 * Nothing will come of a preview: its tool is told, once for each operation. That nothing will is on the record before,
 * so that nobody can agree meanwhile to what was let go. If the process dies between the two, whoever ends the call
 * tells the tool, perhaps again.
 */
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { CancelledOperation } from '../../tool/preview.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { aside } from '../state/aside.ts';
import { exactSnapshot } from '../state/recall-snapshot.ts';

/** False where somebody else has moved the call meanwhile, and so decides what becomes of it. */
export async function releasePreview(live: AcceptedCall, reason: string): Promise<boolean> {
  const { tool, engine, journal } = live;
  const preview = journal.call?.preview;
  if (preview === undefined || live.preview.letGoOf === preview.operationId) return true;
  if (tool?.cancel === undefined) {
    if (tool === undefined) aside(live, `Nobody here could let go of ${preview.operationId}: no such tool.`);
    return true;
  }
  while (journal.isBehind) {
    const { status } = await journal.flush();
    if (status === 'appended') break;
    if (status !== 'moved') return false;
    // What a call that is stopped leaves behind beside itself is for show.
    journal.stay();
  }
  live.preview.letGoOf = preview.operationId;
  const { snapshot } = live.preview;
  const { call } = journal;
  const exact =
    snapshot?.operationId === preview.operationId
      ? snapshot.snapshot
      : call && (await exactSnapshot(engine, call));
  const operation: CancelledOperation = Object.freeze({
    sessionId: live.sessionId,
    callId: live.callId,
    operationId: preview.operationId,
    revision: preview.revision,
    snapshot: exact,
    reason,
  });
  const tooLong = Promise.withResolvers<string>();
  const watch = engine.deadlines.watch(engine.cancelGraceMs, () =>
    tooLong.resolve(`took longer than ${engine.cancelGraceMs} ms`),
  );
  try {
    const problem = await Promise.race([notifyTool(tool.cancel, operation), tooLong.promise]);
    if (problem !== undefined) aside(live, `cancel of ${preview.operationId} ${problem}`);
  } finally {
    watch.stop();
  }
  return true;
}

async function notifyTool(
  cancel: (operation: CancelledOperation) => unknown,
  operation: CancelledOperation,
): Promise<string | undefined> {
  try {
    await cancel(operation);
    return undefined;
  } catch (error) {
    return `threw: ${describeThrown(error)}`;
  }
}
