/**
 * How a call ended: exactly one of five, never changed afterwards. A variant carries its own fields and no
 * others, so that a switch over `type` is complete when the compiler says so.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ReasonCode } from './reason.ts';
import type { ToolResult } from './tool-result.ts';
import { endSentence } from '../base/end-sentence.ts';
import { freezeJson } from '../base/json.ts';
import { reasonOf } from './reason.ts';
import { toToolError } from './tool-error.ts';

/** Content longer than this, in UTF-16 units, is kept as an artifact. A tool may set its own limit. */
export const TOOL_MESSAGE_MAX_CHARS = 12_000;

/** The most characters the summary of an artifact may have. */
export const ARTIFACT_SUMMARY_MAX_CHARS = 200;

/** How a call ended. */
export type ToolOutcome =
  ToolExecutionResult | ToolTimeout | ToolFailure | ToolDenied | ToolArtifactReference;

type Ended<Type extends string> = {
  readonly type: Type;
  readonly callId: string;
  readonly toolName: string;
  /** What else the model should know: what was coerced, edited or warned about. A content part of its own. */
  readonly modelNote?: string;
};

/** The body ran and what it gave fits inline. */
export type ToolExecutionResult = Ended<'ToolExecutionResult'> & {
  readonly output: JsonValue;
  readonly elapsedMs: number;
  /** True where the arguments had to be coerced before the body got them. */
  readonly wasCoerced: boolean;
  readonly files?: readonly OutputFile[];
  /** Only where the tool itself made one: what it says about the turn counts. */
  readonly toolResult?: ToolResult;
  readonly undo?: UndoHandle;
};

/** What the call did can be taken back, once, by `runtime.calls.undo`. */
export type UndoHandle = {
  /** Until when, in milliseconds since 1970 by the ledger's clock; for ever where nothing is said. */
  readonly until?: number;
};

/** What a timeout or a failure says about a repeat of the call. Outcomes recorded before these fields have neither. */
type Repeat = {
  /** The tool may have taken effect. `retryable` is false then: the twin guard stops an identical call. */
  readonly inDoubt?: true;
  /** Given where only the doubt forbids a retry. The tool stays open for other arguments. */
  readonly blocksTool?: false;
};

/** The body was still running at its deadline. */
export type ToolTimeout = Ended<'ToolTimeout'> &
  Repeat & {
    readonly code: 'tool.timeout';
    /** The deadline that was violated, in milliseconds since 1970. */
    readonly deadlineMs: number;
    readonly elapsedMs: number;
    readonly retryable: boolean;
    /** The body returned in time, but its result could not be checked before the deadline. It is stored as late. */
    readonly finished?: true;
    /** What the body had recorded by then, and the files it had attached. */
    readonly payloadExtras?: JsonObject;
  };

/** The body threw, reported an error or gave something of no use; or there was no body to run. */
export type ToolFailure = Ended<'ToolFailure'> &
  Repeat & {
    readonly code: ReasonCode;
    readonly error: string;
    readonly retryable: boolean;
    readonly elapsedMs: number;
    readonly payloadExtras?: JsonObject;
    readonly toolResult?: ToolResult;
  };

/** A gate said no. The body never ran. */
export type ToolDenied = Ended<'ToolDenied'> & {
  readonly code: ReasonCode;
  readonly reason: DenialReason;
  readonly details: string;
};

/** The body ran and what it gave is kept aside, to be read in pieces. */
export type ToolArtifactReference = Ended<'ToolArtifactReference'> & {
  readonly artifactId: string;
  /** A preview of at most `ARTIFACT_SUMMARY_MAX_CHARS` characters. */
  readonly summary: string;
  readonly sizeBytes: number;
  /** Of its content as it is kept: `sha256:<hex>`. Ledgers written before it was kept have none. */
  readonly digest?: string;
  readonly elapsedMs: number;
  readonly wasCoerced: boolean;
  readonly files?: readonly OutputFile[];
  readonly toolResult?: ToolResult;
  readonly undo?: UndoHandle;
};

/** An image or a file a tool gave, kept as an artifact. */
export type OutputFile = {
  readonly artifactId: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  /** Of its content as it is kept: `sha256:<hex>`. Ledgers written before it was kept have none. */
  readonly digest?: string;
  readonly name?: string;
};

