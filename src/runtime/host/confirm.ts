import type { Awaitable, JsonObject } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import type { ArtifactArgument, Ask, DecidedBy, DirectIdentity, InputForm } from '../../call/event.ts';
import { readDirectIdentity, selfAsserted } from '../../call/identity.ts';
import type { ToolMode } from '../../tool/mode.ts';
import type { Principal } from '../../tool/tool-context.ts';

/** A held call, as shown to whoever decides. Inputs are in their kept form. */
export type ConfirmationRequest = {
  readonly confirmationId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly displayName: string;
  readonly mode: ToolMode;
  /** What the body would get: what the schema made of the arguments. */
  readonly arguments: JsonObject;
  /** `typed`: `arguments` is a rendering of a value that JSON cannot hold. */
  readonly inputForm: InputForm;
  /** The arguments as the schema accepted them. An edit is written like these. */
  readonly accepted: JsonObject;
  /** Artifacts used in the arguments. */
  readonly artifacts: readonly ArtifactArgument[];
  readonly inputDigest: string;
  readonly description: string;
  /** Of the preview that is shown, where there is one. */
  readonly revision: number | undefined;
  readonly asks: readonly Ask[];
  readonly principal: Principal | undefined;
};

/** A decision needs a name: `by` is the person who took it. */
export type ConfirmationAnswer = {
  readonly by: string;
  /** How the host knows who decided. The name counts as self-asserted where nothing is said. */
  readonly identity?: DirectIdentity;
  readonly reason?: string;
} & (
  | { readonly decision: 'approve' | 'deny' }
  /** Approves the call with other arguments. */
  | { readonly decision: 'edit'; readonly arguments: JsonObject }
  /** Answers the model and does not run the tool. */
  | { readonly decision: 'respond'; readonly response: string }
);

/** Asks a person. Whatever is not a well-formed decision is a denial. */
export type OnConfirm = (request: ConfirmationRequest) => Awaitable<ConfirmationAnswer>;

/** A decision as it is read. `mistake`: what the host did wrong, for the log of the call. */
export type ReadAnswer = {
  readonly by: DecidedBy;
  readonly reason: string | undefined;
  readonly mistake?: string;
} & (
  | { readonly decision: 'approve' | 'deny' }
  | { readonly decision: 'edit'; readonly arguments: JsonObject }
  | { readonly decision: 'respond'; readonly response: string }
);

/** Reads what `onConfirm` returned; anything but a whole decision by a named person denies. */
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
        ? 'the approval names nobody; return {decision: "approve", by: "<who>"} from onConfirm.'
        : `the decision names nobody; return {decision: "${decision}", by: "<who>", …} from onConfirm.`;
    if (decision === 'edit')
      return 'an edit needs arguments: the object to run with instead; return {decision: "edit", by, arguments} from onConfirm.';
    if (decision === 'respond')
      return 'a response needs a text for the model; return {decision: "respond", by, response} from onConfirm.';
  }
  return 'onConfirm must return {decision: "approve" | "deny", by: "<who>"}.';
}

const hook: DecidedBy = { type: 'hook', name: 'onConfirm' };

/** Where nobody could be asked because of a mistake of the host. The model is not told which. */
export const denyFor = (mistake: string, reason: string = 'the decision could not be used.'): ReadAnswer => ({
  decision: 'deny',
  by: hook,
  reason,
  mistake,
});

/** What the model and the record are told about a no. */
export const describeDenial = ({ by, reason }: Pick<ReadAnswer, 'by' | 'reason'>): string => {
  const because = reason === undefined ? '.' : `: ${reason}`;
  return by.type === 'person' ? `${by.name} said no${because}` : `Nobody agreed to it${because}`;
};
