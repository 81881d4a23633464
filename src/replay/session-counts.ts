/** The counters of a session under other rules. */
import type { ToolResponded } from '../call/event.ts';
import { countedEnd } from '../call/counted-end.ts';
import type { SessionCounters } from '../policy/judge/compile-policy.ts';

export class SessionCounts {
  readonly #calls = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #inARow = new Map<string, number>();
  #toolCalls = 0;
  #attempts = 0;
  #allFailures = 0;
  #allInARow = 0;

  get counters(): SessionCounters {
    return {
      toolCalls: this.#toolCalls,
      attempts: this.#attempts,
      callsOf: (toolName) => this.#calls.get(toolName) ?? 0,
      failures: this.#allFailures,
      consecutiveFailures: this.#allInARow,
      failuresOf: (toolName) => this.#failures.get(toolName) ?? 0,
      consecutiveFailuresOf: (toolName) => this.#inARow.get(toolName) ?? 0,
    };
  }

  /** A call reached the rules. */
  reached(): void {
    this.#attempts++;
  }

  /** The tool of a call started. */
  started(toolName: string): void {
    this.#toolCalls++;
    add(this.#calls, toolName);
  }

  /** A tool ended, as recorded. */
  ended({ outcome, toolSuccess }: Pick<ToolResponded, 'outcome' | 'toolSuccess'>): void {
    const { toolName } = outcome;
    const end = countedEnd(outcome, toolSuccess);
    if (end === 'succeeded') {
      this.#allInARow = 0;
      this.#inARow.delete(toolName);
    } else if (end === 'failed') {
      this.#allFailures++;
      this.#allInARow++;
      add(this.#failures, toolName);
      add(this.#inARow, toolName);
    }
  }
}

const add = (counts: Map<string, number>, name: string): void => {
  counts.set(name, (counts.get(name) ?? 0) + 1);
};
