import type { ReactNode } from 'react';
import { ForeignId } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import type { Tone } from '../../ui/outcome-badge.tsx';

export type RankedRow = {
  readonly key: string;
  readonly label: string;
  readonly note?: ReactNode;
  readonly value: ReactNode;
  /** Length of the bar, from 0 to 1. */
  readonly share: number;
  readonly to: string;
  readonly tone: Tone;
};

type Props = {
  readonly rows: readonly RankedRow[];
  /** Shown if there are no rows. */
  readonly none: string;
};

/** Rows with their share, largest first. */
export function RankedList({ rows, none }: Props): ReactNode {
  if (rows.length === 0) return <p className="muted">{none}</p>;
  return (
    <ol className="ranked">
      {rows.slice(0, 8).map(({ key, label, note, value, share, to, tone }) => (
        <li key={key}>
          <Link to={to} className="ranked-label">
            <code>
              <ForeignId id={label} />
            </code>
          </Link>
          <span className="num">{value}</span>
          <span className="meter" data-tone={tone} aria-hidden="true">
            <span style={{ width: `${Math.min(100, Math.max(1, 100 * share))}%` }} />
          </span>
          {note !== undefined && <span className="ranked-note muted">{note}</span>}
        </li>
      ))}
    </ol>
  );
}

/** `3 of 20`. */
export const CountOf = ({ count, of }: { readonly count: number; readonly of: number }): ReactNode => (
  <>
    {count.toLocaleString()}
    <span className="muted"> of {of.toLocaleString()}</span>
  </>
);
