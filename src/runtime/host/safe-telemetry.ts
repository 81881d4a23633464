/**
 * The telemetry of a runtime. An error of it is reported once: a broken exporter would otherwise report itself with
 * every call.
 */
import { cutText } from '../../base/cut-text.ts';
import type { Redactor } from '../../base/redaction.ts';
import { safeIdBy } from '../../base/safe-id.ts';
import { readTraceparent } from '../../base/traceparent.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { OnTrouble } from './runtime-trouble.ts';
import type { OpenCounts, RuntimeTime, Telemetry } from './telemetry.ts';

const mostNames = 1_000;
/** Longest id or name that telemetry gets. */
export const longestName = 200;

/** Also receives the times, e.g. for the metrics of a server. */
export type TimeListener = (what: RuntimeTime, elapsedMs: number) => void;

export class SafeTelemetry {
  readonly port: Telemetry | undefined;
  readonly #redactor: Redactor;
  readonly #onTrouble: OnTrouble;
  readonly #shownNames = new Map<string, string>();
  readonly #listeners = new Set<TimeListener>();
  #isReported = false;
  #lastContext: string | undefined;
  /** Is any time measured? */
  isTimed: boolean;

  constructor(port: Telemetry | undefined, redactor: Redactor, onTrouble: OnTrouble) {
    this.port = port;
    this.#redactor = redactor;
    this.#onTrouble = onTrouble;
    this.isTimed = port?.noteTime !== undefined;
  }

  /** The name of a tool that the runtime has. A tool of an MCP server has the name that the server chose. */
  shownNameOf(toolName: string): string {
    let shown = this.#shownNames.get(toolName);
    if (shown === undefined) {
      // The tools of an MCP server may change for ever.
      if (this.#shownNames.size >= mostNames) this.#shownNames.clear();
      shown = cutText(safeIdBy(this.#redactor, toolName), longestName);
      this.#shownNames.set(toolName, shown);
    }
    return shown;
  }

  /** The context that telemetry gives, if it is well-formed. Many calls in a row have the same. */
  readContext(given: string | undefined): string | undefined {
    if (given === undefined || given === this.#lastContext) return given;
    const read = readTraceparent(given);
    this.#lastContext = read;
    return read;
  }

  noteTime(what: RuntimeTime, elapsedMs: number): void {
    // Every commit of every call comes here, so nothing is allocated.
    try {
      const answer: unknown = this.port?.noteTime?.(what, elapsedMs);
      if (answer instanceof Promise) answer.catch((error: unknown) => this.report(error));
    } catch (error) {
      this.report(error);
    }
    if (this.#listeners.size === 0) return;
    for (const listener of this.#listeners) this.safely(() => listener(what, elapsedMs));
  }

  listen(listener: TimeListener): () => void {
    this.#listeners.add(listener);
    this.isTimed = true;
    return () => {
      this.#listeners.delete(listener);
      this.isTimed = this.port?.noteTime !== undefined || this.#listeners.size > 0;
    };
  }

  /** Returns what ends the watch. */
  watchCounts(read: () => Promise<OpenCounts>): () => void {
    let stop: unknown;
    this.safely(() => {
      stop = this.port?.watchCounts?.(read);
    });
    return () => this.safely(() => (typeof stop === 'function' ? stop() : undefined));
  }

  safely(tell: () => unknown): void {
    try {
      const answer = tell();
      // An asynchronous implementation is not awaited, and its failure must not end the process.
      if (answer instanceof Promise) answer.catch((error: unknown) => this.report(error));
    } catch (error) {
      this.report(error);
    }
  }

  report(error: unknown): void {
    if (this.#isReported) return;
    this.#isReported = true;
    const message = `The telemetry failed: ${describeThrown(error)}. Calls continue without it. Later failures are not reported.`;
    try {
      this.#onTrouble({ type: 'telemetry.failed', message: this.#redactor.text(message), error });
    } catch {
      // The listener of the host must not fail a call either.
    }
  }
}
