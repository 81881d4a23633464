/** The state of a turn: its caller, deadline, blocked tools and recent calls. */
import type { TurnEndReason, TurnOpened } from '../call/events/session-event.ts';
import type { Budget } from './budget.ts';
import { strictest } from './budget.ts';
import type { CallerFacts } from './call-input.ts';
import type { ToolOutcome } from '../call/outcome.ts';

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
  /** The budgets of this turn and its parents, which other processes cannot know from their options. */
  readonly ownBudgets: readonly Budget[];
  readonly recent: RecentCalls = new RecentCalls();
  /** By the monotonic clock. Infinite if the turn has no deadline. */
  readonly deadlineAtMs: number;
  /** The same time in milliseconds since 1970. */
  readonly deadlineMs: number | undefined;
  /** Tools that failed permanently, and the call that failed. */
  blocked: Map<string, string> | undefined;
  /** How often a failing path of a tool's input was sent to repair. */
  repairs: Map<string, number> | undefined;
  /** The event that a behavior opened it for, and the number of behaviors before it. */
  readonly origin: string | undefined;
  readonly depth: number;
  /** The turn of the agent that started this one. */
  readonly parent: TurnState | undefined;
  private endedBy: TurnEndReason | undefined;
  private withdrawnBy: string | undefined;
  private closedBy: string | undefined;
  opened = false;
  /** True if calls of dead owners were recovered since the turn began. */
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
    this.deadlineAtMs = given.deadlineAtMs;
    this.opening = given.opening;
    this.origin = given.opening.cause;
    this.depth = given.depth ?? 0;
    this.parent = given.parent;
  }

  get ended(): TurnEndReason | undefined {
    return this.endedBy ?? (this.parent?.closed === undefined ? undefined : 'asked');
  }

  /** The reason why its questions are withdrawn, including later ones. */
  get withdrawn(): string | undefined {
    return this.withdrawnBy ?? this.closed;
  }

  /** The reason why no turn below this one may make calls any more. */
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

  /** True for this turn and the turns below it. */
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

/** The key of a call in `callsInProgress`. No two calls share it, whatever their ids contain. */
export const callKey = (call: { readonly sessionId: string; readonly callId: string }): string =>
  keyBeginning(call.sessionId) + call.callId;

/** The same for all calls of a session. */
const keyBeginning = (sessionId: string): string => `${sessionId.length}:${sessionId}`;

type Round = {
  /** The tools of one round, in order. */
  readonly toolNames: readonly string[];
  /** How often it was made. */
  readonly count: number;
};

type Success = {
  readonly callId: string;
  readonly tick: number;
  readonly resourceKeys: readonly string[] | undefined;
};

type Step = {
  readonly toolName: string;
  readonly inputDigest: string;
  readonly type: ToolOutcome['type'];
  /** Equal for equal outcomes of one type. */
  readonly end: string;
};

const none: readonly never[] = Object.freeze([]);

/** The most calls in a round. */
const longestRound = 8;

/**
 * The recent calls of a turn, for the duplicate and the loop guard. In memory, because both guards are
 * limited to one turn.
 */
class RecentCalls {
  #successes: Map<string, Success> | undefined;
  #writes: Map<string, number> | undefined;
  #tick = 0;
  #lastWrite = 0;
  #lastUnboundWrite = 0;
  /** Number of the last calls in a row that were the same, with the same outcome. */
  #repeats = 0;
  /** The last calls. For each round length, how many calls in a row equal the one that many calls before. */
  readonly #steps: Step[] = [];
  /** A number for each step, so that the texts of different calls need not be compared, which is slower. */
  readonly #marks: number[] = [];
  readonly #alikeAt: number[] = [];

