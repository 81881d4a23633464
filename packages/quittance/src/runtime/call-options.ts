/** The options of turns and calls, the decisions of hooks, and the `retry` behavior. */
import type { JsonObject, Awaitable } from '../base/json.ts';
import type { DirectIdentity } from '../call/identity.ts';
import type { Provenance } from '../call/events/gate-event.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { BudgetRule } from './budget.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { ToolRisk } from '../tool/name-words.ts';
import { createHash } from 'node:crypto';
import { QuittanceError } from '../base/error.ts';
import type { ToolResponded } from '../call/events/attempt-event.ts';
import type { ReasonCode } from '../call/reason.ts';
import { isReasonCode } from '../call/reason.ts';
import { checkKeys } from '../base/check-keys.ts';
import type { BehaviorContext, BehaviorHandler, BehaviorSpec } from './behavior.ts';

/** Options of one call, next to its envelope. */
export type CallOptions = {
  /** Metadata of the call: recorded, and visible to policy. */
  readonly attrs?: JsonObject;
  readonly principal?: Principal;
  readonly provenance?: Provenance;
  /**
   * How the calling program was identified, for the record and for `separateDuties`. If its roles do not include
   * operator or admin, only tools that surely read may be called.
   */
  readonly askedBy?: DirectIdentity;
  /**
   * The trace that the call belongs to, as a `traceparent` of the W3C, if the caller sent one. A malformed one is
   * ignored. Default: that of the turn, then the active span of the telemetry.
   */
  readonly traceparent?: string;
  /**
   * Cancels the call. If another caller makes it and this one only joined, it ends the wait: `call.pending`
   * is thrown, and the call continues.
   */
  readonly signal?: AbortSignal;
  readonly onProgress?: (update: Progress) => void;
};
export type Progress = { readonly callId: string; readonly message?: string; readonly fraction?: number };

export type TurnOptions = {
  readonly sessionId: string;
  readonly turnId?: string;
  /**
   * The session that this one works for, for the record. Default for a child turn: the session of its parent.
   */
  readonly parentSessionId?: string;
  /** When the turn ends, in milliseconds since 1970. */
  readonly deadlineMs?: number;
  /** When the turn ends, from now. The earlier of the two counts. */
  readonly timeoutMs?: number;
  /** Budgets of this turn, in addition to the runtime's. */
  readonly budgets?: readonly BudgetRule[];
  readonly principal?: Principal;
  readonly provenance?: Provenance;
  /**
   * How the calling program was identified, for the record and for `separateDuties`. If its roles do not include
   * operator or admin, only tools that surely read may be called.
   */
  readonly askedBy?: DirectIdentity;
  readonly attrs?: JsonObject;
  /** The trace that the calls belong to, as a `traceparent` of the W3C. A malformed one is ignored. */
  readonly traceparent?: string;
};

/** A tool call as a model writes it. The arguments may be JSON text. */
export type ToolCallInput = {
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>> | string;
};

/** A hook's decision about a call: allow, block, or ask a person. */
export type ToolDecision =
  | { readonly type: 'allow' }
  | { readonly type: 'block'; readonly reason: string }
  | {
      readonly type: 'requires_confirmation';
      readonly description: string;
      /** How long a person has. Then the call is denied as `expired`. */
      readonly timeoutMs?: number;
    };

/** Constructors of the three decisions. */
export const ToolDecision: {
  readonly allow: ToolDecision;
  readonly block: (reason: string) => ToolDecision;
  readonly requiresConfirmation: (
    description: string,
    options?: { readonly timeoutMs?: number },
  ) => ToolDecision;
} = {
  allow: { type: 'allow' },
  block: (reason) => ({ type: 'block', reason }),
  requiresConfirmation: (description, { timeoutMs } = {}) => ({
    type: 'requires_confirmation',
    description,
    ...(timeoutMs !== undefined && { timeoutMs }),
  }),
};

/** The call as passed to a hook. Frozen: a hook decides and cannot edit. */
export type ToolUse = {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  /** What a mistake with the tool could cost, if known. */
  readonly risk: ToolRisk | undefined;
  /** The arguments as the body would get them: after coercion and the schema, artifacts filled in. */
  readonly arguments: JsonObject;
  /** The snapshot of the tool's preview. Undefined before the preview is made, and for tools without one. */
  readonly snapshot: JsonObject | undefined;
  readonly principal: Principal | undefined;
  readonly attrs: JsonObject | undefined;
};

