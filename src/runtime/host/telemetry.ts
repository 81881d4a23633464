/**
 * The port for traces and metrics. An implementation gets names, codes and times, never arguments, outputs or messages,
 * so nothing that the redactor hides can reach a trace.
 *
 * An implementation must not block: it runs on the path of the call. If it throws, the runtime reports that once and
 * goes on without it.
 */
import type { DecidedBy, GatePassage } from '../../call/event.ts';
import type { ToolOutcome } from '../../call/outcome.ts';
import type { ReasonCode } from '../../call/reason.ts';
import type { ToolMode } from '../../tool/mode.ts';

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
  /** Has the runtime a tool with this name? A model may ask for any name. */
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
