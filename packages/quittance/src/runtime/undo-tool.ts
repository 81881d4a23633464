/**
 * An undo is a call of a tool that is derived from the undone one: gates, rules, limits and people judge it
 * as usual. Models cannot call such a tool; only `runtime.calls.undo` does.
 */
import { findAlteration } from './ledger-trouble.ts';
import { QuittanceError } from '../base/error.ts';
import type { JsonValue } from '../base/json.ts';
import { readJsonText } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import { ToolError } from '../call/tool-error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import { describeThrown } from '../tool/describe-thrown.ts';
import { foldStored } from '../ledger/fold-stored.ts';
import { isAltered, readStoredArtifact } from './stored-artifact.ts';

export const undoToolName = (toolName: string): string => `${toolName}.undo`;

/** The tool whose calls it undoes, from the name of the undo tool. */
export const undoneToolName = (name: string): string | undefined =>
  name.endsWith('.undo') ? name.slice(0, -'.undo'.length) : undefined;

/** The id of the first, second … call to undo this one. No two calls share one. */
export const undoCallId = (callId: string, attempt: number): string =>
  attempt === 1 ? `undo:${callId}` : `undo.${attempt}:${callId}`;

/** The id of the undone call, from the id of its undo. */
export const undoneCallId = (callId: string): string | undefined =>
  /^undo(?:\.\d+)?:(.+)$/s.exec(callId)?.[1];

/** Undefined for a tool that has no undo. */
export function toUndoTool(tool: AnyTool, ledger: Ledger): AnyTool | undefined {
  const { undo, undoMode, undoIdempotent } = tool;
  if (undo === undefined) return undefined;
  return Object.freeze({
    ...tool,
    name: undoToolName(tool.name),
    displayName: `Undo ${tool.displayName}`,
    description: `Undoes a call of ${tool.name}.`,
    mode: undoMode,
    modeOrigin: 'declared',
    // A person asked for the undo, and the risk is that of the call.
    risk: undefined,
    idempotent: undoIdempotent,
    surelyReads: undoMode === 'read',
    mayRerun: undoIdempotent || undoMode === 'read',
    handoff: false,
    costMicros: undefined,
    coerce: false,
    successCheck: undefined,
    idempotencyKey: undefined,
    reconcile: undefined,
    preview: undefined,
    cancel: undefined,
    undo: undefined,
    output: undefined,
    run: async (args, context) => {
      const output = await outputOf(ledger, context.sessionId, undoneCallId(context.callId) ?? '');
      return undo(args, output, context);
    },
  });
}

/** The stored output of the call. Throws, before anything is undone, if it is unavailable. */
async function outputOf(ledger: Ledger, sessionId: string, callId: string): Promise<unknown> {
  let problem: string;
  try {
    const stored = await ledger.readCall(sessionId, callId);
    const alteration = await findAlteration(stored);
    if (alteration !== undefined)
      throw new QuittanceError(
        'ledger.altered',
        `The output of call ${callId} cannot be used: ${alteration}.`,
      );
    const output = await readOutput(ledger, stored && foldStored(stored));
    if (output !== undefined) return structuredClone(output);
    problem = 'it is no longer stored';
  } catch (error) {
    if (isAltered(error)) throw error;
    problem = describeThrown(error);
  }
  throw new ToolError('tool.execution_error', `The output of call ${callId} cannot be read: ${problem}.`, {
    retryable: true,
  });
}

async function readOutput(ledger: Ledger, call: Call | undefined): Promise<JsonValue | undefined> {
  const outcome = call?.settled?.outcome;
  if (call === undefined || outcome === undefined) return undefined;
  if (outcome.type === 'ToolExecutionResult') return outcome.output;
  if (outcome.type !== 'ToolArtifactReference') return call.resolution?.result ?? null;
  const artifact = await readStoredArtifact(ledger, call.sessionId, outcome.artifactId);
  return typeof artifact?.content === 'string' ? readJsonText(artifact.content) : undefined;
}

/** Metadata of an undo, next to its arguments. */
type UndoAttrs = { readonly by: string; readonly reason: string | undefined; readonly force: boolean };

export function readUndoAttrs(attrs: Call['attrs']): UndoAttrs {
  const { by, reason, force } = attrs ?? {};
  return {
    by: typeof by === 'string' ? by : 'somebody',
    reason: typeof reason === 'string' ? reason : undefined,
    force: force === true,
  };
}
