import type { Awaitable } from './json.ts';

/** True for anything `await` would wait for. */
export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  (typeof value === 'object' || typeof value === 'function') &&
  value !== null &&
  'then' in value &&
  typeof value.then === 'function';

/**
 * Goes on with a value: at once when it is here, later when it is promised. Keeps what is synchronous
 * synchronous, so that a call whose schema answers at once waits for nothing.
 */
export function whenReady<Value, Next>(
  value: Awaitable<Value>,
  onReady: (value: Value) => Awaitable<Next>,
  onFailed?: (cause: unknown) => Awaitable<Next>,
): Awaitable<Next> {
  return isPromiseLike(value) ? value.then(onReady, onFailed) : onReady(value);
}
