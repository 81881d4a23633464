/**
 * A running runtime, built from its parts in order: the engine, the behaviors, then the code that makes
 * calls.
 */
import type { Awaitable } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { Feed } from '../ledger/feed.ts';
import type { StoredCall } from '../ledger/journal.ts';
import { RuntimeBehaviors } from './behaviors/runtime-behaviors.ts';
import { remindOf } from './people/remind.ts';
import { endOrphan, isOrphan, sweep } from './recovery/recover.ts';
import { recoverCall } from './recovery/recover-call.ts';
import { WaitingRoom } from './recovery/waiting-room.ts';
import type { CallServices, OrphanEnd } from './state/call-services.ts';
import type { ActiveCalls } from './state/active-calls.ts';
import { createActiveCalls } from './state/active-calls.ts';
import type { RuntimeState, PendingSettlement } from './state/runtime-state.ts';
import { callKey } from './state/call-key.ts';
import type { Engine } from './state/engine.ts';
import type { CallRef } from './state/gate.ts';
import type { Recovery, RecoveryRun, WaitingCalls } from './state/recovery.ts';
import type { CallReply } from './state/call-reply.ts';

export class RuntimeCore implements RuntimeState {
  readonly engine: Engine;
  readonly behaviors: RuntimeBehaviors;
  readonly activeCalls: ActiveCalls;
  readonly pendingSettlements: Map<string, PendingSettlement> = new Map();
  readonly recovering: Map<string, Promise<Recovery>> = new Map();
  readonly room: WaitingCalls;
  readonly sweptOwners: Set<string> = new Set();
  settling: Promise<void> | undefined;
  recording: Promise<void> | undefined;
  run: RecoveryRun | undefined;
  swept = false;
  closed = false;

  constructor(engine: Engine, feed: Feed) {
    this.engine = engine;
    this.behaviors = new RuntimeBehaviors(engine, feed);
    this.activeCalls = createActiveCalls();
    engine.ledger.owners.runtimes.add(this.activeCalls);
    this.room = new WaitingRoom(this);
  }

  sweep(sessionId: string): Awaitable<void> {
    return sweep(this, sessionId);
  }

  endOrphan(...[stored, call, asker]: Parameters<CallServices['endOrphan']>): Promise<OrphanEnd> {
    return endOrphan(this, stored, call, asker === 'of the call' ? 1 : 0);
  }

  isOrphan(...[stored, call, asker]: Parameters<CallServices['isOrphan']>): Promise<boolean> {
    return isOrphan(this, stored, call, asker === 'of the call' ? 1 : 0);
  }

  replyTo(call: CallRef): Promise<CallReply> | undefined {
    return this.activeCalls.get(callKey(call))?.reply;
  }

  /** Does a caller wait for the call here, or does recovery work on it? */
  isActive(call: CallRef): boolean {
    return this.activeCalls.has(callKey(call)) || this.recovering.has(callKey(call));
  }

  recover(stored: StoredCall, call: Call): Promise<Recovery> {
    return recoverCall(this, stored, call);
  }

  remind(confirmationId: string): Promise<unknown> {
    return remindOf(this.engine, confirmationId, []);
  }
}
