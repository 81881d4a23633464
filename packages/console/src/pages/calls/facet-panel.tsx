import type { ReactNode } from 'react';
import { useState } from 'react';
import { goTo } from '../../route.ts';
import type { CallsView } from './calls-view.ts';
import { changeView, labelOfValue, viewAddress } from './calls-view.ts';
import type { FacetName, Facets } from './use-facets.ts';
import { facetNames } from './use-facets.ts';
import { ForeignId } from '../../ui/foreign-text.tsx';

const titles: Readonly<Record<FacetName, string>> = {
  outcome: 'Outcome',
  status: 'Status',
  mode: 'Mode',
  toolName: 'Tool',
  code: 'Reason code',
};

/** Number of values shown before "All". */
const fewest = 7;

/** Filter values with the number of calls each would leave. Clicking a selected value clears it. */
export function FacetPanel({
  view,
  facets,
}: {
  readonly view: CallsView;
  readonly facets: Facets;
}): ReactNode {
  return (
    <div className="facets" role="group" aria-label="Filters">
      {facetNames.map((name) => (
        <Facet key={name} name={name} view={view} facets={facets} />
      ))}
      {!facets.isExact && <p className="muted facets-note">{describeCaps(facets.caps)}</p>}
    </div>
  );
}

function Facet({
  name,
  view,
  facets,
}: {
  readonly name: FacetName;
  readonly view: CallsView;
  readonly facets: Facets;
}): ReactNode {
  const [showsAll, setShowsAll] = useState(false);
  const chosen = view[name];
  const counted = facets.values[name] ?? [];
  // A selected value without counted calls is still shown. If only the newest calls were counted, the list may hold
  // matching older ones, so its own total is used.
  const isNotFound = chosen !== undefined && !counted.some(({ value }) => value === chosen);
  const values = isNotFound ? [{ value: chosen, count: facets.total ?? 0 }, ...counted] : counted;
  if (values.length === 0) return null;
  const shown = showsAll ? values : values.filter(({ value }, index) => index < fewest || value === chosen);
  return (
    <section>
      <h2>{titles[name]}</h2>
      <ul>
        {shown.map(({ value, count }) => (
          <li key={value}>
            <button
              type="button"
              aria-pressed={value === chosen}
              onClick={() =>
                goTo(viewAddress(changeView(view, { [name]: value === chosen ? undefined : value })))
              }
            >
              <span className={name === 'toolName' || name === 'code' ? 'clip mono' : undefined}>
                <ForeignId id={labelOfValue(name, value)} />
              </span>
              <span className="num muted">
                {countOf(count, value === chosen && isNotFound ? facets.isTotalExact : facets.isExact)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {values.length > fewest && (
        <button type="button" className="facet-more" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? 'Show fewer' : `Show all ${values.length}`}
        </button>
      )}
    </section>
  );
}

/** Explains which of the newest calls were counted. */
function describeCaps({ counted, looked_at: lookedAt }: Facets['caps']): string {
  const among = [
    ...(counted === undefined ? [] : [`${counted.toLocaleString()} matching`]),
    ...(lookedAt === undefined ? [] : [`about ${lookedAt.toLocaleString()} checked`]),
  ];
  return among.length === 0
    ? '≥ counted among the newest calls only.'
    : `≥ counted among the newest calls only: ${among.join(', or ')}.`;
}

/** Zero among the newest calls does not mean zero overall. */
const countOf = (count: number, isExact: boolean): string =>
  isExact ? count.toLocaleString() : count === 0 ? 'none recent' : `≥ ${count.toLocaleString()}`;
