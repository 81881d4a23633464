/** The port through which the runtime uses its behaviors. */
import type { EmittedEvent } from '../../call/emitted-event.ts';
import type { BehaviorFailed, RedeliveryRequested, ToolResponded } from '../../call/event.ts';

/** An event from a behavior: an emitted one, or its failure. */
export type Emission = EmittedEvent | RedeliveryRequested | BehaviorFailed;

/** What a call needs from the behaviors of its runtime. */
export interface Behaviors {
  /** May any behavior request a retry? */
  readonly anyRetries: boolean;
  /** Might one of them request another attempt after this end? */
  wantRetry(event: ToolResponded): boolean;
  /**
   * Asks them and waits for their answers. The first request for a retry counts. The signal ends the wait.
   */
  offerRetry(event: ToolResponded, depth: number, signal: AbortSignal): Promise<Offer>;
}

export type Offer = {
  readonly retry: { readonly by: string; readonly notBefore: number | undefined } | undefined;
  readonly events: readonly Emission[];
};
