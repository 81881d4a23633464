/** The input of an undo: the exact arguments of the call that is undone. */
import type { JsonObject } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { acceptInput } from '../accept/accept-input.ts';
import type { Engine } from '../state/engine.ts';
import { isInputDigest } from '../input/input-digest.ts';
import { keepInput } from '../input/kept-input.ts';
import { readRecorded } from '../state/read-recorded.ts';

export type UndoInput =
  | {
      readonly ok: true;
      readonly arguments: JsonObject;
      /** The undoing tool, prepared to accept these arguments. */
      readonly asUndone: (tool: AnyTool | undefined) => AnyTool | undefined;
    }
  | { readonly ok: false; readonly problem: string };

export async function readUndoInput(engine: Engine, call: Call): Promise<UndoInput> {
  const { sessionId, callId } = call;
  const stored = await engine.ledger.journal.readCall(sessionId, callId);
  const alteration = await stored?.findAlteration?.();
  if (alteration !== undefined) return { ok: false, problem: alteration };
  const recorded = await readRecorded(engine, call);
  if (!recorded.ok) return recorded;
  const { form, effectiveInput, accepted } = recorded;
  if (form === 'json') return { ok: true, arguments: effectiveInput, asUndone: asRecorded };
  const tool = engine.tools.get(call.toolName);
  // Ledgers of earlier versions do not store the schema's result.
  if (form === undefined || tool === undefined)
    return { ok: true, arguments: accepted, asUndone: (undoing) => undoing };
  const kept = keepInput(accepted, tool.redact?.input, engine.redactor, engine.seal);
  const again = await acceptInput({ engine, tool, sessionId }, { input: accepted, kept }, accepted, false);
  const digest = call.inputDigest ?? '';
  if (!again.ok || !isInputDigest(digest, again.prepared, engine.seal.digestKey))
    return { ok: false, problem: 'its schema now gives the tool another value than the one it ran with' };
  return { ok: true, arguments: accepted, asUndone: (undoing) => undoing };
}

/** A schema may not accept its own output. */
const asRecorded = (tool: AnyTool | undefined): AnyTool | undefined =>
  tool &&
  Object.freeze({
    ...tool,
    input: {
      ...tool.input,
      keepsValue: true as const,
      check: (value: unknown) => ({ ok: true as const, value }),
    },
  });
