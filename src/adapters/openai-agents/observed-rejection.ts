/**
 * Finds the error of a tool if the framework answers with a text and hides the error.
 *
 * `tool()` of OpenAI Agents JS starts the tool's function and attaches a handler to its promise, both before it
 * returns. During that time only, this watches which promise gets the last handler. No other code can run in between:
 * the span is synchronous, and the method is restored on every path.
 *
 * There is no other way. The function and the error function of a tool are closures of `tool()`, and no argument,
 * result or hook receives the error. Tracing receives only a text, and only if it is on.
 */

export type Observed<Result> = {
  readonly result: Result;
  /** The rejection of the watched promise. Undefined if it was not rejected, or if there was none. */
  readonly rejection: () => Promise<{ readonly error: unknown } | undefined>;
};

export function observeRejection<Result>(start: () => Result): Observed<Result> {
  const { prototype } = Promise;
  const own = Object.getOwnPropertyDescriptor(prototype, 'catch');
  const original: unknown = own?.value;
  let watched: Promise<unknown> | undefined;
  const isWatching =
    typeof original === 'function' &&
    Reflect.defineProperty(prototype, 'catch', {
      ...own,
      value: new Proxy(original, {
        apply(attach, promise, handlers) {
          watched = promise as Promise<unknown>; // the receiver of the method
          return Reflect.apply(attach, promise, handlers) as unknown;
        },
      }),
    });
  try {
    return { result: start(), rejection: () => rejectionOf(watched) };
  } finally {
    if (isWatching && own !== undefined) Reflect.defineProperty(prototype, 'catch', own);
  }
}

async function rejectionOf(promise: Promise<unknown> | undefined): Promise<{ error: unknown } | undefined> {
  if (promise === undefined) return undefined;
  // The framework has answered, so its promise is settled. An unsettled promise is another one.
  return Promise.race([
    promise.then(
      () => undefined,
      (error: unknown) => ({ error }),
    ),
    new Promise<undefined>((resolve) => setImmediate(resolve, undefined)),
  ]);
}
