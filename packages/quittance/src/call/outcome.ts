/**
 * How a call ended: exactly one of five outcomes, which never changes. A variant has its own fields and no
 * others, so that the compiler can check a switch over `type`.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ReasonCode } from './reason.ts';
import { endSentence } from '../base/end-sentence.ts';
import { freezeJson, formatPath, isJsonObject, toJson } from '../base/json.ts';
import { reasonOf } from './reason.ts';
import { toToolError } from './tool-error.ts';
import { describeFound } from './describe-found.ts';

/** Longer content, in UTF-16 units, is stored as an artifact. A tool may set its own limit. */
export const TOOL_MESSAGE_MAX_CHARS = 12_000;

/** The most characters in the summary of an artifact. */
export const ARTIFACT_SUMMARY_MAX_CHARS = 200;

/** How a call ended. */
export type ToolOutcome =
  | ToolExecutionResult
  | ToolTimeout
  | ToolFailure
  | ToolDenied
  | ToolArtifactReference;

type Ended<Type extends string> = {
  readonly type: Type;
  readonly callId: string;
  readonly toolName: string;
  /** A note for the model: what was coerced, edited or warned about. A separate content part. */
  readonly modelNote?: string;
};

/** The body ran and its output fits inline. */
export type ToolExecutionResult = Ended<'ToolExecutionResult'> & {
  readonly output: JsonValue;
  readonly elapsedMs: number;
  /** True if the arguments were coerced for the body. */
  readonly wasCoerced: boolean;
  readonly files?: readonly OutputFile[];
  /** Set only if the tool itself made one. It may then end the turn. */
  readonly toolResult?: ToolResult;
  readonly undo?: UndoHandle;
};

/** `runtime.calls.undo` can undo the call, once. */
export type UndoHandle = {
  /** Until when, in milliseconds since 1970 by the ledger's clock. Default: no limit. */
  readonly until?: number;
};

/** The fields of a timeout or a failure about a repeat. Older recorded outcomes lack them. */
type Repeat = {
  /** The tool may have taken effect. `retryable` is false then: the twin guard stops an identical call. */
  readonly inDoubt?: true;
  /** Set if only the unknown effect forbids a retry. The tool stays usable with other arguments. */
  readonly blocksTool?: false;
};

/** The body was still running at its deadline. */
export type ToolTimeout = Ended<'ToolTimeout'> &
  Repeat & {
    readonly code: 'tool.timeout';
    /** The deadline that was exceeded, in milliseconds since 1970. */
    readonly deadlineMs: number;
    readonly elapsedMs: number;
    readonly retryable: boolean;
    /** The body returned in time, but its result could not be checked before the deadline. It is stored as late. */
    readonly finished?: true;
    /** The partial results and attached files of the body so far. */
    readonly payloadExtras?: JsonObject;
  };

/** The body threw, reported an error or returned an unusable output; or there was no body to run. */
export type ToolFailure = Ended<'ToolFailure'> &
  Repeat & {
    readonly code: ReasonCode;
    readonly error: string;
    readonly retryable: boolean;
    readonly elapsedMs: number;
    readonly payloadExtras?: JsonObject;
    readonly toolResult?: ToolResult;
  };

/** A gate denied the call. The body never ran. */
export type ToolDenied = Ended<'ToolDenied'> & {
  readonly code: ReasonCode;
  readonly reason: DenialReason;
  readonly details: string;
};

/** The body ran and its large output is stored as an artifact, to be read in pieces. */
export type ToolArtifactReference = Ended<'ToolArtifactReference'> & {
  readonly artifactId: string;
  /** A preview of at most `ARTIFACT_SUMMARY_MAX_CHARS` characters. */
  readonly summary: string;
  readonly sizeBytes: number;
  /** Digest of its stored content: `sha256:<hex>`. Absent in ledgers of earlier versions. */
  readonly digest?: string;
  readonly elapsedMs: number;
  readonly wasCoerced: boolean;
  readonly files?: readonly OutputFile[];
  readonly toolResult?: ToolResult;
  readonly undo?: UndoHandle;
};

/** An image or a file from a tool, stored as an artifact. */
export type OutputFile = {
  readonly artifactId: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  /** Digest of its stored content: `sha256:<hex>`. Absent in ledgers of earlier versions. */
  readonly digest?: string;
  readonly name?: string;
};

