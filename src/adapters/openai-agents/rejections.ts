/**
 * Records rejections in a realtime session. The session answers a rejected call itself and calls no function of the
 * tool, so the confirmation would stay open and could still be approved. The session stores a rejection only in its
 * context. This therefore watches `rejectTool` of that context, and of no other object.
 */
export type Rejection = { readonly callId: string; readonly message: string | undefined };

/** Follows the rejections of a realtime session, once per session. The context of any other run is unchanged. */
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

/** A realtime session keeps its history in the context. Other runs keep it in their state. */
const isRealtime = (runContext: object): boolean =>
  Array.isArray(valueAt(valueAt(runContext, 'context'), 'history'));

const valueAt = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (Reflect.get(value, key) as unknown) : undefined;

function textAt(value: unknown, key: string): string | undefined {
  const found = valueAt(value, key);
  return typeof found === 'string' && found !== '' ? found : undefined;
}
