/** Filters and sorts tools in the page, because there are at most some hundred. */
import type { ToolRow } from '@quittance/server/internal/http/api/tool';

type Value = number | string | undefined;

/** Sort keys. Names sort ascending by default, numbers descending. */
const orders = {
  name: ({ name }: ToolRow): Value => name.toLowerCase(),
  calls: ({ calls }: ToolRow): Value => calls,
  errors: ({ errorRate }: ToolRow): Value => errorRate,
  p50: ({ latency }: ToolRow): Value => latency.p50Ms,
  p95: ({ latency }: ToolRow): Value => latency.p95Ms,
  cost: ({ costMicros }: ToolRow): Value => costMicros,
} as const;

export type ToolOrder = keyof typeof orders;

export const isToolOrder = (text: string | null): text is ToolOrder =>
  text !== null && Object.hasOwn(orders, text);

/** Missing values come last in both directions; ties are sorted by name. */
export function sortTools(rows: readonly ToolRow[], order: ToolOrder, reverse: boolean): readonly ToolRow[] {
  const read = orders[order];
  const sign = (order === 'name') === reverse ? -1 : 1;
  return rows.toSorted((one, other) => {
    const [a, b] = [read(one), read(other)];
    if (a === b) return compare(one.name, other.name);
    if (a === undefined) return 1;
    if (b === undefined) return -1;
    return sign * compare(a, b);
  });
}

const compare = <Value extends number | string>(one: Value, other: Value): number =>
  one < other ? -1 : one > other ? 1 : 0;

export function findTools(rows: readonly ToolRow[], search: string): readonly ToolRow[] {
  const wanted = search.trim().toLowerCase();
  return wanted === ''
    ? rows
    : rows.filter(({ name, description = '', mode }) =>
        [name, description, mode].some((text) => text.toLowerCase().includes(wanted)),
      );
}