/** The condition for each type of outcome. */
export const outcomeTypes: { readonly [Type in ToolOutcome['type']]: { readonly when: string } } = freezeJson(
  {
    ToolExecutionResult: { when: 'The body ran, succeeded, and its output fits inline.' },
    ToolTimeout: {
      when: 'The body was still running at its deadline.',
    },
    ToolFailure: {
      when: 'The body threw, reported an error, or returned an output that is wrong or may not be shown. Also: the tool does not exist, the effect of the call is unknown, or the ledger could not store it.',
    },
    ToolDenied: { when: 'A gate denied the call. The body never ran.' },
    ToolArtifactReference: {
      when: 'The body ran and succeeded. Its output is too long to show and is stored as an artifact.',
    },
  },
);

/** Narrows a word to the type of an outcome. */
export const isOutcomeType = (value: unknown): value is ToolOutcome['type'] =>
  typeof value === 'string' && Object.hasOwn(outcomeTypes, value);

/**
 * Why a gate denied the call. The first six words are from the source documents; the rest are new in this
 * runtime.
 */
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

/** The meaning of one denial reason. */
export type Denial = {
  readonly producedBy: string;
  /** The default text if the gate gave no details. */
  readonly sentence: string;
  /** The possible reason codes, the usual one first. */
  readonly codes: readonly [ReasonCode, ...ReasonCode[]];
};

