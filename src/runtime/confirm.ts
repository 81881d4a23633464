import type { Awaitable, JsonObject } from '../base/json.ts';
import type { Ask } from '../call/event.ts';
import type { ToolMode } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';

/** A held call, as shown to whoever decides. Inputs are in their kept form. */
export type ConfirmationRequest = {
  readonly confirmationId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly arguments: JsonObject;
  readonly inputDigest: string;
  readonly description: string;
  readonly asks: readonly Ask[];
  readonly principal: Principal | undefined;
};

/** A decision needs a name: `by` is the person who took it. */
export type ConfirmationAnswer = {
  readonly decision: 'approve' | 'deny';
  readonly by: string;
  readonly reason?: string;
};

/** Asks a person. Whatever is not a well-formed approval is a denial. */
export type OnConfirm = (request: ConfirmationRequest) => Awaitable<ConfirmationAnswer>;

/** Reads what `onConfirm` returned; anything but an approval by a named person denies. */
export function readConfirmationAnswer(answer: unknown): ConfirmationAnswer {
  const { decision, by, reason } = (answer ?? {}) as Partial<Record<string, unknown>>;
  const named = typeof by === 'string' && by.trim() !== '';
  const because = typeof reason === 'string' && reason !== '' ? { reason } : {};
  if (decision === 'approve' && named) return { decision, by, ...because };
  if (decision === 'deny') return { decision, by: named ? by : 'onConfirm', ...because };
  return {
    decision: 'deny',
    by: 'onConfirm',
    reason:
      decision === 'approve'
        ? 'The approval names nobody. Return {decision: "approve", by: "<who>"} from onConfirm.'
        : 'onConfirm must return {decision: "approve" | "deny", by: "<who>"}.',
  };
}

/** Said when a call needs a person and the runtime has nobody to ask. */
export const nobodyToAsk = (toolName: string, description: string): string =>
  `${description} Nobody can be asked: add \`onConfirm: async (request) => ({ decision: 'approve', by: 'your name' })\` ` +
  `to createRuntime, or let the tool "${toolName}" run unasked with \`treatments\`.`;
