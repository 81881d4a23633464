/**
 * Two calls with the same key from their tool are one effect. The later call gets the outcome of the earlier
 * one. If the effect of the earlier call is unknown, a person decides.
 */
import { keyedDigestJson } from '../../base/canonical.ts';
import type { Ask } from '../../call/event.ts';
import type { ClaimHolder } from '../../ledger/claims.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { BoundKey, Findings, ReadyCall } from '../state/call-stages.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { awaitOtherProcess } from '../state/await-other-process.ts';
import type { Gate, Stop, Verdict } from '../state/gate.ts';

export const keyGate: Gate = {
  name: 'key',
  check(live) {
    if (live.tool.idempotencyKey === undefined) return undefined;
    const bound = bindKey(live);
    if (bound.type === 'mistake')
      return {
        type: 'deny',
        reason: 'validation',
        code: 'tool.invalid_input',
        details: 'The tool could not tell this call from others by its arguments, so it was not run.',
        developer: bound.mistake,
      };
    return lookUp({ ...live, ...bound.key }, bound.key.claimKey);
  },
};

export type Bound =
  | { readonly type: 'bound'; readonly key: BoundKey & { readonly claimKey: string } }
  | { readonly type: 'mistake'; readonly mistake: string };

/** Asks the tool for its key. */
export function bindKey({ tool, input, sessionId, engine }: ReadyCall): Bound {
  const made = makeKey(tool, inputForTool(tool.input, input));
  if (made.mistake !== undefined) return { type: 'mistake', mistake: made.mistake };
  const { key: toolKey } = made;
  const scope = tool.idempotencyScope === 'ledger' ? ['ledger'] : ['session', sessionId];
  // A key is made from arguments and may contain hidden values, so the ledger stores its digest.
  const digest = keyedDigestJson(engine.seal.digestKey, toolKey);
  return { type: 'bound', key: { toolKey, claimKey: JSON.stringify([...scope, tool.name, digest]) } };
}

async function lookUp(live: ReadyCall & Findings, claimKey: string): Promise<Verdict> {
  const holder = await live.engine.ledger.claims.readClaim(claimKey);
  const { toolKey } = live;
  return holder === undefined
    ? { type: 'found', found: { toolKey, claimKey } }
    : meetHolder(live, claimKey, holder);
}

/** Decides what the holder of the key means for this call. Waits for a holder that still runs. */
export async function meetHolder(
  live: ReadyCall & Findings,
  claimKey: string,
  holder: ClaimHolder,
): Promise<Verdict> {
  const { engine, services, input, tool, toolKey } = live;
  const stopped = (stop: Stop): Verdict => ({ type: 'stopped', stop, found: { toolKey, claimKey } });
  if (holder.inputDigest !== input.effective.digest)
    return stopped({
      type: 'deny',
      reason: 'conflict',
      code: 'call.conflict',
      details: `Nothing ran: call ${holder.callId} of this tool has the same idempotency key and other arguments. Look at what that call did before you ask for more.`,
    });
  const stored = await engine.ledger.journal.readCall(holder.sessionId, holder.callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined) return { type: 'found', found: { toolKey, claimKey } };
  if (call.settled === undefined) {
    const orphan = await services.endOrphan(stored, call, 'of another');
    if (orphan.type !== 'ended') await awaitOtherProcess(live, call, stored, 'of another');
    return lookUp(live, claimKey);
  }
  if (!call.settled.unsettledEffect) return stopped({ type: 'copy', from: holder });
  const supersedes = { sessionId: holder.sessionId, callId: holder.callId };
  const found = { toolKey, claimKey, supersedes };
  const isResolved = call.resolution !== undefined && call.resolution.resolution !== 'succeeded';
  if (isResolved || live.twins.includes(holder.callId) || tool.rerun === 'allow')
    return { type: 'found', found };
  const description = `Call ${holder.callId} has the same idempotency key, and it is unknown whether it took effect.`;
  const twins = [...live.twins, holder.callId];
  if (tool.rerun === 'deny')
    return {
      type: 'stopped',
      stop: { type: 'deny', reason: 'duplicate', code: 'call.twin', details: description },
      found: { ...found, twins },
    };
  const ask: Ask = { by: { type: 'gate', name: 'twin' }, description, code: 'call.twin' };
  return { type: 'found', found: { ...found, twins, asks: [...live.asks, ask] } };
}

type MadeKey = { readonly key: string; readonly mistake?: undefined } | { readonly mistake: string };

function makeKey(tool: AnyTool, executedInput: unknown): MadeKey {
  try {
    const key: unknown = tool.idempotencyKey?.(executedInput);
    if (typeof key === 'string' && key !== '') return { key };
    return { mistake: `idempotencyKey of the tool "${tool.name}" must give a non-empty text.` };
  } catch (error) {
    return { mistake: `idempotencyKey of the tool "${tool.name}" threw: ${describeThrown(error)}` };
  }
}
