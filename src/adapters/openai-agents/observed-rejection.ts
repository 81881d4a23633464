/**
 * Finds what a body threw where the framework answers with a text instead and keeps the error to itself.
 *
 * `tool()` of OpenAI Agents JS starts the body and attaches a handler to its promise, both before it returns. While it
 * does, and only then, this watches which promise gets the last handler. Nothing else can run in between: the span is
 * synchronous, and the method is restored on every path out of it.
 *
 * There is no way without this. The body and the error function of a tool are closures of `tool()`, and the error goes
 * to no argument, no result and no hook: tracing gets a text of it, and only where it is on.
 */

export type Observed<Result> = {
  readonly result: Result;
  /** What the watched promise was rejected with. Undefined where it was not, or where there was none to watch. */
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
          watched = promise as Promise<unknown>; // what the method is called on
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
  // The framework has answered, so the promise it watched is settled. One that is not is another one.
  return Promise.race([
    promise.then(
      () => undefined,
      (error: unknown) => ({ error }),
    ),
    new Promise<undefined>((resolve) => setImmediate(resolve, undefined)),
  ]);
}
