/** A part of a ledger that was changed after it was written, or could not have been written so. */
export type VerifyProblem = {
  readonly sessionId: string;
  /** The entry within the session; undefined for a problem of the whole session. */
  readonly sequence: number | undefined;
  /** Position in the store that was read. */
  readonly position: number | undefined;
  readonly kind: VerifyProblemKind;
  /** Says what was found and what was expected. Quotes identifiers, never payloads. */
  readonly message: string;
};

export type VerifyProblemKind =
  | 'sequence'
  | 'chain'
  | 'text'
  | 'newer'
  | 'session'
  | 'bodies'
  | 'version'
  | 'order'
  | 'audit'
  | 'content'
  | 'claim'
  | 'limit'
  | 'head'
  | 'anchor';

/** Every kind of problem, and its meaning. */
export const verifyProblemKinds: { readonly [Kind in VerifyProblemKind]: string } = {
  sequence: 'An entry is missing, occurs twice or is in the wrong place.',
  chain: 'The hash of an entry does not match its text and the previous entry.',
  text: 'The text of an entry cannot be read.',
  newer: 'The entry has a newer format: its chain is valid, but its content could not be checked.',
  session: 'An entry or an event claims to belong to another session or another call.',
  bodies: 'The bodies of an entry were changed, or are missing without an erasure.',
  version: 'The versions of a call do not follow each other.',
  order: 'An event could not have followed the events before it.',
  audit: 'The audit records of a call are not in a legal order.',
  content: 'The model content does not match the outcome.',
  claim: 'Two calls began under one idempotency key, and no entry between them released it.',
  limit: 'An entry took more of a budget than was left, or states a total that does not match the entries.',
  head: 'The chain of a session does not end where its ledger says.',
  anchor: 'The chain of a session does not include its anchor: it was recomputed, cut or dropped.',
};
