import type { Awaitable } from './json.ts';
import { isPromiseLike } from './when-ready.ts';
import type { Deadlines } from './deadlines.ts';

/** The value, or `otherwise` if it does not come in time. Synchronous work cannot be interrupted. */
export async function within<Value, Other>(
  { deadlines }: { readonly deadlines: Deadlines },
  ms: number,
  value: Awaitable<Value>,
  otherwise: Other,
): Promise<Value | Other> {
  if (!isPromiseLike(value)) return value;
  const tooLong = Promise.withResolvers<Other>();
  const watch = deadlines.watch(Math.max(0, ms), () => tooLong.resolve(otherwise));
  // After a timeout, a later rejection is ignored.
  const given = Promise.resolve(value);
  given.catch(() => undefined);
  try {
    return await Promise.race([given, tooLong.promise]);
  } finally {
    watch.stop();
  }
}
