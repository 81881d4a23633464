/** The behaviours of a runtime, as the rest of it knows them. */
import type { EmittedEvent } from '../../call/emitted-event.ts';
import type { BehaviorFailed, RedeliveryRequested, ToolResponded } from '../../call/event.ts';
import type { BehaviorHandler, BehaviorSpec, RegisteredBehavior } from './behavior.ts';

/** What a behaviour leaves behind: what it emitted, or how it failed. */
export type Emission = EmittedEvent | RedeliveryRequested | BehaviorFailed;

export interface Behaviors {
  on(spec: BehaviorSpec, handler: BehaviorHandler): RegisteredBehavior;
  /** Whether somebody might ask for another attempt after such an end. */
  wantRetry(event: ToolResponded): boolean;
  /** Tells those who might, and waits for what they say: the first who asks is heard. They are told when nobody waits. */
  offerRetry(event: ToolResponded, depth: number, signal: AbortSignal): Promise<Offer>;
  /** Whether a behaviour of this name is asked by calls before they end, and so is given an event once. */
  isAskedByCalls(name: string): boolean;
  /** Whether there is anybody to ask at all. */
  readonly anyRetries: boolean;
  close(): Promise<void>;
}

export type Offer = {
  readonly retry: { readonly by: string; readonly notBefore: number | undefined } | undefined;
  readonly events: readonly Emission[];
};

/** Until a runtime has its own. */
export const noBehaviors: Behaviors = {
  anyRetries: false,
  on() {
    throw new TypeError('The runtime is not made yet.');
  },
  isAskedByCalls: () => false,
  wantRetry: () => false,
  offerRetry: () => Promise.resolve({ retry: undefined, events: [] }),
  close: () => Promise.resolve(),
};
