/** The first event of a call. */
import { freezeJson } from '../../base/json.ts';
import type { DraftOf } from '../../call/command.ts';
import type { ToolRequested } from '../../call/event.ts';
import type { HiddenId } from '../../call/events/gate-event.ts';
import { noSecrets } from '../../base/known-secrets.ts';
import { ownerOf } from '../../call/owner-of.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { traceparentOf } from '../state/caller-trace.ts';
import { modeOf } from '../state/mode-of.ts';

export function toRequestDraft(live: AcceptedCall): DraftOf<ToolRequested> {
  const { engine, turn, tool, request, requested, facts, manner, journal } = live;
  const { mode, modeOrigin } = tool ?? modeOf(live);
  const draft: DraftOf<ToolRequested> = {
    id: '',
    type: 'tool.requested',
    sessionId: '',
    turnId: '',
    callId: '',
    at: 0,
    cause: undefined,
    toolName: request.name,
    displayName: tool?.displayName ?? request.name,
    mode,
    modeOrigin,
    requestedInput: freezeJson(requested.kept),
    hidden: requested.hidden,
    requestDigest: requested.digest,
    principal: facts.kept.principal,
    provenance: facts.kept.provenance,
    attrs: facts.kept.attrs,
    submitted: manner.submitted,
    schemaDigest: tool?.input.jsonSchema === undefined ? undefined : tool.schemaDigest,
    traceparent: journal.observer?.traceparent ?? traceparentOf(live),
  };
  const hiddenIds = findHiddenIds(live);
  const { ownBudgets, deadlineMs } = turn;
  return {
    ...draft,
    ...(facts.askedBy !== undefined && { askedBy: facts.askedBy }),
    ...(engine.separateDuties && { separateDuties: true as const }),
    ...(hiddenIds.length > 0 && { hiddenIds }),
    ...(ownBudgets.length > 0 && { budgets: ownBudgets }),
    ...(manner.submitted && deadlineMs !== undefined && { turnDeadlineMs: deadlineMs }),
  };
}

const none: readonly HiddenId[] = Object.freeze([]);

/** Only this process knows the secrets. Others show these names, e.g. in messages. */
function findHiddenIds({ secrets, sessionId, callId, request, facts }: AcceptedCall): readonly HiddenId[] {
  const { known } = secrets;
  if (known === noSecrets) return none;
  const owner = ownerOf(facts.kept.principal);
  const names: readonly (readonly [HiddenId, string])[] = [
    ['session', sessionId],
    ['call', callId],
    ['tool', request.name],
    ...(owner === undefined ? [] : [['owner', owner] as const]),
  ];
  return names.flatMap(([what, name]) => (known.text(name) === name ? [] : [what]));
}
