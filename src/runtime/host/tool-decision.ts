import type { JsonObject } from '../../base/json.ts';
import type { Awaitable } from '../../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../../tool/mode.ts';
import type { Principal } from '../../tool/tool-context.ts';

/** A hook's decision about a call: allow, block, or ask a person. */
export type ToolDecision =
  | { readonly type: 'allow' }
  | { readonly type: 'block'; readonly reason: string }
  | {
      readonly type: 'requires_confirmation';
      readonly description: string;
      /** How long a person has. Then the call is denied as `expired`. */
      readonly timeoutMs?: number;
    };

/** Constructors of the three decisions. */
export const ToolDecision: {
  readonly allow: ToolDecision;
  readonly block: (reason: string) => ToolDecision;
  readonly requiresConfirmation: (
    description: string,
    options?: { readonly timeoutMs?: number },
  ) => ToolDecision;
} = {
  allow: { type: 'allow' },
  block: (reason) => ({ type: 'block', reason }),
  requiresConfirmation: (description, { timeoutMs } = {}) => ({
    type: 'requires_confirmation',
    description,
    ...(timeoutMs !== undefined && { timeoutMs }),
  }),
};

/** The call as a hook sees it. Frozen: a hook decides and cannot edit. */
export type ToolUse = {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  /** The arguments as the body would get them: after coercion and the schema, artifacts filled in. */
  readonly arguments: JsonObject;
  /** The snapshot of the tool's preview. Undefined before the preview is made, and for tools without one. */
  readonly snapshot: JsonObject | undefined;
  readonly principal: Principal | undefined;
  readonly attrs: JsonObject | undefined;
};

/** Called before a body runs. A hook that throws, or returns anything else, blocks the call. */
export type PreToolUse = (use: ToolUse) => Awaitable<ToolDecision>;

/** A parsed decision. `mistake`: the hook's mistake, for the developer. */
export type ReadDecision = ToolDecision & { readonly mistake?: string };

const noDecision = 'A check of the host gave no usable answer, so the call was not allowed.';

/** Blocks because of the hook's mistake. The model does not learn which. */
export const blockFor = (mistake: string): ReadDecision => ({ ...ToolDecision.block(noDecision), mistake });

/** Parses the result of a hook. Anything but a decision is a block that says so. */
export function readToolDecision(answer: unknown, hookName: string): ReadDecision {
  const decision = answer as Partial<Record<string, unknown>> | null | undefined;
  switch (decision?.['type']) {
    case 'allow':
      return ToolDecision.allow;
    case 'block':
      return ToolDecision.block(textOr(decision['reason'], 'A check of the host did not allow the call.'));
    case 'requires_confirmation':
      return readQuestion(decision['description'], decision['timeoutMs'], hookName);
    default:
      return blockFor(
        `${hookName} must return ToolDecision.allow, .block(reason) or .requiresConfirmation(description); it returned ${describe(answer)}.`,
      );
  }
}

function readQuestion(description: unknown, timeoutMs: unknown, hookName: string): ReadDecision {
  const question = textOr(description, 'A check of the host asks for a person.');
  if (timeoutMs === undefined) return ToolDecision.requiresConfirmation(question);
  if (typeof timeoutMs === 'number' && Number.isFinite(timeoutMs) && timeoutMs > 0)
    return ToolDecision.requiresConfirmation(question, { timeoutMs });
  return blockFor(
    `${hookName} asks for a person with a timeoutMs that is not a positive number of milliseconds.`,
  );
}

const textOr = (value: unknown, otherwise: string): string =>
  typeof value === 'string' && value !== '' ? value : otherwise;

const describe = (value: unknown): string => {
  if (value === null) return 'null';
  if (typeof value === 'object') return 'an object without a known "type"';
  return typeof value === 'boolean' ? `${value}` : typeof value;
};
