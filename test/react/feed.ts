/** A source that a test feeds by hand, and that reports how it is read. */
export function createFeed(): {
  readonly source: AsyncIterable<unknown>;
  readonly push: (events: readonly unknown[]) => void;
  readonly fail: (message: string) => void;
  readonly end: () => void;
  /** How many readings were started, and how many are open. */
  readonly readings: { begun: number; open: number };
} {
  const readings = { begun: 0, open: 0 };
  let waiting: (() => void) | undefined;
  const queue: (() => IteratorResult<unknown>)[] = [];
  const put = (step: () => IteratorResult<unknown>): void => {
    queue.push(step);
    waiting?.();
  };
  return {
    readings,
    source: {
      [Symbol.asyncIterator]() {
        readings.begun++;
        readings.open++;
        return {
          async next() {
            while (queue.length === 0)
              await new Promise<void>((resolve) => {
                waiting = resolve;
              });
            const step = queue.shift();
            return step?.() ?? { done: true, value: undefined };
          },
          async return() {
            readings.open--;
            return { done: true, value: undefined };
          },
        };
      },
    },
    push: (events) => {
      for (const value of events) put(() => ({ done: false, value }));
    },
    fail: (message) =>
      put(() => {
        readings.open--;
        throw new Error(message);
      }),
    end: () =>
      put(() => {
        readings.open--;
        return { done: true, value: undefined };
      }),
  };
}
