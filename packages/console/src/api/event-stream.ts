/** Server-sent events read with `fetch`, because an `EventSource` cannot send the page key. */
import { pageKeyHeaders } from './page-key.ts';

export type EventStreamHandlers = {
  readonly onOpen?: () => void;
  readonly onMessage: (type: string, data: string) => void;
  /** The stream ended or broke. `refused`: the server responded with an error, so reconnecting alone does not help. */
  readonly onEnd: (refused: boolean) => void;
};

/** Opens the stream. The returned function closes it; after that, no handler is called. */
export function openEventStream(address: string, handlers: EventStreamHandlers): () => void {
  const left = new AbortController();
  void read(address, handlers, left.signal).then((refused) => {
    if (!left.signal.aborted) handlers.onEnd(refused);
  });
  return () => left.abort();
}

async function read(
  address: string,
  { onOpen, onMessage }: EventStreamHandlers,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const answer = await fetch(address, {
      credentials: 'same-origin',
      cache: 'no-store',
      headers: { accept: 'text/event-stream', ...pageKeyHeaders() },
      signal,
    });
    if (!answer.ok || answer.body === null) return true;
    onOpen?.();
    const decoder = new TextDecoder();
    let text = '';
    for (const reader = answer.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done || signal.aborted) return false;
      text += decoder.decode(value, { stream: true });
      // The server ends lines with \n alone.
      const messages = text.split('\n\n');
      text = messages.pop() ?? '';
      for (const message of messages) {
        const field = (name: string): string[] =>
          message
            .split('\n')
            .flatMap((line) => (line.startsWith(`${name}: `) ? [line.slice(name.length + 2)] : []));
        const data = field('data');
        if (data.length > 0 && !signal.aborted) onMessage(field('event')[0] ?? 'message', data.join('\n'));
      }
    }
  } catch {
    return false;
  }
}
