/**
 * The port for traces and metrics. An implementation gets names, codes and times, never arguments, outputs or messages,
 * so nothing that the redactor hides can reach a trace.
 *
 * An implementation must not block: it runs on the path of the call. If it throws, the runtime reports that once and
 * goes on without it.
 */
import type { DecidedBy, GatePassage } from '../call/events/gate-event.ts';
import type { ToolOutcome } from '../call/outcome.ts';
import type { ReasonCode } from '../call/reason.ts';
import type { ToolMode } from '../tool/mode.ts';
import { cutText } from '../base/cut-text.ts';
import type { Redactor } from '../base/redaction.ts';
import { safeIdBy } from '../base/safe-id.ts';
import { readTraceparent } from '../base/traceparent.ts';
import { describeThrown } from '../tool/describe-thrown.ts';
import type { StoreTrouble } from '../ledger/ledger.ts';

export interface Telemetry {
  /** A process starts to work on a call: it was requested, repeated or taken over. Undefined: not observed. */
  startCall(start: CallStart): CallTelemetry | undefined;
  /** How long a call of a batch waited for its turn, or how long the ledger took to store an entry. */
  noteTime?(what: RuntimeTime, elapsedMs: number): void;
  /** Called once, with a way to read numbers about the whole ledger. The result is called when the runtime closes. */
  watchCounts?(read: () => Promise<OpenCounts>): () => void;
}

export type RuntimeTime = 'queue' | 'commit';

/** Numbers about all calls of the ledger, whichever process made them. */
export type OpenCounts = {
  /** Calls that wait for a person. Counted up to a thousand. */
  readonly held: number;
  /** Calls whose effect is unknown. */
  readonly indeterminate: number;
};

export type CallStart = {
  /** Masked if it looks like a secret. */
  readonly toolName: string;
  /** True if the runtime has a tool with this name. A model may request any name. */
  readonly isKnownTool: boolean;
  /** The trace context that the caller sent with the call, as a valid `traceparent`. */
  readonly parent: string | undefined;
  /** The trace context stored with the call, if another process started it. */
  readonly continues: string | undefined;
};

/** One call while one process works on it. */
export interface CallTelemetry {
  /** The context to store with the call, as a valid `traceparent`. */
  readonly traceparent: string | undefined;
  /** If false, only `runBody` and `end` are called. */
  readonly isRecording: boolean;
  note(moment: CallMoment): void;
  /**
   * Runs the body of the tool with the context of its attempt, and returns what the body returns. Undefined: the body
   * runs in the context of the caller.
   */
  readonly runBody: (<Value>(run: () => Value) => Value) | undefined;
  /** The context of the running attempt, for requests that the body makes. */
  readonly attemptTraceparent: string | undefined;
  /** The process stops working on the call. Called once. */
  end(end: CallEnd): void;
}

/** A step of a call. Apart from the run of the body, the ledger has stored it. */
export type CallMoment =
  | {
      readonly type: 'described';
      readonly sessionId: string;
      readonly turnId: string;
      readonly callId: string;
      /** The address of the call in the console. Undefined if an id looks like a secret. */
      readonly path: string | undefined;
      readonly mode: ToolMode;
    }
  | {
      readonly type: 'judged';
      readonly decision: 'allow' | 'deny' | 'ask';
      /** Undefined if the call passed. The name of a person is never told. */
      readonly by: TelemetryDecider | undefined;
      /** The gates that had to wait, with their time. */
      readonly waited: readonly GatePassage[];
      readonly policyVersion: string | undefined;
    }
  | { readonly type: 'held' }
  | { readonly type: 'decided'; readonly decision: HoldEnd }
  /** `startedMsAgo` is above 0 if a worker in another process started it. */
  | { readonly type: 'attempt_started'; readonly attempt: number; readonly startedMsAgo: number }
  | { readonly type: 'body_ended' }
  /** The end of an attempt is stored. If it is not the last one, another follows. */
  | { readonly type: 'attempt_ended'; readonly code: ReasonCode | undefined; readonly isFinal: boolean }
  | { readonly type: 'settling' }
  | {
      readonly type: 'recalled';
      readonly how: 'cached' | 'replayed' | 'conflict';
      /** The trace context stored with the earlier call. */
      readonly from: string | undefined;
    };

