/**
 * Requests that change a call read it on the event loop. They are refused if the call is too large to read in a few
 * milliseconds. Its size is checked first, without reading it.
 */
import type { CallRef } from './bounded-reads.ts';
import { HttpRefusal } from './problem.ts';
import type { Service } from './service.ts';
import { measureStoredCall, findConfirmation } from 'quittance/internal/ledger/reads';

/** The largest call that a request may change, in bytes of the ledger. */
export const largestChangedBytes = 2_097_152;

/** Throws 413 if the call is too large to change over HTTP. A missing call has no size. */
export async function refuseLargeCall({ ledger }: Pick<Service, 'ledger'>, ref: CallRef): Promise<void> {
  const bytes = await measureStoredCall(ledger, ref.sessionId, ref.callId);
  if (bytes <= largestChangedBytes) return;
  throw new HttpRefusal(
    'http.too_large',
    `Call ${JSON.stringify(ref.callId.slice(0, 200))} has ${bytes} bytes in the ledger, and calls of at most ${largestChangedBytes} are changed over HTTP. Use the command \`quittance\` on the machine of the ledger.`,
    { bytes: String(bytes), most: String(largestChangedBytes) },
  );
}

/** The same for the call of a confirmation. The handler refuses an unknown confirmation. */
export async function refuseLargeQuestion(
  service: Pick<Service, 'ledger'>,
  confirmationId: string,
): Promise<void> {
  const found = await findConfirmation(service.ledger, confirmationId);
  if (found !== undefined) await refuseLargeCall(service, found);
}
