/** Confirmations, decisions, grants, and calls that need a person to resolve them. */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import type { ConfirmationStatus } from 'quittance/internal/call/call';
import type { Resolution } from 'quittance/internal/call/event';
import type { Page } from 'quittance/internal/ledger/call-query';
import type { ConfirmationView, GrantView, UnresolvedCall } from 'quittance/internal/runtime/views';
import type { DelegationView } from 'quittance/internal/runtime/delegations';
import type { LinkDecision } from 'quittance/internal/runtime/decision-token';
import type { PageQuery } from './page.ts';
import type { Integer, PersonName, PositiveInteger, ReasonText, ShortReason } from './scalar.ts';

/** The query of `GET /v1/confirmations`. */
export type ConfirmationListQuery = PageQuery & {
  readonly status?: ConfirmationStatus;
  readonly sessionId?: string;
  readonly toolName?: string;
};
/** `GET /v1/confirmations`: newest first. `GET /v1/confirmations/{confirmationId}` is one `ConfirmationView`. */
export type ConfirmationPage = Page<ConfirmationView> & { readonly large?: readonly LargeCallRef[] };

/** A call that a page leaves out because it is too large to send. `quittance show` shows it. */
export type LargeCallRef = {
  readonly sessionId: string;
  readonly callId: string;
  readonly bytes: Integer;
};

/** `POST /v1/confirmations/{confirmationId}/decision`; the answer is the `ConfirmationView` after it. */
export type NewDecision =
  | (DecisionTerms & { readonly decision: 'approve'; readonly forSession?: SessionTerms })
  | (DecisionTerms & { readonly decision: 'deny' })
  /** Approves the call with other arguments. */
  | (DecisionTerms & { readonly decision: 'edit'; readonly arguments: JsonObject })
  /** Answers the model and does not run the tool. */
  | (DecisionTerms & {
      readonly decision: 'respond';
      /** @minLength 1 @maxLength limits.responseChars */
      readonly response: string;
    });
/**
 * Also approves similar calls of the session: a grant, given only if all needed approvers agree to one. Its bounds are
 * the narrowest of theirs.
 */
export type SessionTerms = {
  /** Duration from now. At most 86400000: a day. */
  readonly forMs: PositiveInteger;
  /** How many calls. At most 1000. */
  readonly uses: PositiveInteger;
};
type DecisionTerms = {
  /** The digest of the input that was shown. Required to approve or edit. */
  readonly inputDigest?: string;
  /** The revision of the preview that was shown, if there was one. */
  readonly revision?: PositiveInteger;
  readonly reason?: ReasonText;
  /** The approver states that they did not read everything. The ledger stores it with their name. */
  readonly notReadToEnd?: boolean;
};

/** `POST /v1/confirmations/{confirmationId}/try`: arguments to try before an edit is sent. */
export type EditToTry = { readonly arguments: JsonObject };
/** Trying decides nothing and records nothing. Hooks, limits and sandboxes are asked only when the call runs. */
export type TriedEdit =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly message: string;
      /** Problems of single arguments. */
      readonly problems: readonly {
        readonly path: readonly (string | Integer)[];
        readonly message: string;
      }[];
      /** The rule that blocks the arguments. */
      readonly ruleId: string | undefined;
    };

/** `POST /v1/confirmations/{confirmationId}/link`. */
export type NewDecisionLink = {
  /** The one person who may use the link: you vouch for them. Without a name, decisions are recorded as made by your link. */
  readonly by?: PersonName;
  /** @minItems 1 */
  readonly decisions?: readonly LinkDecision[];
  /** At most 604800000: 7 days. The link ends earlier with the confirmation, and with your token. */
  readonly expiresInMs: PositiveInteger;
};
export type DecisionLink = {
  readonly token: string;
  /** The token follows the `#`, which browsers do not send to servers. */
  readonly url: string;
};

