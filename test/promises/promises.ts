/**
 * What Quittance promises, word for word as the README says it, and which part of the work makes each true. A promise
 * is claimed once its tests stand; `promises.test.ts` fails when a claimed one is cited by no test or missing from
 * the README, and when one that is not claimed yet is advertised there.
 */
export type Promised = {
  readonly id: string;
  readonly words: string;
  /** The part of the work that claims it. */
  readonly part: 'core' | 'ledger' | 'contracts' | 'people' | 'replay';
  readonly claimed: boolean;
  /** What of it holds so far, where that is less than the whole. */
  readonly soFar?: string;
};

export const promises: readonly Promised[] = [
  {
    id: 'one-outcome',
    words:
      'every accepted call ends in exactly one outcome, never two, never none, wherever the process is killed',
    part: 'core',
    claimed: true,
  },
  { id: 'intent-first', words: 'no body runs before its intent is durable', part: 'ledger', claimed: true },
  {
    id: 'no-silent-rerun',
    words: 'an attempt without a recorded end is never re-run unless the tool declared that safe',
    part: 'ledger',
    claimed: true,
  },
  {
    id: 'bound-approval',
    words:
      'a decision applies to exactly one (call, input digest, preview revision) under rules that still say the same, once, by a named person, first decision wins; nothing the model or a tool says can approve',
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
      'when the ledger cannot take a result, it is spilled to a pre-allocated fsynced file of its owner beside the ledger, which counts as kept, the answer says so, `persistence_failed` is recorded and reconciled. No intent, no run',
    part: 'ledger',
    claimed: true,
  },
  {
    id: 'tamper-evident',
    words:
      "`quittance verify` finds any change, removal or reordering inside a session's chain by someone who does not recompute it; with an anchored head also a recomputed chain, a cut tail or a dropped session",
    part: 'ledger',
    claimed: true,
  },
  {
    id: 'replay-is-sealed',
    words: 'a replay never touches the world; failures replay as failures; a miss is `tool.fixture_missing`',
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
    words: 'what the redactor hides is never in clear on disk, in a sink, a log, an export or a screen',
    part: 'core',
    claimed: true,
  },
  {
    id: 'told-equals-kept',
    words: 'what the model was told is what the ledger holds, byte for byte',
    part: 'core',
    claimed: true,
  },
];
