import type { Awaitable, JsonObject } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import type { ArtifactArgument, Ask, DecidedBy, DirectIdentity, InputForm } from '../../call/event.ts';
import { readDirectIdentity, selfAsserted } from '../../call/identity.ts';
import type { MissingSeat } from '../../call/quorum.ts';
import type { Vote } from '../../call/vote.ts';
import type { ToolMode } from '../../tool/mode.ts';
import type { Principal } from '../../tool/tool-context.ts';

/** A held call as shown to the person who decides. Inputs are in their stored form. */
export type ConfirmationRequest = {
  readonly confirmationId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  /** The input of the body: the schema's result. */
  readonly arguments: JsonObject;
  /** `typed`: `arguments` is a rendering of a value that JSON cannot hold. */
  readonly inputForm: InputForm;
  /** The arguments that the schema accepted. An edit has this form. */
  readonly accepted: JsonObject;
  /** Artifacts used in the arguments. */
  readonly artifacts: readonly ArtifactArgument[];
  readonly inputDigest: string;
  readonly description: string;
  /** Revision of the preview that is shown, if any. */
  readonly revision: number | undefined;
  readonly asks: readonly Ask[];
  /** What people have said so far, if a rule needs several. `onConfirm` is asked again after each answer that counts. */
  readonly votes: readonly Vote[];
  readonly missing: readonly MissingSeat[];
  readonly principal: Principal | undefined;
};

/** A decision needs a name: `by` is the person who made it. */
export type ConfirmationAnswer = {
  readonly by: string;
  /** How the host knows this person. Without it, the name counts as self-asserted. */
  readonly identity?: DirectIdentity;
  readonly reason?: string;
} & (
  | { readonly decision: 'approve' | 'deny' }
  /** Approves the call with other arguments. */
  | { readonly decision: 'edit'; readonly arguments: JsonObject }
  /** Answers the model instead of running the tool. */
  | { readonly decision: 'respond'; readonly response: string }
);

/** Asks a person. Anything but a well-formed decision is a denial. */
export type OnConfirm = (request: ConfirmationRequest) => Awaitable<ConfirmationAnswer>;

/** A parsed decision. `mistake`: the host's mistake, for the log of the call. */
export type ReadAnswer = {
  readonly by: DecidedBy;
  readonly reason: string | undefined;
  readonly mistake?: string;
} & (
  | { readonly decision: 'approve' | 'deny' }
  | { readonly decision: 'edit'; readonly arguments: JsonObject }
  | { readonly decision: 'respond'; readonly response: string }
);

/** Parses the result of `onConfirm`. Anything but a complete decision by a named person denies. */
export function readConfirmationAnswer(answer: unknown): ReadAnswer {
  const { decision, by, identity, reason, ...given } = (answer ?? {}) as Partial<Record<string, unknown>>;
  const known = identity === undefined ? selfAsserted : readDirectIdentity(identity);
  if (known === undefined)
    return denyFor('the identity of the decider is not one that can be recorded; see DirectIdentity.');
  const person: DecidedBy | undefined =
    typeof by === 'string' && by.trim() !== '' ? { type: 'person', name: by, identity: known } : undefined;
  const because = typeof reason === 'string' && reason !== '' ? reason : undefined;
  if (decision === 'approve' && person !== undefined) return { decision, by: person, reason: because };
  if (decision === 'deny') return { decision, by: person ?? hook, reason: because };
  const { arguments: edited, response } = given;
  if (decision === 'edit' && person !== undefined && isJsonObject(edited))
    return { decision, by: person, reason: because, arguments: edited };
  if (decision === 'respond' && person !== undefined && typeof response === 'string' && response !== '')
    return { decision, by: person, reason: because, response };
  return denyFor(describeMistake(decision, person));
}

function describeMistake(decision: unknown, person: DecidedBy | undefined): string {
  if (decision === 'approve' || decision === 'edit' || decision === 'respond') {
    if (person === undefined)
      return decision === 'approve'
        ? 'the approval has no name; return {decision: "approve", by: "<who>"} from onConfirm.'
        : `the decision has no name; return {decision: "${decision}", by: "<who>", …} from onConfirm.`;
    if (decision === 'edit')
      return 'an edit needs arguments: the object to run with instead; return {decision: "edit", by, arguments} from onConfirm.';
    if (decision === 'respond')
      return 'a response needs a text for the model; return {decision: "respond", by, response} from onConfirm.';
  }
  return 'onConfirm must return {decision: "approve" | "deny", by: "<who>"}.';
}

const hook: DecidedBy = { type: 'hook', name: 'onConfirm' };

/** The denial if no person could be asked because of the host's mistake. The model does not learn which. */
export const denyFor = (mistake: string, reason: string = 'the decision could not be used.'): ReadAnswer => ({
  decision: 'deny',
  by: hook,
  reason,
  mistake,
});

/** The text of a denial for the model and the record. */
export const describeDenial = ({ by, reason }: Pick<ReadAnswer, 'by' | 'reason'>): string => {
  const because = reason === undefined ? '.' : `: ${reason}`;
  return by.type === 'person' ? `${by.name} said no${because}` : `It was not approved${because}`;
};
