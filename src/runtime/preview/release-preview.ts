/**
 * Tells the tool that a preview will not be carried out, once for each operation. The release is recorded
 * first, so that the preview can no longer be approved. If the process dies in between, the process that ends
 * the call tells the tool, perhaps a second time.
 */
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { CancelledOperation } from '../../tool/preview.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { aside } from '../state/aside.ts';
import { exactSnapshot } from '../state/recall-snapshot.ts';

/** Returns false if another process has changed the call meanwhile. That process then handles the preview. */
export async function releasePreview(live: AcceptedCall, reason: string): Promise<boolean> {
  const { tool, engine, journal } = live;
  const preview = journal.call?.preview;
  if (preview === undefined || live.preview.letGoOf === preview.operationId) return true;
  if (tool?.cancel === undefined) {
    if (tool === undefined)
      aside(
        live,
        `The preview ${preview.operationId} could not be released: this runtime does not have the tool.`,
      );
    return true;
  }
  while (journal.isBehind) {
    const { status } = await journal.flush();
    if (status === 'appended') break;
    if (status !== 'moved') return false;
    // The release is for display. The call has stopped already.
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
