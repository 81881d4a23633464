/** Says how far a long search has come: one line on a terminal, else a line from time to time. */
import { localTimeText } from './time-text.ts';
import type { Terminal } from './terminal.ts';

const firstAfterMs = 1_000;
const redrawEveryMs = 250;
const lineEveryMs = 5_000;

export class SearchProgress {
  readonly #err: Terminal;
  readonly #nowMs: () => number;
  #nextAtMs: number;
  #isDrawn = false;

  constructor(err: Terminal, nowMs: () => number = () => performance.now()) {
    this.#err = err;
    this.#nowMs = nowMs;
    this.#nextAtMs = nowMs() + (err.isTerminal ? firstAfterMs : lineEveryMs);
  }

  /** `at`: the time of the last row that was examined. */
  async reached(at: number): Promise<void> {
    const nowMs = this.#nowMs();
    if (nowMs < this.#nextAtMs) return;
    const err = this.#err;
    this.#nextAtMs = nowMs + (err.isTerminal ? redrawEveryMs : lineEveryMs);
    const text = `Searched back to ${localTimeText(at)}. Press Ctrl-C to stop.`;
    if (!err.isTerminal) return err.print(text);
    this.#isDrawn = true;
    await err.write(`\r${err.paint('dim', text)}\u001B[K`);
  }

  /** Removes the line, before something else is printed. */
  async clear(): Promise<void> {
    if (this.#isDrawn) await this.#err.write('\r\u001B[K');
    this.#isDrawn = false;
  }
}
