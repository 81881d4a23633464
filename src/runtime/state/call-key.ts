/** The key of a call in `activeCalls`. No two calls share it, whatever their ids contain. */
export const callKey = (call: { readonly sessionId: string; readonly callId: string }): string =>
  keyBeginning(call.sessionId) + call.callId;

/** The same for all calls of a session. */
export const keyBeginning = (sessionId: string): string => `${sessionId.length}:${sessionId}`;