/** When a call ends in which of the five. */
export const outcomeTypes: { readonly [Type in ToolOutcome['type']]: { readonly when: string } } = freezeJson(
  {
    ToolExecutionResult: { when: 'The body ran, succeeded, and its output fits inline.' },
    ToolTimeout: {
      when: 'The body was still running at its deadline, or its result could not be checked by then (`finished`).',
    },
    ToolFailure: {
      when: 'The body threw, reported an error or gave an output that is wrong or may not be shown; or there is no such tool, nobody knows how the call ended, or the ledger could not take it.',
    },
    ToolDenied: { when: 'A gate said no. The body never ran.' },
    ToolArtifactReference: {
      when: 'The body ran and succeeded; its output is too long to show and is kept as an artifact.',
    },
  },
);

/** Narrows a word to the type of an outcome. */
export const isOutcomeType = (value: unknown): value is ToolOutcome['type'] =>
  typeof value === 'string' && Object.hasOwn(outcomeTypes, value);

/** Why a gate said no. The first six are the words of the source documents; the rest came with this runtime. */
export type DenialReason =
  | 'duplicate'
  | 'blocked'
  | 'pre_hook'
  | 'validation'
  | 'deadline'
  | 'write_denied'
  | 'contract'
  | 'budget'
  | 'expired'
  | 'conflict'
  | 'ended';

/** What one denial reason means. */
export type Denial = {
  readonly producedBy: string;
  /** Said where the gate gave no details. */
  readonly sentence: string;
  /** The reason codes that may come with it, the usual one first. */
  readonly codes: readonly [ReasonCode, ...ReasonCode[]];
};

/** Every denial reason: who produces it, what it says, which codes come with it. */
export const denialReasons: { readonly [Reason in DenialReason]: Denial } = freezeJson({
  duplicate: {
    producedBy:
      'The duplicate guard (an idempotent tool with an earlier successful call), the loop guard and, where `rerun` is deny, the twin guard',
    sentence: 'The same call was made before; its result stands.',
    codes: ['call.duplicate', 'call.loop', 'call.twin'],
  },
  blocked: {
    producedBy: "The turn's list of closed tools: the tool failed earlier in a way that may not be retried",
    sentence: 'The tool failed earlier in this turn and cannot be used again.',
    codes: ['call.blocked'],
  },
  pre_hook: {
    producedBy: 'A hook of the host that blocked the call, or did not answer as a hook must',
    sentence: 'A hook did not allow the call.',
    codes: ['policy.hook'],
  },
  validation: {
    producedBy: 'The input schema, after coercion and the repair callback had their try',
    sentence: "The arguments do not match the tool's input schema.",
    codes: ['tool.invalid_input'],
  },
  deadline: {
    producedBy: 'The deadline of the turn, which had passed before the body could start',
    sentence: 'Turn deadline expired; cannot execute tool.',
    codes: ['turn.deadline'],
  },
  write_denied: {
    producedBy: 'The person asked to confirm, who denied the call or answered in its place',
    sentence: 'The person asked did not allow the call.',
    codes: ['confirmation.rejected', 'confirmation.answered', 'call.twin'],
  },
  contract: {
    producedBy: "A rule or a limit of a contract, or the protection of the runtime's own files",
    sentence: 'A contract did not allow the call.',
    codes: ['policy.contract', 'policy.protected'],
  },
  budget: {
    producedBy: 'A budget with too little left: of the turn, the session or a named scope',
    sentence: 'The budget for tool calls is exhausted.',
    codes: ['budget.tool_calls_exhausted', 'budget.cost_exhausted'],
  },
  expired: {
    producedBy: 'A hold nobody decided in time, or a preview that went stale or never became ready',
    sentence: 'Nobody decided on the call in time.',
    codes: ['confirmation.expired', 'preview.failed'],
  },
  conflict: {
    producedBy: 'A call id or an idempotency key that belongs to another tool or other arguments',
    sentence: 'The id of the call belongs to another call.',
    codes: ['call.conflict'],
  },
  ended: {
    producedBy: 'A turn that was ended, or was ended by a terminal result, before the body could start',
    sentence: 'The turn has ended.',
    codes: ['turn.ended'],
  },
});

/** Narrows a word to a denial reason. */
export const isDenialReason = (value: unknown): value is DenialReason =>
  typeof value === 'string' && Object.hasOwn(denialReasons, value);

/** True for a timeout or a failure. A denial is not an error: the body never ran. */
export const outcomeIsError = (outcome: ToolOutcome): outcome is ToolTimeout | ToolFailure =>
  outcome.type === 'ToolTimeout' || outcome.type === 'ToolFailure';

