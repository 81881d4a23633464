/** Questions to people, what they say, and what they permit beforehand. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Resolution } from '../../call/event.ts';
import type { Page } from '../../ledger/call-query.ts';
import type { ConfirmationView } from '../../runtime/host/confirmation-view.ts';
import type { GrantView } from '../../runtime/host/grant-view.ts';
import type { LinkDecision } from '../../runtime/people/signed-token.ts';
import type { UnresolvedCall } from '../../runtime/host/unresolved-call.ts';

/** `GET /v1/confirmations`: newest first. `GET /v1/confirmations/{confirmationId}` is one `ConfirmationView`. */
export type ConfirmationPage = Page<ConfirmationView> & { readonly large?: readonly LargeCallRef[] };

/** A call left out of a page because it is too large to be sent. `quittance show` shows it. */
export type LargeCallRef = {
  readonly sessionId: string;
  readonly callId: string;
  readonly bytes: number;
};

/** `POST /v1/confirmations/{confirmationId}/decision`; answered with the `ConfirmationView` as it is then. */
export type NewDecision =
  | (DecisionTerms & { readonly decision: 'approve' | 'deny' })
  /** Approves other arguments. */
  | (DecisionTerms & { readonly decision: 'edit'; readonly arguments: JsonObject })
  /** Answers the model without running anything. */
  | (DecisionTerms & { readonly decision: 'respond'; readonly response: string });
type DecisionTerms = {
  /** Of the input that was shown; needed to approve or edit. */
  readonly inputDigest?: string;
  /** Of the preview that was shown, where there was one. */
  readonly revision?: number;
  readonly reason?: string;
  /** The person approves and says that they have not read to the end. It is recorded with their name. */
  readonly notReadToEnd?: boolean;
};

/** `POST /v1/confirmations/{confirmationId}/link`. */
export type NewDecisionLink = {
  /** The one person who may use it: you vouch for them. Without a name, the decision is kept as made by your link. */
  readonly by?: string;
  readonly decisions?: readonly LinkDecision[];
  /** At most 7 days. The link ends earlier with the question, and with your token. */
  readonly expiresInMs: number;
};
export type DecisionLink = {
  readonly token: string;
  /** The token stands after the `#`, which no server sees. */
  readonly url: string;
};

/** `POST /v1/decisions/read`: what a decision token is about. Needs no other token. */
export type TokenToRead = { readonly token: string };
export type LinkedQuestion = ConfirmationView & {
  /** What the link is good for. */
  readonly allowed: readonly LinkDecision[];
  /** The one person who may use it. */
  readonly named?: string;
  /** The person who made it. The service did where nothing is said: then a person must be named or signed in. */
  readonly madeBy?: string;
  /** Who is logged in and would decide. */
  readonly signedInAs?: string;
  /** What a page draws: an id or a name that looks like a secret is masked. */
  readonly shown: { readonly toolName: string; readonly description: string };
};
/** `POST /v1/decisions`: decides with a decision token. Needs no other token. */
export type NewTokenDecision = {
  readonly token: string;
  readonly decision: LinkDecision;
  /** Who decides, where the token names nobody. Kept beside the name of whoever made the link, who answers for it. */
  readonly by?: string;
  readonly reason?: string;
};

/** `GET /v1/grants`. Without a session, those of the newest sessions: `capped` says that there are older ones. */
export type GrantList = { readonly rows: readonly GrantView[]; readonly capped: boolean };
/** `POST /v1/grants`; answered with the `GrantView`. */
export type NewGrant = {
  readonly sessionId: string;
  /** Exact name or glob. */
  readonly toolName: string;
  readonly where?: JsonObject;
  readonly until?: number;
  readonly forMs?: number;
  readonly uses?: number;
  readonly reason?: string;
};
/** `POST /v1/sessions/{sessionId}/grants/{grantId}/revoke`. */
export type GrantRevocationRequest = { readonly reason?: string };

/** `GET /v1/unresolved`: calls that may have taken effect although nobody can say so, newest first. */
export type UnresolvedPage = Page<UnresolvedCall> & { readonly large?: readonly LargeCallRef[] };
/** `POST /v1/sessions/{sessionId}/calls/{callId}/resolution`; answered with the `CallDetail`. */
export type NewResolution =
  | { readonly resolution: Resolution; readonly reason?: string; readonly result?: JsonValue }
  /** Has the tool's own `reconcile` find out. */
  | { readonly ask: 'tool' };

/** `POST /v1/sessions/{sessionId}/calls/{callId}/undo`; answered with a `CallAnswer` about the call that undoes it. */
export type NewUndo = { readonly reason?: string; readonly force?: boolean };
