/**
 * Sends a request again while the answer is `running` without a worker. A busy server answers like that before its gates
 * have decided. The same request makes no second call.
 */
export async function untilDecided<Answer>(
  send: () => Promise<Answer>,
  bodyOf: (answer: Answer) => unknown = (answer) => answer,
): Promise<Answer> {
  for (;;) {
    const answer = await send();
    // Any answer may come here, and only that of a call has these.
    const body = bodyOf(answer) as { readonly decision?: unknown; readonly worker?: unknown } | null;
    if (body?.decision !== 'running' || body.worker !== undefined) return answer;
  }
}
