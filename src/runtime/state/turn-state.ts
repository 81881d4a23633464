/** What a turn remembers while it lasts: who asks, until when, what is blocked, what was just done. */
import type { TurnEndReason, TurnOpened } from '../../call/event.ts';
import type { Budget } from '../host/budget.ts';
import type { CallerFacts } from '../input/caller-facts.ts';
import type { RecentCalls } from './recent-calls.ts';

export class TurnState {
  readonly sessionId: string;
  readonly turnId: string;
  readonly facts: CallerFacts;
  readonly budgets: readonly Budget[];
  readonly recent: RecentCalls;
  /** By the monotonic clock; infinite where the turn has none. */
  readonly deadlineAtMs: number;
  /** The same moment as people write it. */
  readonly deadlineMs: number | undefined;
  /** Tools that failed for good, and the call that did. */
  readonly blocked: Map<string, string> = new Map();
  /** How often a failing path of a tool's input was sent to repair. */
  readonly repairs: Map<string, number> = new Map();
  /** The event a behavior opened it for, and how many behaviors stand before it. */
  readonly origin: string | undefined;
  readonly depth: number;
  ended: TurnEndReason | undefined;
  /** Why its questions to people are taken back, once they are: those still to be asked too. */
  withdrawn: string | undefined;
  opened = false;
  /** Whether the calls of owners that are gone were seen to since it began. */
  swept = false;
  onEnd: ((why: TurnEndReason) => void) | undefined;
  private opening: TurnOpened | undefined;
  private listeners: Set<() => void> | undefined;

  constructor(given: {
    readonly opening: TurnOpened;
    readonly facts: CallerFacts;
    readonly budgets: readonly Budget[];
    readonly recent: RecentCalls;
    readonly deadlineAtMs: number;
    readonly depth?: number;
  }) {
    this.sessionId = given.opening.sessionId;
    this.turnId = given.opening.turnId;
    this.deadlineMs = given.opening.deadlineMs;
    this.facts = given.facts;
    this.budgets = given.budgets;
    this.recent = given.recent;
    this.deadlineAtMs = given.deadlineAtMs;
    this.opening = given.opening;
    this.origin = given.opening.cause;
    this.depth = given.depth ?? 0;
  }

  endBy(why: TurnEndReason): void {
    if (this.ended !== undefined) return;
    this.ended = why;
    this.onEnd?.(why);
    for (const listener of this.listeners ?? []) listener();
    this.listeners = undefined;
  }

  /** Has somebody told when the turn ends, until they say that they need not be. */
  whenEnded(listener: () => void): () => void {
    this.listeners ??= new Set();
    this.listeners.add(listener);
    return () => this.listeners?.delete(listener);
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