/** Called before a body runs. A hook that throws, or returns anything else, blocks the call. */
export type PreToolUse = (use: ToolUse) => Awaitable<ToolDecision>;

/** A parsed decision. `mistake`: the hook's mistake, for the developer. */
export type ReadDecision = ToolDecision & { readonly mistake?: string };

const noDecision = 'A check of the host gave no usable answer, so the call was not allowed.';

/** Blocks because of the hook's mistake. The model does not see the mistake. */
export const blockFor = (mistake: string): ReadDecision => ({ ...ToolDecision.block(noDecision), mistake });

/** Parses the result of a hook. Anything but a decision is a block that says so. */
export function readToolDecision(answer: unknown, hookName: string): ReadDecision {
  const decision = answer as Partial<Record<string, unknown>> | null | undefined;
  switch (decision?.['type']) {
    case 'allow':
      return ToolDecision.allow;
    case 'block':
      return ToolDecision.block(textOr(decision['reason'], 'A check of the host did not allow the call.'));
    case 'requires_confirmation':
      return readQuestion(decision['description'], decision['timeoutMs'], hookName);
    default:
      return blockFor(
        `${hookName} must return ToolDecision.allow, .block(reason) or .requiresConfirmation(description); it returned ${describe(answer)}.`,
      );
  }
}

function readQuestion(description: unknown, timeoutMs: unknown, hookName: string): ReadDecision {
  const question = textOr(description, 'A check of the host asks for a person.');
  if (timeoutMs === undefined) return ToolDecision.requiresConfirmation(question);
  if (typeof timeoutMs === 'number' && Number.isFinite(timeoutMs) && timeoutMs > 0)
    return ToolDecision.requiresConfirmation(question, { timeoutMs });
  return blockFor(
    `${hookName} asks for a person with a timeoutMs that is not a positive number of milliseconds.`,
  );
}

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise;

const describe = (value: unknown): string => {
  if (value === null) return 'null';
  if (typeof value === 'object') return 'an object without a known "type"';
  return typeof value === 'boolean' ? `${value}` : typeof value;
};

/** Which failures are retried, how often, and with which delay. */
export type RetryPolicy = {
  /** Failures to retry. Default: `tool.timeout` and `tool.network_error`. */
  readonly reasons?: readonly ReasonCode[];
  /** Attempts in total, including the first: at most 100. Default: 3. */
  readonly attempts?: number;
  /** Delay before the second attempt, growth factor for each further one, and maximum delay. */
  readonly initialMs?: number;
  readonly factor?: number;
  readonly maxMs?: number;
  /**
   * Random part of the delay, from 0 to 1, so that calls that failed together are not retried together.
   * Default: 0.5.
   */
  readonly jitter?: number;
};

export type RetryOptions = RetryPolicy & {
  /** Its name in the trace. Default: `retry`. */
  readonly name?: string;
  /** Other settings for some tools; `false` for tools that are not retried. */
  readonly tools?: { readonly [toolName: string]: RetryPolicy | false };
};

/** A behavior for `runtime.events.on` and the option `behaviors`. */
export type Behavior = {
  readonly spec: BehaviorSpec;
  readonly handler: BehaviorHandler;
};

/** Maximum number of attempts of a call. No behavior can raise it. */
export const mostAttempts = 100;

const byDefault: Required<RetryPolicy> = {
  reasons: ['tool.timeout', 'tool.network_error'],
  attempts: 3,
  initialMs: 200,
  factor: 2,
  maxMs: 30_000,
  jitter: 0.5,
};
const policyKeys = Object.keys(byDefault);

/**
 * Retries calls that failed for a temporary reason, with the same id and key, if the tool declares that safe.
 * The caller gets one outcome, after the last attempt.
 */
