/** Findings about one table: the first ones are listed, the others are counted. */
import type { StoreFinding } from '../../ledger/store-finding.ts';

/** A problem with a table. */
export type TableFinding = Omit<StoreFinding, 'level'>;

export const adviseRebuild = 'Run `quittance rebuild` to rebuild them from the entries.';

const mostNamed = 50;

export class Findings {
  readonly #about: string;
  readonly #named: TableFinding[] = [];
  #count = 0;

  /** `about`: as the last finding calls the table. */
  constructor(about: string) {
    this.#about = about;
  }

  add(finding: TableFinding): void {
    if (this.#count++ < mostNamed) this.#named.push(finding);
  }

  *all(): Generator<TableFinding, void, undefined> {
    yield* this.#named;
    const more = this.#count - mostNamed;
    if (more > 0)
      yield {
        kind: 'side_row',
        message: `And ${more} more ${more === 1 ? 'finding' : 'findings'} about ${this.#about}: only the first ${mostNamed} are listed.`,
      };
  }
}

/** Passes on the first findings of a table. A last one says how many more there are. */
export function* nameSome(
  about: string,
  findings: Iterable<TableFinding>,
): Generator<TableFinding, void, undefined> {
  const found = new Findings(about);
  for (const finding of findings) found.add(finding);
  yield* found.all();
}
