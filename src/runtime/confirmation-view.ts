/** A question to a person, as it is listed and shown. Inputs are in their kept form. */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { Call, ConfirmationStatus } from '../call/call.ts';
import type { Ask, ConfirmationDecision, DecidedBy, Preview, Provenance } from '../call/event.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';

export type ConfirmationView = {
  readonly confirmationId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  /** As the model asked. */
  readonly requestedInput: JsonValue;
  /** As the body would get it. */
  readonly effectiveInput: JsonValue;
  /** Paths whose values are not shown. */
  readonly hidden: readonly string[];
  /** What a decision must name, so that it can be about nothing else. */
  readonly inputDigest: string;
  readonly description: string;
  /** Who asks, and why: gates, hooks, rules, stages. */
  readonly asks: readonly Ask[];
  readonly policyVersion: string | undefined;
  readonly preview: PreviewView | undefined;
  readonly risk: readonly string[];
  /** On whose behalf the call is made, and which model asked for it. */
  readonly principal: Principal | undefined;
  readonly provenance: Provenance | undefined;
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  /** What happens when nobody decides in time. */
  readonly timeoutEffect: 'block' | 'allow';
  readonly status: ConfirmationStatus;
  readonly decision: ConfirmationDecision | undefined;
  readonly by: DecidedBy | undefined;
  readonly reason: string | undefined;
  readonly decidedAt: number | undefined;
};

export type PreviewView = {
  readonly operationId: string;
  readonly revision: number;
  readonly ready: boolean;
  readonly preview: Preview;
  readonly snapshot: JsonObject;
  readonly expiresAt: number | undefined;
};

/** What the call asks now. Undefined where it asks nothing. */
export function toConfirmationView(call: Call): ConfirmationView | undefined {
  const { confirmation, preview } = call;
  if (confirmation === undefined) return undefined;
  return {
    confirmationId: confirmation.confirmationId,
    sessionId: call.sessionId,
    turnId: call.turnId,
    callId: call.callId,
    toolName: call.toolName,
    displayName: call.displayName,
    mode: call.mode,
    modeOrigin: call.modeOrigin,
    requestedInput: call.requestedInput,
    effectiveInput: call.effectiveInput ?? call.requestedInput,
    hidden: call.hidden,
    inputDigest: confirmation.inputDigest,
    description: confirmation.description,
    asks: confirmation.asks,
    policyVersion: call.policyVersion,
    preview:
      preview === undefined
        ? undefined
        : {
            operationId: preview.operationId,
            revision: preview.revision,
            ready: preview.ready,
            preview: preview.preview,
            snapshot: preview.snapshot,
            expiresAt: preview.expiresAt,
          },
    risk: confirmation.risk,
    principal: call.principal,
    provenance: call.provenance,
    createdAt: confirmation.askedAt,
    expiresAt: confirmation.expiresAt,
    timeoutEffect: confirmation.timeoutEffect,
    status: confirmation.status,
    decision: confirmation.decision,
    by: confirmation.by,
    reason: confirmation.reason,
    decidedAt: confirmation.decidedAt,
  };
}