export type TelemetryDecider = { readonly type: DecidedBy['type']; readonly name: string };

export type HoldEnd = 'approved' | 'denied' | 'answered' | 'withdrawn' | 'expired';

export type CallEnd =
  | {
      readonly type: 'settled';
      readonly outcome: ToolOutcome['type'];
      readonly code: ReasonCode | undefined;
      /** How often the body was started, by all processes. */
      readonly attempts: number;
      /** How long the last body ran. Undefined if none did. */
      readonly bodyMs: number | undefined;
      /** False if the request was answered from an earlier record, or if another process counts the call. */
      readonly isFirst: boolean;
    }
  /** The call goes on without this process: it still waits for a person or a worker. */
  | { readonly type: 'left' };

const mostNames = 1_000;
/** Longest id or name that telemetry gets. */
export const longestName = 200;

/** Receives the measured times, e.g. for the metrics of a server. */
export type TimeListener = (what: RuntimeTime, elapsedMs: number) => void;

/** The telemetry of a runtime. Its first error is reported; a broken exporter would otherwise report one for each call. */
export class SafeTelemetry {
  readonly port: Telemetry | undefined;
  readonly #redactor: Redactor;
  readonly #onTrouble: OnTrouble;
  readonly #shownNames = new Map<string, string>();
  readonly #listeners = new Set<TimeListener>();
  #isReported = false;
  #lastContext: string | undefined;
  /** True if any time is measured. */
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
      // An MCP server may offer ever new tools, so the number of cached names is limited.
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

  safely(report: () => unknown): void {
    try {
      const answer = report();
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
      // An error of the host's listener must not fail a call.
    }
  }
}

/**
 * A behavior that is stuck: the entry after `position` cannot be read, or the ledger failed five times in a
 * row. It skips nothing, and continues by itself once it can.
 */
export type RuntimeTrouble =
  | StuckBehavior
  | ExposedFiles
  | UntestedFramework
  | CallFault
  | FailedTelemetry
  | StoreTrouble;

type StuckBehavior = {
  readonly type: 'behavior.stuck';
  readonly behavior: string;
  /** The last entry that was delivered. */
  readonly position: number;
  /** The cause, and what to do. */
  readonly message: string;
  readonly error: unknown;
};

/** A rule lets the agent into a folder with the runtime's own files. Reported once for each set of rules. */
type ExposedFiles = {
  readonly type: 'files.exposed';
  readonly ruleId: string;
  /** The entry of `within`. */
  readonly area: string;
  readonly path: string;
  readonly message: string;
};

/**
 * A framework is installed in a version that its adapter is not tested with. Reported when the adapter
 * starts.
 */
type UntestedFramework = {
  readonly type: 'framework.untested';
  readonly adapter: string;
  readonly package: string;
  readonly version: string;
  readonly message: string;
};

/**
 * An adapter could not make or complete a call, because of a fault of the program or of the ledger. The
 * framework's model gets a short text without details, so the error is reported here.
 */
type CallFault = {
  readonly type: 'call.fault';
  readonly toolName: string;
  readonly message: string;
  readonly error: unknown;
};

/** The telemetry of the host threw. Calls continue without it. Reported once. */
type FailedTelemetry = {
  readonly type: 'telemetry.failed';
  readonly message: string;
  readonly error: unknown;
};

export type OnTrouble = (trouble: RuntimeTrouble) => void;

/** The default for hosts without a listener: an unexpected line on the console is better than silence. */
export const warnOfTrouble: OnTrouble = ({ message }) => console.warn(`quittance: ${message}`);
