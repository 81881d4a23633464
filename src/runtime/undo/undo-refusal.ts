/** Why a call cannot be undone now. */
import { describeDecider } from '../../call/describe-identity.ts';
import type { ErrorCode } from '../../base/error.ts';
import type { Call } from '../../call/call.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { Engine } from '../state/engine.ts';
import { laterWrites } from './later-writes.ts';

export type UndoRefusal = { readonly code: ErrorCode & `undo.${string}`; readonly message: string };

export async function whyNotUndo(
  engine: Engine,
  tool: AnyTool | undefined,
  call: Call,
  force: boolean,
): Promise<UndoRefusal | undefined> {
  const { callId, toolName, undone } = call;
  if (undone !== undefined)
    return {
      code: 'undo.spent',
      message: `Call ${callId} was undone already, by ${describeDecider(undone.by)} at ${new Date(undone.at).toISOString()} (call ${undone.undoCallId}).`,
    };
  const handle = handleOf(call, tool);
  if (handle.type === 'never')
    return { code: 'undo.unavailable', message: `Call ${callId} cannot be undone: ${handle.why}.` };
  if (handle.until !== undefined && engine.ledger.now() >= handle.until)
    return {
      code: 'undo.expired',
      message: `Call ${callId} could be undone until ${new Date(handle.until).toISOString()}.`,
    };
  if (tool?.undo === undefined)
    return {
      code: 'undo.unavailable',
      message: `Call ${callId} cannot be undone here: this runtime has no tool "${toolName}" that can undo anything.`,
    };
  if (force) return undefined;
  const later = await laterWrites(engine, tool, call);
  if (later.length === 0) return undefined;
  return {
    code: 'undo.conflict',
    message: `Call ${callId} cannot be undone without harm: ${later.map((other) => `call ${other.callId} (${other.toolName})`).join(', ')} touched the same since. Undo those first, or undo with { force: true }.`,
  };
}

const never = (why: string): { readonly type: 'never'; readonly why: string } => ({ type: 'never', why });

/** Until when a call can be undone, or why it cannot. A later resolution counts as much as the outcome. */
function handleOf(
  { settled, resolution, copiedFrom }: Call,
  tool: AnyTool | undefined,
): { readonly type: 'until'; readonly until?: number } | { readonly type: 'never'; readonly why: string } {
  if (settled === undefined) return never('it has not ended');
  if (copiedFrom !== undefined)
    return never(`it was answered by call ${copiedFrom}, which did the work; undo that one`);
  const { outcome } = settled;
  if (outcome.type === 'ToolExecutionResult' || outcome.type === 'ToolArtifactReference')
    return outcome.undo === undefined
      ? never('its tool could not undo anything when it ran')
      : { type: 'until', ...outcome.undo };
  if (resolution?.resolution !== 'succeeded') return never('it did not succeed');
  return {
    type: 'until',
    ...(tool?.undoWithinMs !== undefined && { until: resolution.at + tool.undoWithinMs }),
  };
}
