/**
 * The promises of Quittance, word for word as in the README. `promises.test.ts` fails if no test cites a claimed
 * promise, if the README lacks it, or if the README contains a promise that is not claimed yet.
 */
export type Promised = {
  readonly id: string;
  readonly words: string;
  /** The part of the work that claims it. */
  readonly part: 'core' | 'ledger' | 'contracts' | 'people' | 'replay';
  readonly claimed: boolean;
  /** The part that holds so far, if it is less than the whole. */
  readonly soFar?: string;
};

export const promises: readonly Promised[] = [
  {
    id: 'one-outcome',
    words: 'every accepted call ends in exactly one outcome, even if the process is killed at any point',
    part: 'core',
    claimed: true,
  },
  { id: 'intent-first', words: 'no tool runs before its intent is durable', part: 'ledger', claimed: true },
  {
    id: 'no-silent-rerun',
    words: 'an attempt without a recorded end is retried only if the tool declares that safe',
    part: 'ledger',
    claimed: true,
  },
  {
    id: 'bound-approval',
    words:
      'a decision by a named person applies once, to one call, input digest and preview revision, under unchanged rules. The first decision wins; where a rule needs several people, the one that completes the quorum of distinct verified people does, once. An edit voids earlier approvals. No text from a model or a tool can approve',
    part: 'people',
    claimed: true,
  },
  {
    id: 'deny-wins',
    words: 'block beats ask beats allow, and an approval never skips a check',
    part: 'contracts',
    claimed: true,
  },
  {
    id: 'limits-hold',
    words: 'N parallel calls under a limit of K run at most K times, across processes',
    part: 'core',
    claimed: true,
  },
  {
    id: 'nothing-lost',
    words:
      'if the ledger cannot store a result, the runtime writes it to a pre-allocated, fsynced spill file, which counts as durable. The answer says so, and `persistence_failed` is recorded. Without a stored intent, nothing runs',
    part: 'ledger',
    claimed: true,
  },
  {
    id: 'tamper-evident',
    words:
      "`quittance verify` finds any change, removal or reordering in a session's chain, unless the chain was recomputed. With an anchor it also finds a recomputed chain, a cut tail or a dropped session",
    part: 'ledger',
    claimed: true,
  },
  {
    id: 'replay-is-sealed',
    words:
      'a replay has no effects outside; failures replay as failures; a missing recording is `tool.fixture_missing`',
    part: 'replay',
    claimed: true,
  },
  {
    id: 'late-is-kept',
    words: 'a result after the deadline is recorded on its call and never changes the outcome',
    part: 'core',
    claimed: true,
  },
  {
    id: 'secrets-stay-out',
    words:
      'a value hidden by the redactor is never in plain text on disk, in a sink, a log, an export or a screen',
    part: 'core',
    claimed: true,
  },
  {
    id: 'told-equals-kept',
    words: 'the ledger holds exactly the bytes that the model received',
    part: 'core',
    claimed: true,
  },
];
