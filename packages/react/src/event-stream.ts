/**
 * A source that reads server-sent events (`text/event-stream`): `GET /v1/events` of `@quittance/server`, or any endpoint
 * that sends one JSON event per message. It connects when a component reads it and disconnects when the last one stops.
 * After a broken connection, the browser reconnects and names the last event it saw. A permanent error, such as a
 * rejected request, is thrown.
 */
export function eventStream(url: string | URL, options: EventSourceInit = {}): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => listen(url, options) };
}

/** Written by hand: a waiting generator could not be stopped, and the connection would stay open. */
function listen(url: string | URL, options: EventSourceInit): AsyncIterator<unknown, undefined> {
  const connection = new EventSource(url, options);
  const heard: string[] = [];
  let status: 'open' | 'refused' | 'closed' = 'open';
  let wake: () => void = () => undefined;
  const hear = ({ data }: MessageEvent<unknown>): void => {
    if (typeof data === 'string') heard.push(data);
    wake();
  };
  // Unnamed messages, and those of our own server.
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
          throw new Error(`${String(url)} does not send events. Check the URL and sign in.`);
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

/** Text that is not JSON is not an event, so it is skipped. */
function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
