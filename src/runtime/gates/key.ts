/**
 * Two calls that carry one tool-made key are one effect. The later one gets the earlier one's answer; if nobody
 * knows how the earlier one ended, a person is asked.
 */
import { keyedDigestJson } from '../../base/canonical.ts';
import type { ClaimHolder } from '../../ledger/claims.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { foldStored } from '../../ledger/fold-stored.ts';
import { unlessLeft } from '../state/unless-left.ts';
import type { Gate, Stop } from '../state/gate.ts';

export const keyGate: Gate = {
  name: 'key',
  check(hand) {
    if (hand.knownTool.idempotencyKey === undefined) return undefined;
    const mistake = bindKey(hand);
    if (mistake !== undefined)
      return {
        type: 'deny',
        reason: 'validation',
        code: 'tool.invalid_input',
        details: 'The tool could not tell this call from others by its arguments, so it was not run.',
        developer: mistake,
      };
    return hand.claimKey === undefined ? undefined : lookUp(hand, hand.claimKey);
  },
};

/** Has the tool make its key. Gives what is wrong with it, if anything is. */
export function bindKey(hand: CallInHand): string | undefined {
  const { knownTool: tool } = hand;
  if (tool.idempotencyKey === undefined) return undefined;
  const key = makeKey(tool, hand.handOut());
  if (key.mistake !== undefined) return key.mistake;
  hand.toolKey = key.key;
  const scope = tool.idempotencyScope === 'ledger' ? ['ledger'] : ['session', hand.turn.sessionId];
  // A key is made of arguments and may hold what is hidden in them: the ledger gets a digest of it.
  const digest = keyedDigestJson(hand.engine.seal.digestKey, key.key);
  hand.claimKey = JSON.stringify([...scope, tool.name, digest]);
  return undefined;
}

async function lookUp(hand: CallInHand, claimKey: string): Promise<Stop | undefined> {
  const holder = await hand.engine.ledger.claims.readClaim(claimKey);
  return holder === undefined ? undefined : meetHolder(hand, claimKey, holder);
}

/** What the holder of the key means for this call. Waits for a holder that is still at it. */
export async function meetHolder(
  hand: CallInHand,
  claimKey: string,
  holder: ClaimHolder,
): Promise<Stop | undefined> {
  const { engine, input, knownTool: tool } = hand;
  if (holder.inputDigest !== input.effective.digest)
    return {
      type: 'deny',
      reason: 'conflict',
      code: 'call.conflict',
      details: `Nothing ran: call ${holder.callId} of this tool has the same idempotency key and other arguments. Look at what that call did before you ask for more.`,
    };
  const stored = await engine.ledger.journal.readCall(holder.sessionId, holder.callId);
  const call = stored && foldStored(stored);
  if (stored === undefined || call === undefined) return undefined;
  if (call.settled === undefined) {
    if ((await engine.endOrphan(stored, call, 'of another')) === true) return lookUp(hand, claimKey);
    await unlessLeft(hand, call, stored.version);
    return lookUp(hand, claimKey);
  }
  if (!call.settled.unsettledEffect) return { type: 'copy', from: holder };
  hand.supersedes = { sessionId: holder.sessionId, callId: holder.callId };
  if (call.resolution !== undefined && call.resolution.resolution !== 'succeeded') return undefined;
  if (hand.twins.includes(holder.callId) || tool.rerun === 'allow') return undefined;
  hand.twins = [...hand.twins, holder.callId];
  const description = `Call ${holder.callId} has the same idempotency key and nobody knows whether it took effect.`;
  if (tool.rerun === 'deny')
    return { type: 'deny', reason: 'duplicate', code: 'call.twin', details: description };
  hand.ask({ by: { type: 'gate', name: 'twin' }, description, code: 'call.twin' });
  return undefined;
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
