import type { ReactNode } from 'react';
import type { OutcomeCounts } from '@quittance/server/internal/http/api/stats';
import { outcomeWords } from 'quittance/internal/view/outcome-words';

const parts: readonly {
  readonly name: keyof OutcomeCounts;
  readonly word: string;
  readonly color: string;
}[] = [
  { name: 'succeeded', word: outcomeWords.succeeded.label, color: 'var(--good)' },
  { name: 'denied', word: outcomeWords.denied.label, color: 'var(--line-strong)' },
  { name: 'failed', word: outcomeWords.failed.label, color: 'var(--bad)' },
  {
    name: 'timedOut',
    word: outcomeWords.timed_out.label,
    color: 'color-mix(in srgb, var(--bad) 60%, var(--surface))',
  },
  { name: 'indeterminate', word: outcomeWords.indeterminate.label, color: 'var(--unsure)' },
  { name: 'open', word: 'open', color: 'var(--attention)' },
];

type Props = { readonly outcomes: OutcomeCounts; readonly legend?: boolean };

/** Share of each outcome in one bar. The numbers are also given as text. */
export function OutcomeBar({ outcomes, legend = false }: Props): ReactNode {
  const present = parts.filter(({ name }) => outcomes[name] > 0);
  const words = present.map(({ name, word }) => `${outcomes[name].toLocaleString()} ${word}`).join(', ');
  if (present.length === 0) return <span className="muted">–</span>;
  return (
    <>
      <span className="outcome-bar" title={words} aria-hidden={legend}>
        {!legend && <span className="hidden">{words}</span>}
        {present.map(({ name, color }) => (
          <span key={name} style={{ flexGrow: outcomes[name], background: color }} />
        ))}
      </span>
      {legend && (
        <ul className="legend">
          {present.map(({ name, word, color }) => (
            <li key={name}>
              <span className="swatch" style={{ background: color }} aria-hidden="true" />
              {word}
              <strong>{outcomes[name].toLocaleString()}</strong>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
