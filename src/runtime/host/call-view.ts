import type { JsonValue } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { acceptedInputOf } from '../../call/call.ts';
import type { ArtifactArgument, Identity, InputForm, Provenance } from '../../call/event.ts';
import type { ToolMode, ToolModeOrigin } from '../../tool/mode.ts';
import type { Principal } from '../../tool/tool-context.ts';

/** A call as shown to people. Inputs are in their stored form. */
export type CallView = {
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  readonly modeOrigin: ToolModeOrigin;
  /** As the model requested it. */
  readonly requestedInput: JsonValue;
  /** As the body receives it. */
  readonly effectiveInput: JsonValue;
  /** `typed`: the effective input is a rendering. Undefined in ledgers of earlier versions: the schema may change it. */
  readonly inputForm: InputForm | undefined;
  /** As the schema accepted it. An edit is written like this. */
  readonly acceptedInput: JsonValue;
  /** Artifacts used in the arguments. */
  readonly artifacts: readonly ArtifactArgument[];
  /** Paths of redacted values. */
  readonly hidden: readonly string[];
  readonly policyVersion: string | undefined;
  /** On whose behalf the call is made, and which model asked for it. */
  readonly principal: Principal | undefined;
  readonly provenance: Provenance | undefined;
  /** How the calling program was identified, if recorded. */
  readonly askedBy: Identity | undefined;
  /** The trace of the call, as a `traceparent` of the W3C. */
  readonly traceparent: string | undefined;
};

export const viewCall = (call: Call): CallView => ({
  sessionId: call.sessionId,
  turnId: call.turnId,
  callId: call.callId,
  toolName: call.toolName,
  displayName: call.displayName,
  mode: call.mode,
  modeOrigin: call.modeOrigin,
  requestedInput: call.requestedInput,
  effectiveInput: call.effectiveInput ?? call.requestedInput,
  inputForm: call.inputForm,
  acceptedInput: acceptedInputOf(call),
  artifacts: call.artifacts,
  hidden: call.hidden,
  policyVersion: call.policyVersion,
  principal: call.principal,
  provenance: call.provenance,
  askedBy: call.askedBy,
  traceparent: call.traceparent,
});
