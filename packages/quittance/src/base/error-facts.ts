/** The facts of our errors: what a program may want to read, by the code of the error. */

type NoFacts = { readonly [Name in never]: string };
type CallFacts = { readonly sessionId: string; readonly callId: string };
/** The place of the problem in a ledger or in a file. */
type PlaceFacts = {
  readonly path?: string;
  readonly line?: string;
  readonly sessionId?: string;
  readonly callId?: string;
  readonly sequence?: string;
  readonly position?: string;
};

/** What `facts` of an error hold, by its code. Numbers and times are texts, as they are in an answer of the server. */
export type ErrorFacts = {
  readonly 'config.invalid': {
    readonly tool?: string;
    readonly field?: string;
    readonly path?: string;
    /** What puts it right, to be typed in a shell. */
    readonly command?: string;
    readonly url?: string;
    readonly port?: string;
    /** The package that is not installed. */
    readonly package?: string;
    readonly template?: string;
    /** The version of the tables in a database, and the version that this program needs. */
    readonly found?: string;
    readonly known?: string;
    readonly workflow?: string;
    readonly stageId?: string;
    readonly sessionId?: string;
    readonly callId?: string;
  };
  readonly 'adapter.unsafe': NoFacts;
  readonly 'contracts.invalid': {
    /** The list of problems as JSON, each with its line. */
    readonly problems: string;
  };
  readonly 'call.malformed': NoFacts;
  readonly 'call.pending': {
    readonly callId: string;
    /** Absent if another process makes the call, or a worker runs it. */
    readonly confirmationId?: string;
    readonly waitsFor?: string;
  };
  readonly 'call.unknown': { readonly sessionId: string; readonly callId?: string };
  readonly 'call.resolved': CallFacts;
  readonly 'confirmation.unknown': { readonly confirmationId: string };
  readonly 'confirmation.decided': {
    readonly callId: string;
    readonly confirmationId?: string;
    readonly status?: string;
    /** Who decided first. */
    readonly by?: string;
    readonly decidedAt?: string;
  };
  readonly 'confirmation.mismatch': {
    readonly callId?: string;
    readonly confirmationId?: string;
    readonly found?: string;
    readonly expected?: string;
    /** Problems of edited arguments, as JSON: path and message. */
    readonly issues?: string;
    /** The rule that blocks edited arguments. */
    readonly ruleId?: string;
  };
  readonly 'confirmation.expired': { readonly confirmationId: string; readonly callId?: string };
  readonly 'confirmation.forbidden': {
    /** Who has no right. */
    readonly by?: string;
    readonly confirmationId?: string;
    readonly grantId?: string;
    readonly sessionId?: string;
    readonly callId?: string;
  };
  readonly 'grant.unknown': { readonly sessionId: string; readonly grantId: string };
  readonly 'review.unknown': { readonly server: string; readonly tool: string };
  readonly 'review.mismatch': { readonly server: string; readonly tool: string };
  readonly 'delegation.unknown': { readonly delegationId: string };
  readonly 'handoff.unknown': { readonly sessionId?: string; readonly callId?: string };
  readonly 'handoff.taken': { readonly callId: string; readonly worker: string; readonly expiresAt?: string };
  readonly 'handoff.expired': {
    readonly callId: string;
    readonly worker: string;
    readonly expiresAt: string;
  };
  readonly 'undo.unavailable': CallFacts;
  readonly 'undo.spent': CallFacts;
  readonly 'undo.expired': CallFacts;
  readonly 'undo.conflict': CallFacts;
  readonly 'runtime.closed': NoFacts;
  readonly 'seal.broken': { readonly sessionId?: string; readonly callId?: string };
  readonly 'ledger.newer': PlaceFacts & { readonly found?: string; readonly known?: string };
  readonly 'ledger.damaged': PlaceFacts;
  readonly 'ledger.in_use': CallFacts;
  readonly 'ledger.closed': NoFacts;
  readonly 'ledger.unavailable': {
    readonly path?: string;
    readonly callId?: string;
    /** The code that PostgreSQL gave. */
    readonly sqlState?: string;
  };
  readonly 'ledger.altered': { readonly artifactId?: string; readonly how?: string };
  readonly 'cassette.invalid': { readonly sealed?: string; readonly found?: string };
  readonly 'cassette.unused': { readonly unused: string; readonly missed: string };
};
