/**
 * The events a server sends (`text/event-stream`), as a source: those of `GET /v1/events` of `quittance/http`, or of
 * anything that sends an event as JSON in each message. The connection is opened when somebody reads and closed when
 * nobody does; where it breaks, the browser connects again and says what it saw last. Only what cannot be mended so,
 * such as a refusal, is thrown.
 */
export function eventStream(url: string | URL, options: EventSourceInit = {}): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => listen(url, options) };
}

/** By hand: a generator could not be stopped while it waits, and the connection would stay. */
function listen(url: string | URL, options: EventSourceInit): AsyncIterator<unknown, undefined> {
  const connection = new EventSource(url, options);
  const heard: string[] = [];
  let status: 'open' | 'refused' | 'closed' = 'open';
  let wake: () => void = () => undefined;
  const hear = ({ data }: MessageEvent<unknown>): void => {
    if (typeof data === 'string') heard.push(data);
    wake();
  };
  // Messages without a name, and those of our own server.
  connection.addEventListener('message', hear);
  connection.addEventListener('entry', hear);
  connection.addEventListener('error', () => {
    if (connection.readyState === EventSource.CLOSED && status === 'open') status = 'refused';
    wake();
  });
  return {
    async next() {
      for (;;) {
        const data = status === 'closed' ? undefined : heard.shift();
        if (data !== undefined) return { done: false, value: parse(data) };
        if (status === 'closed') return { done: true, value: undefined };
        if (status === 'refused')
          throw new Error(
            `${String(url)} does not send events. Is the address right, and are you signed in?`,
          );
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    async return() {
      status = 'closed';
      connection.close();
      wake();
      return { done: true, value: undefined };
    },
  };
}

/** What is no JSON is no event either, and is left out with everything else that is none. */
function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
