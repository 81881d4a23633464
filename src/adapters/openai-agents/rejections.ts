/**
 * Rejections in a realtime session. The session answers a rejected call itself and calls no function of the tool, so
 * the question would stay open, and a person could still approve it. The session notes a rejection in its context
 * alone. So this follows `rejectTool` of the context that the session gave, and of no other object.
 */
export type Rejection = { readonly callId: string; readonly message: string | undefined };

/** Follows the rejections of a realtime session, once per session. The context of any other run is left as it is. */
export function createRejectionFollower<Context extends object>(
  record: (runContext: Context, rejection: Rejection) => void,
): (runContext: Context) => void {
  const followed = new WeakSet<object>();
  return (runContext) => {
    const reject = Reflect.get(runContext, 'rejectTool') as unknown;
    if (followed.has(runContext) || !isRealtime(runContext) || typeof reject !== 'function') return;
    followed.add(runContext);
    Object.defineProperty(runContext, 'rejectTool', {
      configurable: true,
      writable: true,
      value: (item: unknown, ...more: readonly unknown[]): unknown => {
        const noted = Reflect.apply(reject, runContext, [item, ...more]) as unknown;
        const callId = textAt(valueAt(item, 'rawItem'), 'callId');
        if (callId !== undefined) record(runContext, { callId, message: textAt(more[0], 'message') });
        return noted;
      },
    });
  };
}

/** A realtime session keeps its history in the context. Runs keep theirs in their state. */
const isRealtime = (runContext: object): boolean =>
  Array.isArray(valueAt(valueAt(runContext, 'context'), 'history'));

const valueAt = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (Reflect.get(value, key) as unknown) : undefined;

function textAt(value: unknown, key: string): string | undefined {
  const found = valueAt(value, key);
  return typeof found === 'string' && found !== '' ? found : undefined;
}
