/**
 * Decisions whose request is still arriving. One of them may be a denial, which counts from the start of its
 * request. So a question does not expire while such a request is open, for a limited time.
 */
import type { Confirmation } from '../../call/call.ts';

/** How long after the expiry an incomplete request still delays it. */
export const longestArrivalMs = 10_000;

type Arriving = {
  /** Undefined if the request names it only at its end. */
  readonly confirmationId: string | undefined;
  readonly receivedAt: number;
  readonly ended: Promise<void>;
};

export class ArrivingDecisions {
  readonly #open = new Set<Arriving>();

  /**
   * Notes a request that is arriving. Call the returned function once it was handled, refused or given up.
   */
  note(confirmationId: string | undefined, receivedAt: number): () => void {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const arriving = { confirmationId, receivedAt, ended };
    this.#open.add(arriving);
    return () => {
      this.#open.delete(arriving);
      resolve();
    };
  }

  /** Resolves once a request ended that could still deny this question. Undefined if there is none. */
  mayDeny(
    { confirmationId, expiresAt }: Pick<Confirmation, 'confirmationId' | 'expiresAt'>,
    now: number,
  ): Promise<void> | undefined {
    if (expiresAt === undefined || now >= expiresAt + longestArrivalMs) return undefined;
    for (const arriving of this.#open)
      if (
        arriving.receivedAt < expiresAt &&
        (arriving.confirmationId === undefined || arriving.confirmationId === confirmationId)
      )
        return arriving.ended;
    return undefined;
  }
}
