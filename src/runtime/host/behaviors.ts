/** The behaviors of a runtime, as the rest of it knows them. */
import type { EmittedEvent } from '../../call/emitted-event.ts';
import type { BehaviorFailed, RedeliveryRequested, ToolResponded } from '../../call/event.ts';

/** What a behavior leaves behind: what it emitted, or how it failed. */
export type Emission = EmittedEvent | RedeliveryRequested | BehaviorFailed;

/** What a call needs of the behaviors of its runtime. */
export interface Behaviors {
  /** Is there a behavior that may ask for a retry? */
  readonly anyRetries: boolean;
  /** Might one of them ask for another attempt after such an end? */
  wantRetry(event: ToolResponded): boolean;
  /** Asks them, and waits for their answers: the first that asks for a retry is heard. The signal ends the wait. */
  offerRetry(event: ToolResponded, depth: number, signal: AbortSignal): Promise<Offer>;
}

export type Offer = {
  readonly retry: { readonly by: string; readonly notBefore: number | undefined } | undefined;
  readonly events: readonly Emission[];
};
