import { isQuittanceError } from '../../base/error.ts';
import type { Runtime } from '../../runtime/create-runtime.ts';

/**
 * Records a person's decision on a held call from another system. False if the call no longer waits: another decision
 * came first.
 */
export async function decideFor(
  runtime: Runtime,
  call: { readonly sessionId: string; readonly callId: string },
  decision: { readonly decision: 'approve' | 'deny'; readonly by: string; readonly reason?: string },
): Promise<boolean> {
  const [held] = await runtime.calls.list(call);
  const confirmation = held?.confirmation;
  if (confirmation?.status !== 'pending') return false;
  const { confirmationId, inputDigest, revision } = confirmation;
  try {
    await runtime.confirmations.decide(confirmationId, {
      ...decision,
      inputDigest,
      ...(revision !== undefined && { revision }),
    });
    return true;
  } catch (error) {
    if (isQuittanceError(error, 'confirmation.decided') || isQuittanceError(error, 'confirmation.expired'))
      return false;
    throw error;
  }
}
