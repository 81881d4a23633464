/** The state of a turn: its caller, deadline, blocked tools and recent calls. */
import type { TurnEndReason, TurnOpened } from '../../call/event.ts';
import type { Budget } from '../host/budget.ts';
import { strictest } from '../host/budget.ts';
import type { CallerFacts } from '../input/caller-facts.ts';
import { keyBeginning } from './call-key.ts';
import type { RecentCalls } from './recent-calls.ts';

export class TurnState {
  readonly sessionId: string;
  /** The beginning of the keys of its calls. */
  readonly keyBeginning: string;
  readonly turnId: string;
  readonly facts: CallerFacts;
  /** The trace context of the caller, for calls without their own. */
  readonly traceparent: string | undefined;
  /** All budgets that hold for its calls. */
  readonly budgets: readonly Budget[];
  /** Those of them that other processes cannot know from their options: of this turn and its parents. */
  readonly ownBudgets: readonly Budget[];
  readonly recent: RecentCalls;
  /** By the monotonic clock. Infinite if the turn has no deadline. */
  readonly deadlineAtMs: number;
  /** The same time in milliseconds since 1970. */
  readonly deadlineMs: number | undefined;
  /** Tools that failed permanently, and the call that failed. */
  readonly blocked: Map<string, string> = new Map();
  /** How often a failing path of a tool's input was sent to repair. */
  readonly repairs: Map<string, number> = new Map();
  /** The event that a behavior opened it for, and the number of behaviors before it. */
  readonly origin: string | undefined;
  readonly depth: number;
  /** The turn of the agent that started this one. */
  readonly parent: TurnState | undefined;
  private endedBy: TurnEndReason | undefined;
  private withdrawnBy: string | undefined;
  private closedBy: string | undefined;
  opened = false;
  /** Were the calls of dead owners recovered since it began? */
  swept = false;
  onEnd: ((why: TurnEndReason) => void) | undefined;
  private opening: TurnOpened | undefined;
  private listeners: Set<() => void> | undefined;

  constructor(given: {
    readonly opening: TurnOpened;
    readonly facts: CallerFacts;
    readonly traceparent?: string | undefined;
    /** Budgets of the runtime. */
    readonly runtimeBudgets: readonly Budget[];
    readonly ownBudgets: readonly Budget[];
    readonly recent: RecentCalls;
    readonly deadlineAtMs: number;
    readonly depth?: number;
    readonly parent?: TurnState | undefined;
  }) {
    this.sessionId = given.opening.sessionId;
    this.keyBeginning = keyBeginning(given.opening.sessionId);
    this.turnId = given.opening.turnId;
    this.deadlineMs = given.opening.deadlineMs;
    this.facts = given.facts;
    this.traceparent = given.traceparent;
    this.budgets = strictest([...given.runtimeBudgets, ...given.ownBudgets]);
    this.ownBudgets = given.ownBudgets;
    this.recent = given.recent;
    this.deadlineAtMs = given.deadlineAtMs;
    this.opening = given.opening;
    this.origin = given.opening.cause;
    this.depth = given.depth ?? 0;
    this.parent = given.parent;
  }

  get ended(): TurnEndReason | undefined {
    return this.endedBy ?? (this.parent?.closed === undefined ? undefined : 'asked');
  }

  /** Why its questions are withdrawn, including those not asked yet. */
  get withdrawn(): string | undefined {
    return this.withdrawnBy ?? this.closed;
  }

  /** Why no turn below this one may make calls any more. */
  get closed(): string | undefined {
    return this.closedBy ?? this.parent?.closed;
  }

  withdraw(reason: string): void {
    this.withdrawnBy = reason;
  }

  /** Ends this turn and all turns below it, and withdraws their questions. */
  close(reason: string): void {
    this.closedBy = reason;
    this.endBy('asked');
  }

  endBy(why: TurnEndReason): void {
    if (this.endedBy !== undefined) return;
    this.endedBy = why;
    this.onEnd?.(why);
    for (const listener of this.listeners ?? []) listener();
    this.listeners = undefined;
  }

  /** Calls the listener when the turn ends. Returns a function that removes it. */
  whenEnded(listener: () => void): () => void {
    this.listeners ??= new Set();
    this.listeners.add(listener);
    return () => this.listeners?.delete(listener);
  }

  /** Is this the turn, or a turn below it? */
  isWithin(turn: TurnState): boolean {
    return this === turn || this.parent?.isWithin(turn) === true;
  }

  /** `turn.opened` is written with the first append of the turn, so opening one costs no commit. */
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
