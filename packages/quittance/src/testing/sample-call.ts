/** Calls as the runtime would write them, made from the rules alone: sample entries for a store. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { Call } from '../call/call.ts';
import type { Command } from '../call/decide.ts';
import { decide } from '../call/decide.ts';
import type { CallEvent, Resolution } from '../call/event.ts';
import { evolve } from '../call/evolve.ts';
import { outcomeToModelContent } from '../call/model-content.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { Entry } from '../ledger/journal.ts';
import type { ToolMode } from '../tool/mode.ts';

export type SampleOptions = {
  readonly sessionId?: string;
  readonly toolName?: string;
  readonly mode?: ToolMode;
  readonly inputDigest?: string;
  readonly userId?: string;
  readonly input?: JsonObject;
  readonly output?: JsonValue;
  /** Time of its events, in milliseconds since 1970. */
  readonly at?: number;
};

/** The parts of an entry outside its events. */
export type EntryParts = Pick<
  Entry,
  'claim' | 'releaseClaim' | 'reserve' | 'settle' | 'sealed' | 'dropSealed'
>;

export type SampleEnd = 'result' | 'failure' | 'timeout';

/** One call and its entries; each entry assumes that the previous one was appended. */
export class SampleCall {
  readonly callId: string;
  readonly sessionId: string;
  readonly inputDigest: string;
  /** The version that the next entry expects. */
  version = 0;
  readonly #options: SampleOptions;
  #state: Call | undefined;
  #count = 0;

  constructor(callId: string, options: SampleOptions = {}) {
    this.callId = callId;
    this.sessionId = options.sessionId ?? 'session';
    this.inputDigest = options.inputDigest ?? `sha256:${'0'.repeat(64)}`;
    this.#options = options;
  }

  /** Requested and allowed; its tool now runs. */
  begin(parts: EntryParts = {}): Entry {
    return this.entry([this.#request(), this.#rule('allow'), start], parts);
  }

  /** Requested and held for approval. */
  hold(): Entry {
    const { inputDigest } = this;
    const confirmationId = `conf-${this.callId}`;
    const by = { type: 'gate', name: 'mode' } as const;
    const asks = [{ by, description: 'It writes.' }];
    return this.entry([
      this.#request(),
      this.#rule('ask'),
      { type: 'hold', confirmationId, description: 'May it?', asks, inputDigest },
    ]);
  }

  /** Requested and denied at once: by the gate, or by a rule. */
  deny(ruleId?: string): Entry {
    return this.entry([
      this.#request(),
      this.#rule('deny', ruleId),
      this.#respond({
        ...this.#named,
        type: 'ToolDenied',
        ...(ruleId === undefined
          ? { code: 'policy.hook', reason: 'pre_hook' }
          : { code: 'policy.contract', reason: 'contract' }),
        details: 'Not today.',
      }),
    ]);
  }

