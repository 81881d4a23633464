/**
 * Notices about lists and resources, which make clients ask again. The first one of a kind passes at once. Those that
 * follow within a second are passed on as one, so a server that repeats them without end costs a message a second.
 */
const everyMs = 1_000;
/** More kinds at once are dropped: a server could name ever new resources. */
const mostKinds = 1_000;

export class NoticePace {
  /** What to do when the second is over. */
  readonly #waiting = new Map<string, { timer: NodeJS.Timeout; again: (() => void) | undefined }>();

  pass(kind: string, tell: () => void): void {
    const waiting = this.#waiting.get(kind);
    if (waiting !== undefined) {
      waiting.again = tell;
      return;
    }
    if (this.#waiting.size >= mostKinds) return;
    tell();
    const timer = setTimeout(() => {
      const again = this.#waiting.get(kind)?.again;
      this.#waiting.delete(kind);
      if (again !== undefined) this.pass(kind, again);
    }, everyMs);
    timer.unref();
    this.#waiting.set(kind, { timer, again: undefined });
  }

  close(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }
}
