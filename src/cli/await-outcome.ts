/** Waits for the outcome of a call after a decision. */
import type { Call } from '../call/call.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { foldStored } from '../ledger/fold-stored.ts';

export type Awaited =
  /** The call has an outcome. */
  | { readonly status: 'settled'; readonly call: Call }
  /** The call waits for another confirmation than the decided one. */
  | { readonly status: 'asks'; readonly call: Call; readonly confirmationId: string }
  | { readonly status: 'open'; readonly call: Call | undefined };

export async function awaitOutcome(
  ledger: Ledger,
  { sessionId, callId, confirmationId }: Readonly<Record<'sessionId' | 'callId' | 'confirmationId', string>>,
  ms: number,
  signal: AbortSignal,
): Promise<Awaited> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), ms);
  const either = AbortSignal.any([signal, over.signal]);
  try {
    for (;;) {
      const stored = await ledger.journal.readCall(sessionId, callId);
      const call = stored && foldStored(stored);
      if (stored === undefined || call === undefined) return { status: 'open', call: undefined };
      if (call.settled !== undefined) return { status: 'settled', call };
      const asked = call.confirmation;
      if (asked?.status === 'pending' && asked.confirmationId !== confirmationId)
        return { status: 'asks', call, confirmationId: asked.confirmationId };
      if (either.aborted) return { status: 'open', call };
      await ledger.journal.whenChanged(sessionId, callId, stored.version, either);
    }
  } finally {
    clearTimeout(timer);
  }
}