export function retry(options: RetryOptions = {}): Behavior {
  checkKeys('retry', options, [...policyKeys, 'name', 'tools']);
  const { name = 'retry', tools = {}, ...common } = options;
  const general = readPolicy('retry', common, byDefault);
  const special = new Map(
    Object.entries(tools).map(([toolName, policy]) => [
      toolName,
      policy === false ? undefined : readPolicy(`retry for the tool "${toolName}"`, policy, general),
    ]),
  );
  const policyFor = (event: ToolResponded): Required<RetryPolicy> | undefined =>
    special.has(event.outcome.toolName) ? special.get(event.outcome.toolName) : general;
  return {
    spec: {
      name,
      on: 'tool.responded',
      retries: true,
      where: {
        'error.reason': (reason, event) => {
          const policy = policyFor(event as ToolResponded); // the only type it is registered for
          return policy !== undefined && policy.reasons.some((known) => known === reason);
        },
        attempt: (attempt, event) => Number(attempt) < (policyFor(event as ToolResponded)?.attempts ?? 0),
      },
    },
    handler: ((event: ToolResponded, context: BehaviorContext): void => {
      const policy = policyFor(event);
      if (policy !== undefined) context.retry({ afterMs: waitMs(policy, event) });
    }) as BehaviorHandler, // it gets no other type
  };
}

/**
 * The jitter of an attempt is a digest of the attempt: it spreads calls as well as chance, and gives the same
 * value each time.
 */
function waitMs(
  { initialMs, factor, maxMs, jitter }: Required<RetryPolicy>,
  { sessionId, callId, attempt }: Pick<ToolResponded, 'sessionId' | 'callId' | 'attempt'>,
): number {
  const whole = Math.min(maxMs, initialMs * factor ** (attempt - 1));
  const digest = createHash('sha256')
    .update(JSON.stringify([sessionId, callId, attempt]))
    .digest();
  return Math.round(whole * (1 - jitter * (digest.readUInt32BE() / 2 ** 32)));
}

function readPolicy(
  where: string,
  policy: RetryPolicy,
  otherwise: Required<RetryPolicy>,
): Required<RetryPolicy> {
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy))
    throw new QuittanceError('config.invalid', `${where} takes an object, e.g. { attempts: 3 }.`);
  checkKeys(where, policy, policyKeys);
  const read = { ...otherwise, ...withoutUndefined(policy) };
  const unknown = Array.isArray(read.reasons) ? read.reasons.find((code) => !isReasonCode(code)) : 'none';
  if (!Array.isArray(read.reasons) || unknown !== undefined)
    throw new QuittanceError(
      'config.invalid',
      `${where}: reasons must be a list of reason codes such as "tool.timeout", found ${JSON.stringify(unknown ?? read.reasons)}.`,
    );
  const numbers = [
    [
      'attempts',
      Number.isSafeInteger(read.attempts) && read.attempts >= 1 && read.attempts <= mostAttempts,
      `a whole number from 1 to ${mostAttempts}`,
    ],
    ['initialMs', Number.isFinite(read.initialMs) && read.initialMs >= 0, 'a number of at least 0'],
    ['factor', Number.isFinite(read.factor) && read.factor >= 1, 'a number of at least 1'],
    ['maxMs', Number.isFinite(read.maxMs) && read.maxMs >= 0, 'a number of at least 0'],
    ['jitter', read.jitter >= 0 && read.jitter <= 1, 'a number from 0 to 1'],
  ] as const;
  for (const [name, fits, expected] of numbers)
    if (typeof read[name] !== 'number' || !fits)
      throw new QuittanceError(
        'config.invalid',
        `${where}: ${name} must be ${expected}, found ${String(read[name])}.`,
      );
  return read;
}

const withoutUndefined = (policy: RetryPolicy): RetryPolicy =>
  Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== undefined));

const callOptionNames = [
  'attrs',
  'principal',
  'provenance',
  'askedBy',
  'traceparent',
  'signal',
  'onProgress',
] as const;

/** Checks the options of a call before it becomes active. A later error would leave it active for ever. */
export function checkCallOptions(options: CallOptions): void {
  checkKeys('turn.call', options, callOptionNames);
  const { signal, onProgress } = options;
  if (signal !== undefined && typeof signal?.addEventListener !== 'function')
    throw new QuittanceError('config.invalid', 'The signal of a call must be an AbortSignal.');
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw new QuittanceError('config.invalid', 'onProgress of a call must be a function.');
}
