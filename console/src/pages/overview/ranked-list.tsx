import type { ReactNode } from 'react';
import { ForeignId } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import type { Tone } from '../../ui/outcome-badge.tsx';

type Row = {
  readonly key: string;
  readonly label: string;
  readonly note: string | undefined;
  readonly count: number;
  readonly of: number;
  readonly to: string;
  readonly tone: Tone;
};

/** Rows with their share, largest first. */
export function RankedList({
  rows,
  none,
}: {
  readonly rows: readonly Row[];
  readonly none: string;
}): ReactNode {
  if (rows.length === 0) return <p className="muted">{none}</p>;
  return (
    <ol className="ranked">
      {rows.slice(0, 8).map(({ key, label, note, count, of, to, tone }) => (
        <li key={key}>
          <Link to={to} className="ranked-label">
            <code>
              <ForeignId id={label} />
            </code>
          </Link>
          <span className="num">
            {count.toLocaleString()}
            <span className="muted"> of {of.toLocaleString()}</span>
          </span>
          <span className="meter" data-tone={tone} aria-hidden="true">
            <span style={{ width: `${of === 0 ? 0 : Math.max(1, (100 * count) / of)}%` }} />
          </span>
          {note !== undefined && <span className="ranked-note muted">{note}</span>}
        </li>
      ))}
    </ol>
  );
}
