import type { AcceptedCall } from './accepted-call.ts';
import type { ActiveCall } from './active-call.ts';
import type { CallServices } from './call-services.ts';
import type { AskedCall } from './call-stages.ts';
import type { Engine } from './engine.ts';
import type { Recovery, RecoveryRun, WaitingCalls } from './recovery.ts';

/** A runtime at work: what it is made of and the calls it is making. */
export interface RuntimeState extends CallServices {
  readonly engine: Engine;
  /** By session and call id. */
  readonly activeCalls: ActiveCalls;
  /** Calls the ledger knows of and could not take the end of. By session and call id. */
  readonly pendingSettlements: Map<string, PendingSettlement>;
  /** Calls of owners that are gone, while they are taken over here. By session and call id. */
  readonly recovering: Map<string, Promise<Recovery>>;
  /** Calls of owners that are gone, which wait for a person or a worker. */
  readonly room: WaitingCalls;
  settling: Promise<void> | undefined;
  /** While failed writes are recorded. */
  recording: Promise<void> | undefined;
  /** Set once no call of an owner that was gone is in doubt. */
  swept: boolean;
  /** The pass over the calls of gone owners, while one is under way. */
  run: RecoveryRun | undefined;
  /** Dead owners whose open calls this process has seen to. */
  readonly sweptOwners: Set<string>;
  closed: boolean;
}

/** A call the ledger knows of and whose end it could not take. */
export type PendingSettlement = {
  readonly live: AcceptedCall;
  /** The question about it, if a person is asked. */
  readonly asked: AskedCall | undefined;
};

/** The calls a runtime is making, counted with those of other runtimes on the same ledger. */
export interface ActiveCalls {
  get(key: string): ActiveCall | undefined;
  has(key: string): boolean;
  set(key: string, active: ActiveCall): void;
  delete(key: string): void;
  values(): IterableIterator<ActiveCall>;
}

export function createActiveCalls(counted: Map<string, number>): ActiveCalls {
  const mine = new Map<string, ActiveCall>();
  return {
    get: (key) => mine.get(key),
    has: (key) => mine.has(key),
    set(key, active) {
      mine.set(key, active);
      counted.set(key, (counted.get(key) ?? 0) + 1);
    },
    delete(key) {
      if (!mine.delete(key)) return;
      const others = (counted.get(key) ?? 1) - 1;
      if (others === 0) counted.delete(key);
      else counted.set(key, others);
    },
    values: () => mine.values(),
  };
}

/** Under which a call stands in `inHand`. No two calls share it, whatever their ids are made of. */
export const callKey = (call: { readonly sessionId: string; readonly callId: string }): string =>
  `${call.sessionId.length}:${call.sessionId}${call.callId}`;
