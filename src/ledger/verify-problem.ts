/** Something in a ledger that is not as it was written, or could not have been written so. */
export type VerifyProblem = {
  readonly sessionId: string;
  /** Which entry of the session; undefined where it is about the whole session. */
  readonly sequence: number | undefined;
  /** Where it stands in the store that was read. */
  readonly position: number | undefined;
  readonly kind: VerifyProblemKind;
  /** What was found and what was expected. Quotes identifiers, never payloads. */
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
  | 'told'
  | 'claim'
  | 'limit'
  | 'head'
  | 'anchor';

/** Every kind of problem, and what it means. */
export const verifyProblemKinds: { readonly [Kind in VerifyProblemKind]: string } = {
  sequence: 'An entry is missing, stands twice or stands in the wrong place.',
  chain: 'The hash of an entry is not that of its text after the entry before.',
  text: 'The text of an entry cannot be read.',
  newer: 'The entry has a newer format: its chain holds, what it says could not be checked.',
  session: 'An entry or an event says that it belongs to another session or another call.',
  bodies: 'The bodies of an entry are not those that were written, or are gone although nobody erased them.',
  version: 'The versions of a call do not follow each other.',
  order: 'An event could not have followed the ones before it.',
  audit: 'The audit records of a call stand in no legal order.',
  told: 'What the model was told is not what the outcome says.',
  claim: 'Two calls began under one idempotency key, and no entry between them gave it up.',
  limit: 'An entry took more of a budget than was left, or states another total than the entries come to.',
  head: 'The chain of a session does not end where its ledger says.',
  anchor: 'The chain of a session does not pass through its anchor: it was computed anew, cut or dropped.',
};
