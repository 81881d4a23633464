/**
 * The recent calls of a turn, for the duplicate and the loop guard. In memory, because both guards are
 * limited to one turn.
 */
import type { ToolOutcome } from '../../call/outcome.ts';

export interface RecentCalls {
  /** Notes that a body started which may change something. Without keys it may change anything. */
  noteWrite(resourceKeys: readonly string[] | undefined): void;
  noteSettled(
    tool: { readonly name: string; readonly idempotent: boolean },
    callId: string,
    inputDigest: string,
    outcome: ToolOutcome,
    content: string,
    resourceKeys: readonly string[] | undefined,
  ): void;
  /**
   * The earlier successful call with the same tool and input, if nothing it may depend on was written since.
   */
  findDuplicate(toolName: string, inputDigest: string): string | undefined;
  /** How many of the last calls in a row were this one with the same outcome. */
  countRepeats(toolName: string, inputDigest: string): number;
  /** Repeated rounds of several calls with the same outcomes that this call would start again. */
  findRounds(toolName: string, inputDigest: string): readonly Round[];
}

export type Round = {
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

export function createRecentCalls(): RecentCalls {
  const successes = new Map<string, Success>();
  const writes = new Map<string, number>();
  let tick = 0;
  let lastWrite = 0;
  let lastUnboundWrite = 0;
  /** How many of the last calls were the same, with the same outcome. */
  let repeats = 0;
  /** The last calls. For each round length, how many calls in a row equal the one that many calls before. */
  const steps: Step[] = [];
  /** Of each step, so that the texts of different calls need not be compared: reading them takes longer. */
  const marks: number[] = [];
  const alikeAt: number[] = Array.from({ length: longestRound + 1 }, () => 0);

  const writtenSince = ({ tick: since, resourceKeys }: Success): boolean => {
    if (resourceKeys === undefined) return lastWrite > since;
    return lastUnboundWrite > since || resourceKeys.some((key) => (writes.get(key) ?? 0) > since);
  };

  return {
    noteWrite(resourceKeys) {
      lastWrite = ++tick;
      if (resourceKeys === undefined) lastUnboundWrite = tick;
      else for (const key of resourceKeys) writes.set(key, tick);
    },
    noteSettled({ name: toolName, idempotent }, callId, inputDigest, outcome, content, resourceKeys) {
      // A denial by a guard is not a new outcome: the loop it stopped continues with the next such call.
      if (outcome.type === 'ToolDenied' && outcome.reason === 'duplicate') return;
      const step: Step = { toolName, inputDigest, type: outcome.type, end: likeness(outcome, content) };
      const mark = markOf(inputDigest);
      for (let length = 1; length <= longestRound; length++) {
        const isAlike =
          marks[marks.length - length] === mark && isSameStep(steps[steps.length - length], step);
        if (length === 1) repeats = isAlike ? repeats + 1 : 1;
        else alikeAt[length] = isAlike ? (alikeAt[length] ?? 0) + 1 : 0;
      }
      steps.push(step);
      marks.push(mark);
      if (steps.length > longestRound) {
        steps.shift();
        marks.shift();
      }
      if (idempotent && (outcome.type === 'ToolExecutionResult' || outcome.type === 'ToolArtifactReference'))
        successes.set(identity(toolName, inputDigest), { callId, tick: ++tick, resourceKeys });
    },
    findDuplicate(toolName, inputDigest) {
      const success = successes.get(identity(toolName, inputDigest));
      return success === undefined || writtenSince(success) ? undefined : success.callId;
    },
    countRepeats(toolName, inputDigest) {
      if (marks[marks.length - 1] !== markOf(inputDigest)) return 0;
      const last = steps.at(-1);
      return last?.toolName === toolName && last.inputDigest === inputDigest ? repeats : 0;
    },
    findRounds(toolName, inputDigest) {
      let rounds: Round[] | undefined;
      const mark = markOf(inputDigest);
      for (let length = 2; length <= longestRound; length++) {
        // The same call repeated is a run, not a round.
        if (repeats >= length || marks[marks.length - length] !== mark) continue;
        const first = steps[steps.length - length];
        if (first?.toolName !== toolName || first.inputDigest !== inputDigest) continue;
        const toolNames = steps.slice(-length).map((step) => step.toolName);
        (rounds ??= []).push({ toolNames, count: Math.floor((alikeAt[length] ?? 0) / length) + 1 });
      }
      return rounds ?? none;
    },
  };
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
