/**
 * Attacks on the package, in classes. A class is one idea ("a wrapper hides the program"); its attempts are spellings
 * of that idea. `npm run attack` runs every class against the packed package; vitest runs them against the source.
 *
 * To add a class:
 * 1. Write it in the file of its family in this folder (`command-classes.ts`, `path-classes.ts`, …) or add a file.
 *    Import values of the package only through the `door` that `run` receives. Import its types as you like.
 * 2. `run` makes one attempt and says what became of it: `held` (refused or without effect), `asked` (a person had to
 *    decide, which counts as held), or `through` (the attack worked).
 * 3. Add the family to `families` in `classes.ts`.
 * 4. `UPDATE_DOCS=1 npx vitest run --project core test/attacks` writes the table in docs/attacks.md.
 */
import type * as quittance from 'quittance';
import type * as contracts from 'quittance/contracts';
import type * as http from '@quittance/server';
import type * as ledger from 'quittance/ledger';
import type * as testing from 'quittance/testing';

/** The public entry points of the package, from its source or from the packed file. */
export type Door = {
  readonly quittance: typeof quittance;
  readonly contracts: typeof contracts;
  readonly ledger: typeof ledger;
  readonly http: typeof http;
  readonly testing: typeof testing;
  /** Makes an empty folder. The harness removes it after the class. */
  readonly newFolder: () => string;
  /** Closes something that the attempts of a class share. The harness calls it after the class. */
  readonly onEnd: (close: () => Promise<void>) => void;
};

export type Verdict = 'held' | 'asked' | 'through';

export type AttackClass = {
  /** Unique, kebab-case. */
  readonly id: string;
  /** What the attacker tries, as a phrase. */
  readonly title: string;
  /** `name` is unique in the class and says which spelling it is. */
  readonly attempts: readonly { readonly name: string; readonly run: (door: Door) => Promise<Verdict> }[];
};

export type Family = {
  readonly title: string;
  /** The file of the family, from the root of the repository. */
  readonly file: string;
  readonly classes: readonly AttackClass[];
};

/** A class whose attempts are data, all made in the same way. */
export const attackClass = <Attempt extends { readonly name: string }>(spec: {
  readonly id: string;
  readonly title: string;
  readonly attempts: readonly Attempt[];
  readonly run: (attempt: Attempt, door: Door) => Promise<Verdict>;
}): AttackClass => ({
  id: spec.id,
  title: spec.title,
  attempts: spec.attempts.map((attempt) => ({
    name: attempt.name,
    run: (door) => spec.run(attempt, door),
  })),
});
