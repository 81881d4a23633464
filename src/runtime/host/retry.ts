/** The retry behavior: which failures are retried, how often, and with which delay. */
import { createHash } from 'node:crypto';
import { QuittanceError } from '../../base/error.ts';
import type { ToolResponded } from '../../call/event.ts';
import type { ReasonCode } from '../../call/reason.ts';
import { isReasonCode } from '../../call/reason.ts';
import { checkKeys } from '../../base/check-keys.ts';
import type { BehaviorContext, BehaviorHandler, BehaviorSpec } from './behavior.ts';

/** When to retry a call. */
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

/** The most attempts of a call, whatever its behaviors ask for. */
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
