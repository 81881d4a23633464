import type { Awaitable } from './json.ts';
import { isPromiseLike } from './when-ready.ts';
import type { Deadlines } from './deadlines.ts';

/** The value, or `otherwise` where it does not come within the time. What is synchronous cannot be interrupted. */
export async function within<Value, Other>(
  { deadlines }: { readonly deadlines: Deadlines },
  ms: number,
  value: Awaitable<Value>,
  otherwise: Other,
): Promise<Value | Other> {
  if (!isPromiseLike(value)) return value;
  const tooLong = Promise.withResolvers<Other>();
  const watch = deadlines.watch(Math.max(0, ms), () => tooLong.resolve(otherwise));
  // Whoever gave it up does not hear what it throws afterwards.
  const given = Promise.resolve(value);
  given.catch(() => undefined);
  try {
    return await Promise.race([given, tooLong.promise]);
  } finally {
    watch.stop();
  }
}