  /** Requested and cancelled before its tool ran. */
  cancel(): Entry {
    return this.entry([
      this.#request(),
      this.#rule('deny'),
      this.#respond({
        ...this.#named,
        type: 'ToolFailure',
        code: 'tool.cancelled',
        error: 'The caller gave up.',
        retryable: false,
        elapsedMs: 4_000,
      }),
    ]);
  }

  /** The outcome. Without a result it is unknown whether the effect happened. */
  end(end: SampleEnd = 'result', parts: EntryParts = {}): Entry {
    return this.entry([this.#respond(this.#outcome(end))], parts);
  }

  /** Started and ended in one entry, as for a read. */
  whole(parts: EntryParts = {}): Entry {
    return this.entry(
      [this.#request(), this.#rule('allow'), start, this.#respond(this.#outcome('result'))],
      parts,
    );
  }

  resolve(resolution: Resolution): Entry {
    const by = { type: 'person', name: 'ada' } as const;
    return this.entry([{ type: 'resolve', resolution, by, reason: undefined, result: undefined }]);
  }

  /** A remark: a conflicting request arrived under this id. */
  conflict(): Entry {
    return this.entry(
      [{ type: 'recall', how: 'conflict', fromCallId: this.callId, details: 'Another one.' }],
      {},
      'any',
    );
  }

  /** A remark: the outcome was served again. */
  recall(): Entry {
    return this.entry(
      [{ type: 'recall', how: 'cached', fromCallId: this.callId, details: 'Served again.' }],
      {},
      'any',
    );
  }

  entry(commands: readonly Command[], parts: EntryParts = {}, expectedVersion?: 'any'): Entry {
    const expected = expectedVersion ?? this.version;
    if (expected !== 'any') this.version++;
    return {
      entryId: `ent-${this.sessionId}-${this.callId}-${this.#count++}`,
      sessionId: this.sessionId,
      callId: this.callId,
      expectedVersion: expected,
      events: commands.map((command) => this.#apply(command)),
      ...parts,
    };
  }

  get #named(): { readonly callId: string; readonly toolName: string } {
    return { callId: this.callId, toolName: this.#options.toolName ?? 'send_mail' };
  }

  #apply(command: Command): CallEvent {
    const decision = decide(this.#state, command, {
      sessionId: this.sessionId,
      turnId: 'turn',
      callId: this.callId,
      at: this.#options.at ?? 1_700_000_000_000,
      nextId: () => `evt-${this.sessionId}-${this.callId}-${this.#count++}`,
    });
    if (!decision.ok)
      throw new TypeError(`${command.type} of the sample ${this.callId}: ${decision.refusal}`);
    this.#state = evolve(this.#state, decision.event);
    return decision.event;
  }

  #request(): Command {
    const { mode = 'external', userId } = this.#options;
    return {
      type: 'request',
      toolName: this.#named.toolName,
      displayName: 'Send mail',
      mode,
      modeOrigin: 'declared',
      requestedInput: this.#options.input ?? { to: `person about ${this.callId}` },
      hidden: [],
      requestDigest: this.inputDigest,
      principal: userId === undefined ? undefined : { userId },
      provenance: undefined,
      attrs: undefined,
      submitted: false,
    };
  }

  #rule(decision: 'allow' | 'deny' | 'ask', ruleId?: string): Command {
    return {
      type: 'rule',
      decision,
      gates: [],
      decidedBy: ruleId === undefined ? { type: 'gate', name: 'policy' } : { type: 'rule', name: ruleId },
      policyVersion: undefined,
      effectiveInput: undefined,
      inputDigest: this.inputDigest,
      changes: [],
      rules: [],
      sideEffect: undefined,
    };
  }

  #outcome(end: SampleEnd): ToolOutcome {
    switch (end) {
      case 'result':
        return {
          ...this.#named,
          type: 'ToolExecutionResult',
          output: this.#options.output ?? { sent: this.callId },
          elapsedMs: 3,
          wasCoerced: false,
        };
      case 'failure':
        return {
          ...this.#named,
          type: 'ToolFailure',
          code: 'tool.network_error',
          error: 'The line was cut.',
          retryable: true,
          elapsedMs: 3,
        };
      case 'timeout':
        return {
          ...this.#named,
          type: 'ToolTimeout',
          code: 'tool.timeout',
          deadlineMs: 1_700_000_005_000,
          elapsedMs: 5_000,
          retryable: true,
        };
    }
  }

  #respond(outcome: ToolOutcome): Command {
    return {
      type: 'respond',
      final: true,
      outcome,
      content: outcomeToModelContent(outcome),
      toolSuccess: outcome.type === 'ToolExecutionResult',
      error: undefined,
      payloadExtras: undefined,
      costMicros: 7,
      reached: [],
      log: [],
      rules: [],
      mayRerun: false,
      repeatIsSafe: false,
    };
  }
}

const start: Command = {
  type: 'start',
  idempotencyKey: undefined,
  deadlineMs: 1_700_000_005_000,
  mayRerun: false,
  reserved: [],
};