/** Every denial reason: what produces it, its text and its codes. */
export const denialReasons: { readonly [Reason in DenialReason]: Denial } = freezeJson({
  duplicate: {
    producedBy:
      'The duplicate guard (an idempotent tool with an earlier successful call), the loop guard and, if `rerun` is deny, the twin guard',
    sentence: 'The same call was made before. Use its result.',
    codes: ['call.duplicate', 'call.loop', 'call.twin'],
  },
  blocked: {
    producedBy: "The turn's list of blocked tools: the tool failed earlier in a way that may not be retried",
    sentence: 'The tool failed earlier in this turn and cannot be used again.',
    codes: ['call.blocked'],
  },
  pre_hook: {
    producedBy: 'A hook of the host that blocked the call, or returned an invalid answer',
    sentence: 'A hook did not allow the call.',
    codes: ['policy.hook'],
  },
  validation: {
    producedBy: 'The input schema, after coercion and the repair callback',
    sentence: "The arguments do not match the tool's input schema.",
    codes: ['tool.invalid_input'],
  },
  deadline: {
    producedBy: 'The deadline of the turn, which had passed before the body could start',
    sentence: 'Turn deadline expired; cannot execute tool.',
    codes: ['turn.deadline'],
  },
  write_denied: {
    producedBy: 'The person who denied the call or answered the model instead',
    sentence: 'The person who was asked did not approve the call.',
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
    producedBy: 'A hold without a decision in time, or a preview that expired or never became ready',
    sentence: 'No person decided about the call in time.',
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

/** True if the outcome states that the call may be retried. */
export const outcomeIsRetryable = (outcome: ToolOutcome): boolean =>
  outcomeIsError(outcome) && outcome.retryable;

/**
 * True if the tool should be blocked for the rest of the turn: after a failure or timeout that may not be retried.
 * Exceptions: reasons that do not concern the tool itself (see `blocksTool` in the reason table), and a retry that only
 * the unknown effect forbids.
 */
export const outcomeBlocksTool = (outcome: ToolOutcome): boolean =>
  outcomeIsError(outcome) && !outcome.retryable && (outcome.blocksTool ?? reasonOf(outcome.code).blocksTool);

/** Added for the model to the error of a call with an unknown effect. */
const doubtWarning = 'It may have happened; do not repeat it: a person has to find out first.';

/** The value of `retryable` without regard to an unknown effect. */
export const retryableButForDoubt = ({ retryable, blocksTool }: ToolTimeout | ToolFailure): boolean =>
  retryable || blocksTool === false;

/** An error text for the model. If the effect is unknown, it says what happens to a repeat and to other calls. */
export const withWarning = (error: string, outcome: ToolTimeout | ToolFailure): string =>
  outcome.inDoubt === true
    ? `${endSentence(error)} ${doubtWarning} ${
        outcomeBlocksTool(outcome)
          ? 'The tool cannot be used again in this turn.'
          : 'Calls with other arguments are not affected.'
      }`
    : error;

/** The text of a timeout for the caller. */
export const timeoutMessage = ({ toolName, elapsedMs, finished, retryable }: ToolTimeout): string =>
  finished === true
    ? `Tool "${toolName}" finished, but its result could not be checked before the deadline.${retryable ? '' : ' Do not repeat the call: it ran.'}`
    : `Tool "${toolName}" did not finish before its deadline; it was stopped after ${Math.round(elapsedMs)} ms.`;

/** The text of an outcome other than success. Undefined for a success. */
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
 * The output, for code that expects a value or an exception. A large output comes as `{artifactId, summary,
 * sizeBytes}`. Any outcome other than success throws a `ToolError` whose `reason` is the outcome's code.
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
 * The tool's text for the user: `message` of its ToolResult, or of a plain object with that shape. Undefined
 * if it has none.
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

/**
 * What a tool reports about itself and the turn. The type is open: unknown fields are kept.
 *
 * Only a result that the tool itself made may end a turn. It is marked with a symbol, which JSON cannot
 * carry. A value from a model or a remote service that merely looks like a result never has the mark.
 */

export type ToolResult = {
  /** True if the tool did what was requested. */
  readonly success: boolean;
  /** The turn ends with this result. */
  readonly terminal?: boolean;
  /** Requests another round of the model, even after a failure. */
  readonly needsFollowup?: boolean;
  /** A hint for machines about the next step. */
  readonly nextAction?: string;
  /** Text for the user. */
  readonly message?: string;
  /** Text for debugging. */
  readonly error?: string;
  readonly data?: JsonObject;
  readonly [unknown: string]: JsonValue | undefined;
};

const brand: unique symbol = Symbol.for('quittance.tool-result');

const knownFields: { readonly [field: string]: 'boolean' | 'string' | 'object' } = {
  success: 'boolean',
  terminal: 'boolean',
  needsFollowup: 'boolean',
  nextAction: 'string',
  message: 'string',
  error: 'string',
  data: 'object',
};

/**
 * Creates the result that a body returns to control the turn. It is a copy: later changes of `fields` have no
 * effect. Call it last: a spread of the result is a plain object without the mark.
 */
export function toolResult(fields: ToolResult): ToolResult {
  const result = parseToolResult(fields);
  Object.defineProperty(result, brand, { value: true });
  return result;
}

/**
 * True for a result of `toolResult`, including one from another copy of this package. Never true for parsed
 * JSON.
 */
export function isToolMadeResult(value: unknown): value is ToolResult {
  return ownOf(value, brand) === true && typeof ownOf(value, 'success') === 'boolean';
}

/** Copies a value as a result, without the mark. Refuses known fields of a wrong type; keeps unknown ones. */
export function parseToolResult(value: unknown): ToolResult {
  const copy = toJson(value);
  if (!copy.ok)
    throw new TypeError(`A tool result must be JSON; at ${formatPath(copy.path)}: ${copy.problem}.`);
  if (!isJsonObject(copy.value))
    throw new TypeError(
      `A tool result must be an object with a boolean "success", found ${describeFound(value)}.`,
    );
  if (!isToolResult(copy.value)) throw new TypeError(describeWrongField(copy.value));
  return copy.value;
}

/**
 * The completion rule: a result is terminal if it says so, or if it failed and requests no follow-up. Strict
 * about types, own properties only, false for anything else. Never throws.
 */
export function isTerminalResult(result: unknown): boolean {
  return (
    ownOf(result, 'terminal') === true ||
    (ownOf(result, 'success') === false && ownOf(result, 'needsFollowup') !== true)
  );
}

const isToolResult = (value: JsonObject): value is JsonObject & ToolResult =>
  Object.hasOwn(value, 'success') && Object.entries(value).every(([field, held]) => fits(field, held));

function fits(field: string, held: JsonValue): boolean {
  if (!Object.hasOwn(knownFields, field)) return true;
  const expected = knownFields[field];
  return expected === 'object' ? isJsonObject(held) : typeof held === expected;
}

function describeWrongField(value: JsonObject): string {
  const [field, held] = Object.entries(value).find(([name, inside]) => !fits(name, inside)) ?? [
    'success',
    undefined,
  ];
  return `"${field}" of a tool result must be ${knownFields[field] === 'object' ? 'an object' : `a ${knownFields[field]}`}, found ${describeFound(held)}.`;
}

/** An own property of any value, or undefined. Also undefined if reading it throws. */
function ownOf(value: unknown, key: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    // The key was just found on the object itself.
    return Object.hasOwn(value, key) ? (value as { readonly [key: PropertyKey]: unknown })[key] : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The outcome as a ToolResult: the tool's own, or a derived one. A derived result does not end the turn, so
 * that the model can continue. Exceptions are an exhausted budget and an ended turn.
 */
export function outcomeToToolResult(outcome: ToolOutcome): ToolResult {
  switch (outcome.type) {
    case 'ToolExecutionResult':
      return outcome.toolResult ?? outputToToolResult(outcome.output);
    case 'ToolArtifactReference': {
      const { artifactId, summary, sizeBytes, toolResult } = outcome;
      return (
        toolResult ?? {
          success: true,
          needsFollowup: true,
          nextAction: 'read_artifact',
          data: { artifactId, summary, sizeBytes },
        }
      );
    }
    case 'ToolTimeout':
      return unsuccessful(outcome.code, withWarning(timeoutMessage(outcome), outcome), outcome);
    case 'ToolFailure':
      return (
        outcome.toolResult ??
        asPlain(outcome.payloadExtras?.['output'], false) ??
        unsuccessful(outcome.code, withWarning(outcome.error, outcome), outcome)
      );
    case 'ToolDenied':
      return unsuccessful(outcome.code, outcome.details || denialReasons[outcome.reason].sentence, {
        retryable: false,
      });
  }
}

/**
 * An output that has the shape of a ToolResult and agrees with the outcome is used without another wrapper.
 * It ends no turn: only a result from `toolResult()` does.
 */
function asPlain(output: JsonValue | undefined, success: boolean): ToolResult | undefined {
  if (!isJsonObject(output) || output['success'] !== success) return undefined;
  try {
    const { terminal: _, ...result } = parseToolResult(output);
    return { ...result, needsFollowup: true };
  } catch {
    return undefined;
  }
}

/** The output of a body as a derived result of a success. */
export const outputToToolResult = (output: JsonValue): ToolResult =>
  asPlain(output, true) ?? { success: true, needsFollowup: true, data: toData(output) };

const toData = (output: JsonValue): JsonObject => (isJsonObject(output) ? output : { value: output });

function unsuccessful(
  code: ReasonCode,
  error: string,
  { retryable, inDoubt }: Pick<ToolFailure, 'retryable' | 'inDoubt'>,
): ToolResult {
  const { title, nextAction, terminal, blocksTool } = reasonOf(code);
  const next =
    inDoubt === true
      ? 'await_person'
      : nextAction !== 'retry' || retryable
        ? nextAction
        : blocksTool
          ? 'use_another_tool'
          : undefined;
  return {
    success: false,
    ...(terminal ? { terminal } : { needsFollowup: true }),
    ...(next !== undefined && { nextAction: next }),
    message: `${title}.`,
    error,
  };
}

/** The identifying fields of the call. */
export type ResultCall = {
  readonly callId: string;
  readonly toolName: string;
  readonly elapsedMs: number;
  readonly wasCoerced: boolean;
};

/**
 * The outcome of a call whose tool made a result. For a success, the whole result is the output, with unknown
 * fields. A failure is one that the tool reported. Pass the stored form: the result is shown and stored
 * unchanged.
 */
export function outcomeFromToolResult(
  result: ToolResult,
  call: ResultCall,
): ToolExecutionResult | ToolFailure {
  const toolResult = parseToolResult(result);
  const { callId, toolName, elapsedMs, wasCoerced } = call;
  if (toolResult.success)
    // Parsing left out undefined fields, so the result is a JSON object.
    return {
      type: 'ToolExecutionResult',
      callId,
      toolName,
      output: toolResult as JsonObject,
      elapsedMs,
      wasCoerced,
      toolResult,
    };
  return {
    type: 'ToolFailure',
    callId,
    toolName,
    code: 'tool.reported_error',
    error:
      [toolResult.error, toolResult.message]
        .filter((text) => text !== undefined && text.trim() !== '')
        .join(' ') || `Tool "${toolName}" reported a failure and did not say why.`,
    retryable: reasonOf('tool.reported_error').retryable,
    elapsedMs,
    toolResult,
  };
}