/** `POST /v1/decisions/read`: what a decision token is about. Needs no other token. */
export type TokenToRead = {
  /** @minLength 1 @maxLength limits.link.tokenChars */
  readonly token: string;
};
export type LinkedQuestion = ConfirmationView & {
  /** The decisions that the link allows. */
  readonly allowed: readonly LinkDecision[];
  /** The one person who may use the link. */
  readonly named?: string;
  /** The person who made the link. If missing, the service made it, and a person must be named or signed in. */
  readonly madeBy?: string;
  /** The signed-in person, who would decide. */
  readonly signedInAs?: string;
  /** Name of the identity provider with which a person can sign in before they decide. */
  readonly signInWith?: string;
  /** Why a decision would be refused now, for the decisions that would be. */
  readonly refused: { readonly [Decision in LinkDecision]?: string };
  /** The texts for a page, with ids and names that look like secrets masked. */
  readonly shown: { readonly toolName: string; readonly description: string };
};
/** `POST /v1/decisions`: decides with a decision token. Needs no other token. */
export type NewTokenDecision = {
  /** @minLength 1 @maxLength limits.link.tokenChars */
  readonly token: string;
  readonly decision: LinkDecision;
  /** Who decides, if the token names no one. Stored next to the name of the person who made the link. */
  readonly by?: PersonName;
  readonly reason?: ReasonText;
};

/** The query of `GET /v1/grants`. */
export type GrantListQuery = { readonly sessionId?: string; readonly active?: boolean };
/** `GET /v1/grants`. Without a session, the grants of the newest sessions; `capped` if there are older ones. */
export type GrantList = { readonly rows: readonly GrantView[]; readonly capped: boolean };
/** `POST /v1/grants`; the answer is the `GrantView`. */
export type NewGrant = {
  /** @minLength 1 */
  readonly sessionId: string;
  /**
   * Exact name or glob.
   * @minLength 1
   * @maxLength limits.grant.toolNameChars
   */
  readonly toolName: string;
  readonly where?: JsonObject;
  /** @minimum 0 */
  readonly until?: Integer;
  readonly forMs?: PositiveInteger;
  readonly uses?: PositiveInteger;
  readonly reason?: ShortReason;
};
/** `POST /v1/sessions/{sessionId}/grants/{grantId}/revoke`. */
export type GrantRevocationRequest = {
  readonly reason?: ShortReason;
};

/** `GET /v1/delegations`: people who approve for others, oldest first. */
export type DelegationList = { readonly rows: readonly DelegationView[] };
/** `POST /v1/delegations`; the answer is the `DelegationView`. You delegate your own approvals. */
export type NewDelegation = {
  /** The delegate, by the name of their token or their subject at the identity provider. */
  readonly to: PersonName;
  /**
   * When it ends, in milliseconds since 1970. At most 90 days from now.
   * @minimum 0
   */
  readonly until: Integer;
  readonly reason?: ShortReason;
};
/** `POST /v1/delegations/{delegationId}/revoke`. You may revoke your own, and those to you; an admin any. */
export type DelegationRevocationRequest = {
  readonly reason?: ShortReason;
};

/** The query of `GET /v1/unresolved`. */
export type UnresolvedListQuery = PageQuery & { readonly sessionId?: string; readonly toolName?: string };
/** `GET /v1/unresolved`: calls that may or may not have taken effect, newest first. */
export type UnresolvedPage = Page<UnresolvedCall> & { readonly large?: readonly LargeCallRef[] };
/** `POST /v1/sessions/{sessionId}/calls/{callId}/resolution`; the answer is the `CallDetail`. */
export type NewResolution =
  | { readonly resolution: Resolution; readonly reason?: ReasonText; readonly result?: JsonValue }
  /** The tool's own `reconcile` finds out. */
  | { readonly ask: 'tool' };

/** `POST /v1/sessions/{sessionId}/calls/{callId}/undo`; the answer is the `CallAnswer` of the call that undoes it. */
export type NewUndo = { readonly reason?: ReasonText; readonly force?: boolean };
