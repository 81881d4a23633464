import type { Owners } from '../../ledger/owners.ts';
import type { AcceptedCall } from './accepted-call.ts';
import type { ActiveCalls } from './active-calls.ts';
import type { CallServices } from './call-services.ts';
import type { AskedCall } from './call-stages.ts';
import type { Engine } from './engine.ts';
import type { Recovery, RecoveryRun, WaitingCalls } from './recovery.ts';

/** A running runtime: its parts and its active calls. */
export interface RuntimeState extends CallServices {
  readonly engine: Engine;
  /** By session and call id. */
  readonly activeCalls: ActiveCalls;
  /** Calls that the ledger knows, but whose end it could not store. By session and call id. */
  readonly pendingSettlements: Map<string, PendingSettlement>;
  /** Calls of dead owners that are being taken over here. By session and call id. */
  readonly recovering: Map<string, Promise<Recovery>>;
  /** Calls of dead owners that wait for a person or a worker. */
  readonly room: WaitingCalls;
  settling: Promise<void> | undefined;
  /** Pending while failed writes are recorded. */
  recording: Promise<void> | undefined;
  /** Set once every call of a dead owner with an unknown effect is settled. */
  swept: boolean;
  /** The current pass over the calls of dead owners. */
  run: RecoveryRun | undefined;
  /** Dead owners whose open calls this process has handled. */
  readonly sweptOwners: Set<string>;
  closed: boolean;
}

/** A call that the ledger knows, but whose end it could not store. */
export type PendingSettlement = {
  readonly live: AcceptedCall;
  /** Its question, if it is held. */
  readonly asked: AskedCall | undefined;
};

/** How many runtimes of this handle are making the call. */
export function countMakers({ runtimes }: Pick<Owners, 'runtimes'>, key: string): number {
  let count = 0;
  for (const calls of runtimes) if (calls.has(key)) count++;
  return count;
}