  /** Notes the start of a body that may write. Without keys it may write anything. */
  noteWrite(resourceKeys: readonly string[] | undefined): void {
    this.#lastWrite = ++this.#tick;
    if (resourceKeys === undefined) this.#lastUnboundWrite = this.#tick;
    else for (const key of resourceKeys) (this.#writes ??= new Map()).set(key, this.#tick);
  }

  noteSettled(
    { name: toolName, idempotent }: { readonly name: string; readonly idempotent: boolean },
    callId: string,
    inputDigest: string,
    outcome: ToolOutcome,
    content: string,
    resourceKeys: readonly string[] | undefined,
  ): void {
    // A denial by a guard is not a new outcome: the loop it stopped continues with the next such call.
    if (outcome.type === 'ToolDenied' && outcome.reason === 'duplicate') return;
    const step: Step = { toolName, inputDigest, type: outcome.type, end: likeness(outcome, content) };
    const mark = markOf(inputDigest);
    const steps = this.#steps;
    const marks = this.#marks;
    for (let length = 1; length <= longestRound; length++) {
      const isAlike = marks[marks.length - length] === mark && isSameStep(steps[steps.length - length], step);
      if (length === 1) this.#repeats = isAlike ? this.#repeats + 1 : 1;
      else this.#alikeAt[length - 2] = isAlike ? (this.#alikeAt[length - 2] ?? 0) + 1 : 0;
    }
    steps.push(step);
    marks.push(mark);
    if (steps.length > longestRound) {
      steps.shift();
      marks.shift();
    }
    if (idempotent && (outcome.type === 'ToolExecutionResult' || outcome.type === 'ToolArtifactReference'))
      (this.#successes ??= new Map()).set(identity(toolName, inputDigest), {
        callId,
        tick: ++this.#tick,
        resourceKeys,
      });
  }

  /**
   * The earlier successful call with the same tool and input, if nothing that it may depend on was written since.
   */
  findDuplicate(toolName: string, inputDigest: string): string | undefined {
    const success = this.#successes?.get(identity(toolName, inputDigest));
    return success === undefined || this.#writtenSince(success) ? undefined : success.callId;
  }

  /** Number of the last calls in a row that were this one with the same outcome. */
  countRepeats(toolName: string, inputDigest: string): number {
    if (this.#marks[this.#marks.length - 1] !== markOf(inputDigest)) return 0;
    const last = this.#steps.at(-1);
    return last?.toolName === toolName && last.inputDigest === inputDigest ? this.#repeats : 0;
  }

  /** Repeated rounds of several calls with the same outcomes that this call would start again. */
  findRounds(toolName: string, inputDigest: string): readonly Round[] {
    let rounds: Round[] | undefined;
    const mark = markOf(inputDigest);
    const steps = this.#steps;
    for (let length = 2; length <= longestRound; length++) {
      // The same call repeated is a run, not a round.
      if (this.#repeats >= length || this.#marks[this.#marks.length - length] !== mark) continue;
      const first = steps[steps.length - length];
      if (first?.toolName !== toolName || first.inputDigest !== inputDigest) continue;
      const toolNames = steps.slice(-length).map((step) => step.toolName);
      const count = Math.floor((this.#alikeAt[length - 2] ?? 0) / length) + 1;
      (rounds ??= []).push({ toolNames, count });
    }
    return rounds ?? none;
  }

  #writtenSince({ tick: since, resourceKeys }: Success): boolean {
    if (resourceKeys === undefined) return this.#lastWrite > since;
    return (
      this.#lastUnboundWrite > since || resourceKeys.some((key) => (this.#writes?.get(key) ?? 0) > since)
    );
  }
}

/** Equal for equal digests, and rarely for different ones. */
function markOf(inputDigest: string): number {
  let mark = 0;
  for (let index = Math.max(0, inputDigest.length - 7); index < inputDigest.length; index++)
    mark = (mark * 31 + inputDigest.charCodeAt(index)) | 0;
  return mark;
}

const isSameStep = (one: Step | undefined, other: Step | undefined): boolean =>
  one?.toolName === other?.toolName &&
  one?.inputDigest === other?.inputDigest &&
  one?.type === other?.type &&
  one?.end === other?.end;

/** Equal for equal outcomes of one type. Leaves out times and artifact ids, which always differ. */
function likeness(outcome: ToolOutcome, content: string): string {
  switch (outcome.type) {
    case 'ToolTimeout':
      return '';
    case 'ToolArtifactReference':
      return `${outcome.sizeBytes} ${outcome.summary}`;
    case 'ToolExecutionResult':
    case 'ToolFailure':
    case 'ToolDenied':
      return content;
  }
}

const identity = (toolName: string, inputDigest: string): string => `${inputDigest}\n${toolName}`;
