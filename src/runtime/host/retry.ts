/** The retry behavior: which failures are worth another attempt, how many, and how long to wait in between. */
import { createHash } from 'node:crypto';
import { QuittanceError } from '../../base/error.ts';
import type { ToolResponded } from '../../call/event.ts';
import type { ReasonCode } from '../../call/reason.ts';
import { isReasonCode } from '../../call/reason.ts';
import { checkKeys } from '../../base/check-keys.ts';
import type { BehaviorContext, BehaviorHandler, BehaviorSpec } from './behavior.ts';

/** When to try a call again. */
export type RetryPolicy = {
  /** Failures worth it. `tool.timeout` and `tool.network_error` by default. */
  readonly reasons?: readonly ReasonCode[];
  /** How often a call is tried in all, the first time included. 3. */
  readonly attempts?: number;
  /** How long before the second attempt, by what factor longer before each one after, and no longer than. */
  readonly initialMs?: number;
  readonly factor?: number;
  readonly maxMs?: number;
  /** How much of the wait is left to chance, from 0 to 1, so that calls that failed together do not come back together. 0.5. */
  readonly jitter?: number;
};

export type RetryOptions = RetryPolicy & {
  /** Under which it stands in the trace. `retry`. */
  readonly name?: string;
  /** Other terms for some tools; `false` for those that are not tried again. */
  readonly tools?: { readonly [toolName: string]: RetryPolicy | false };
};

/** A behavior as `runtime.events.on` and the option `behaviors` take it. */
export type Behavior = {
  readonly spec: BehaviorSpec;
  readonly handler: BehaviorHandler;
};

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
 * Tries calls again that failed for a passing reason: the same call, with the same key, where its tool says that this is
 * safe. Whoever made the call hears one outcome, after the last attempt.
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
    }) as BehaviorHandler, // it hears nothing else
  };
}

/**
 * The jitter of an attempt is a digest of which attempt it is: as good as chance for spreading calls, and the same
 * whenever it is asked for.
 */
export function waitMs(
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
    ['attempts', Number.isSafeInteger(read.attempts) && read.attempts >= 1, 'a whole number of at least 1'],
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