/** True where the outcome itself says that the call may be tried again. */
export const outcomeIsRetryable = (outcome: ToolOutcome): boolean =>
  outcomeIsError(outcome) && outcome.retryable;

/**
 * True where the tool should be closed for the rest of the turn: after a failure or timeout that may not be
 * retried, unless its reason says nothing against the tool itself (see `blocksTool` in the reason table) or only the
 * doubt about this one call forbids a retry.
 */
export const outcomeBlocksTool = (outcome: ToolOutcome): boolean =>
  outcomeIsError(outcome) && !outcome.retryable && (outcome.blocksTool ?? reasonOf(outcome.code).blocksTool);

/** Added for the model to the error of a call that is in doubt. */
export const doubtWarning =
  'It may have happened; do not repeat it: a person has to find out first. Calls with other arguments are not affected.';

/** What `retryable` would be if nothing were in doubt. */
export const retryableButForDoubt = ({ retryable, blocksTool }: ToolTimeout | ToolFailure): boolean =>
  retryable || blocksTool === false;

/** An error text for the model, with the warning where the call is in doubt. */
export const withWarning = (error: string, { inDoubt }: { readonly inDoubt?: true }): string =>
  inDoubt === true ? `${endSentence(error)} ${doubtWarning}` : error;

/** What a timeout says to whoever asked. */
export const timeoutMessage = ({ toolName, elapsedMs, finished, retryable }: ToolTimeout): string =>
  finished === true
    ? `Tool "${toolName}" finished, but its result could not be checked before the deadline.${retryable ? '' : ' Do not repeat the call: it ran.'}`
    : `Tool "${toolName}" did not finish before its deadline; it was stopped after ${Math.round(elapsedMs)} ms.`;

/** What an outcome that is no success says, in words; undefined for a success. */
export function troubleOf(outcome: ToolOutcome): string | undefined {
  switch (outcome.type) {
    case 'ToolFailure':
      return outcome.error;
    case 'ToolTimeout':
      return timeoutMessage(outcome);
    case 'ToolDenied':
      return outcome.details || denialReasons[outcome.reason].sentence;
    case 'ToolExecutionResult':
    case 'ToolArtifactReference':
      return undefined;
  }
}

/**
 * The output, for code that wants a value or an exception. An output kept aside comes as
 * `{artifactId, summary, sizeBytes}`; everything that is not a success throws a `ToolError` whose `reason` is
 * the outcome's code.
 */
export function unwrap(outcome: ToolOutcome): JsonValue {
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return outcome.output;
    case 'ToolArtifactReference':
      return { artifactId: outcome.artifactId, summary: outcome.summary, sizeBytes: outcome.sizeBytes };
    case 'ToolTimeout':
      throw toToolError(outcome.code, withWarning(timeoutMessage(outcome), outcome), {
        retryable: outcome.retryable,
        extras: {
          deadline_ms: outcome.deadlineMs,
          elapsed_ms: outcome.elapsedMs,
          ...outcome.payloadExtras,
        },
      });
    case 'ToolFailure':
      throw toToolError(outcome.code, withWarning(outcome.error, outcome), {
        retryable: outcome.retryable,
        ...(outcome.payloadExtras && { extras: outcome.payloadExtras }),
      });
    case 'ToolDenied':
      throw toToolError(
        outcome.code,
        `Tool "${outcome.toolName}" was denied (${outcome.reason}): ${outcome.details || denialReasons[outcome.reason].sentence}`,
        {
          retryable: false,
          extras: { denial_reason: outcome.reason, details: outcome.details },
        },
      );
  }
}

/**
 * The text a tool has for the user: `message` of its ToolResult, also of a plain object that is shaped like one.
 * Undefined where it has none.
 */
export function userMessageOf(outcome: ToolOutcome): string | undefined {
  const made = 'toolResult' in outcome ? outcome.toolResult : undefined;
  const given =
    outcome.type === 'ToolExecutionResult'
      ? outcome.output
      : outcome.type === 'ToolFailure'
        ? outcome.payloadExtras?.['output']
        : undefined;
  const result: JsonValue | ToolResult | undefined = made ?? given;
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return undefined;
  const { success, message } = result as Partial<Record<string, JsonValue>>;
  if (typeof success !== 'boolean' || typeof message !== 'string' || message.trim() === '') return undefined;
  return message;
}
