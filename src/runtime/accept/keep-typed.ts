/**
 * A value that JSON cannot represent is passed unchanged to every function of a tool. Before the body gets
 * it, it is compared with the record.
 */
import { isSameJson } from '../../base/same-json.ts';
import { renderTyped } from '../../base/typed-rendering.ts';
import { acceptInput } from './accept-input.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import { withInput } from '../state/call-stages.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import type { Stop } from '../state/gate.ts';
import { isInputDigest } from '../input/input-digest.ts';
import { keepInput } from '../input/kept-input.ts';
import type { PreparedInput } from '../input/prepared-input.ts';
import { resourceKeysOf } from '../input/resource-keys.ts';

export type KeptTyped<Stage> =
  /** The input matches the record. If a function of the tool changed it, it was made again. */
  { readonly type: 'kept'; readonly live: Stage } | { readonly type: 'stopped'; readonly stop: Stop };

export async function keepTyped<Stage extends ReadyCall>(live: Stage): Promise<KeptTyped<Stage>> {
  const { engine, tool, sessionId } = live;
  // The last function of the tool that sees the value before its body.
  resourceKeysOf(tool, () => inputForTool(live.tool.input, live.input));
  if (isAsRecorded(live.input)) return { type: 'kept', live };
  const { accepted, effective, artifacts, changes, acceptedKept } = live.input;
  const kept = keepInput(accepted, tool.redact?.input, engine.redactor, engine.seal);
  const again = await acceptInput({ engine, tool, sessionId }, { input: accepted, kept }, accepted, false);
  if (again.ok && isInputDigest(effective.digest, again.prepared, engine.seal.digestKey)) {
    const input = { ...again.prepared, effective, artifacts, changes, acceptedKept };
    return { type: 'kept', live: withInput(live, tool, input, live.notes) };
  }
  return {
    type: 'stopped',
    stop: {
      type: 'deny',
      reason: 'validation',
      code: 'tool.invalid_input',
      details: `The arguments of "${tool.displayName}" were changed while they were checked, and cannot be made again.`,
    },
  };
}

function isAsRecorded({ value, rendering }: PreparedInput): boolean {
  const read = renderTyped(value);
  return read.ok && rendering !== undefined && isSameJson(read.value, rendering);
}
