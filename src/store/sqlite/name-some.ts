/** Findings about one table: the first ones are listed, the others are counted. */
import type { TableFinding } from './table-finding.ts';

const mostNamed = 50;

/** Passes on the first findings of a table. A last one says how many more there are. */
export function* nameSome<Item>(
  about: string,
  items: Iterable<Item>,
  toFound: (item: Item) => TableFinding,
): Generator<TableFinding, void, undefined> {
  let count = 0;
  for (const item of items) if (count++ < mostNamed) yield toFound(item);
  const more = count - mostNamed;
  if (more > 0)
    yield {
      kind: 'side_row',
      message: `And ${more} more ${more === 1 ? 'finding' : 'findings'} about ${about}: only the first ${mostNamed} are listed.`,
    };
}
