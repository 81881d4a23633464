import type { Awaitable } from './json.ts';

/** True for anything `await` would wait for. */
export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  (typeof value === 'object' || typeof value === 'function') &&
  value !== null &&
  'then' in value &&
  typeof value.then === 'function';

/**
 * Continues with a value: synchronously if it is available, later if it is a promise. So a call whose schema answers
 * synchronously does not wait.
 */
export function whenReady<Value, Next>(
  value: Awaitable<Value>,
  onReady: (value: Value) => Awaitable<Next>,
  onFailed?: (cause: unknown) => Awaitable<Next>,
): Awaitable<Next> {
  return isPromiseLike(value) ? value.then(onReady, onFailed) : onReady(value);
}
