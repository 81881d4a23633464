/** What a turn remembers while it lasts: who asks, until when, what is blocked, what was just done. */
import type { JsonObject } from '../base/json.ts';
import type { Provenance, TurnEndReason, TurnOpened } from '../call/event.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { Budget } from './budget.ts';
import type { RecentCalls } from './recent-calls.ts';

export class TurnState {
  readonly sessionId: string;
  readonly turnId: string;
  readonly principal: Principal | undefined;
  readonly provenance: Provenance | undefined;
  readonly attrs: JsonObject | undefined;
  readonly budgets: readonly Budget[];
  readonly recent: RecentCalls;
  /** By the monotonic clock; infinite where the turn has none. */
  readonly deadlineAtMs: number;
  /** The same moment as people write it. */
  readonly deadlineMs: number | undefined;
  /** Tools that failed for good, and the call that did. */
  readonly blocked = new Map<string, string>();
  /** How often a failing path of a tool's input was sent to repair. */
  readonly repairs = new Map<string, number>();
  ended: TurnEndReason | undefined;
  opened = false;
  onEnd: ((why: TurnEndReason) => void) | undefined;
  private opening: TurnOpened | undefined;

  constructor(facts: {
    readonly opening: TurnOpened;
    readonly provenance: Provenance | undefined;
    readonly attrs: JsonObject | undefined;
    readonly budgets: readonly Budget[];
    readonly recent: RecentCalls;
    readonly deadlineAtMs: number;
  }) {
    this.sessionId = facts.opening.sessionId;
    this.turnId = facts.opening.turnId;
    this.principal = facts.opening.principal;
    this.deadlineMs = facts.opening.deadlineMs;
    this.provenance = facts.provenance;
    this.attrs = facts.attrs;
    this.budgets = facts.budgets;
    this.recent = facts.recent;
    this.deadlineAtMs = facts.deadlineAtMs;
    this.opening = facts.opening;
  }

  endBy(why: TurnEndReason): void {
    if (this.ended !== undefined) return;
    this.ended = why;
    this.onEnd?.(why);
  }

  /** `turn.opened` travels with the first append of the turn, so that opening one costs no commit. */
  takeOpening(): TurnOpened | undefined {
    const opening = this.opening;
    this.opening = undefined;
    if (opening !== undefined) this.opened = true;
    return opening;
  }

  returnOpening(opening: TurnOpened): void {
    this.opening = opening;
    this.opened = false;
  }
}
