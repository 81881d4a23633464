import type { ReactNode } from 'react';
import { Link } from '../../ui/link.tsx';
import type { Tone } from '../../ui/outcome-badge.tsx';

type Props = {
  readonly label: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
  readonly tone?: Tone;
  /** Address of the calls behind the number. */
  readonly to?: string;
  /** The count stopped early: there may be more. */
  readonly approximate?: boolean;
};

/** One key figure. */
export function Figure({ label, value, note, tone = 'quiet', to, approximate = false }: Props): ReactNode {
  const inside = (
    <>
      <span className="figure-label">{label}</span>
      <span className="figure-value" data-tone={tone}>
        {approximate && <span title="At least this many: counting stopped early">≥ </span>}
        {value}
      </span>
      {note !== undefined && <span className="figure-note">{note}</span>}
    </>
  );
  return to === undefined ? (
    <div className="key-figure card">{inside}</div>
  ) : (
    <Link to={to} className="key-figure card">
      {inside}
    </Link>
  );
}
