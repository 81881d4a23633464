import type { JsonObject } from '../../base/json.ts';
import type { DecidedBy } from '../../call/event.ts';
import { keepSteps } from '../rules/ask-workflows.ts';
import type { StoppedCall } from '../state/call-stages.ts';
import type { Stop } from '../state/gate.ts';

const nothing: readonly never[] = [];

/** Records what the gates found. */
export function recordRuling(live: StoppedCall, stop: Stop | undefined): void {
  const { input, requested, policy, asks = nothing, workflowSteps = nothing, grant, journal } = live;
  const effective = input?.effective;
  const decision = stop !== undefined && stop.type !== 'copy' ? 'deny' : asks.length > 0 ? 'ask' : 'allow';
  if (workflowSteps.length > 0) keepSteps(live, workflowSteps, decision);
  journal.apply({
    id: '',
    type: 'tool.decided',
    sessionId: '',
    turnId: '',
    callId: '',
    at: 0,
    cause: undefined,
    decision,
    gates: live.passages,
    decidedBy: decision === 'allow' ? giverOf(live) : deciderOf(live, stop),
    policyVersion: policy?.version,
    // Redacting an object gives an object.
    effectiveInput:
      effective === undefined || effective === requested ? undefined : (effective.kept as JsonObject),
    inputDigest: effective?.digest,
    inputForm: input?.form,
    acceptedInput: input?.acceptedKept,
    artifacts: input?.artifacts ?? nothing,
    changes: input?.changes ?? nothing,
    rules: live.rules ?? nothing,
    grantId: decision === 'allow' ? grant?.grant.grantId : undefined,
    sideEffect: policy?.toolFacts(live.request.name).sideEffect,
  });
  if (stop?.type === 'deny' && stop.exhausted !== undefined)
    journal.apply({ type: 'exhaust', ...stop.exhausted });
}

/** The person whose grant let the call pass. */
const giverOf = ({ grant }: StoppedCall): DecidedBy | undefined =>
  grant === undefined
    ? undefined
    : {
        type: 'person',
        name: grant.grant.by,
        ...(grant.grant.identity !== undefined && { identity: grant.grant.identity }),
      };

const deciderOf = ({ asks, lastGate }: StoppedCall, stop: Stop | undefined): DecidedBy | undefined => {
  if (stop === undefined) return asks?.[0]?.by;
  return (stop.type === 'deny' ? stop.by : undefined) ?? { type: 'gate', name: lastGate };
};
