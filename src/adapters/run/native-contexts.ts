import { callKey } from '../../runtime/state/call-key.ts';
import type { NativeOf } from '../adopt/adopted-tool.ts';
import { rememberPerKey } from './remember.ts';

/** The framework's contexts of calls that run now or await approval. */
export class NativeContexts<Native> {
  readonly #running = new Map<string, Native>();
  /** Calls that await approval after their caller went away. */
  readonly #waiting = new Map<string, Native>();

  readonly find: NativeOf<Native> = (call) => {
    const key = callKey(call);
    return this.#running.get(key) ?? this.#waiting.get(key);
  };

  /** Stores the context of the call while `make` runs, and while the call awaits approval. */
  async during<Made extends { readonly type: string } | undefined>(
    key: string,
    native: Native | undefined,
    make: () => Promise<Made>,
  ): Promise<Made> {
    if (native !== undefined) this.#running.set(key, native);
    let made: Made | undefined;
    try {
      return (made = await make());
    } finally {
      this.#running.delete(key);
      if (made?.type !== 'pending') this.#waiting.delete(key);
      else if (native !== undefined) rememberPerKey(this.#waiting, key, native);
    }
  }
}
