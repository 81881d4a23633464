import type { ReactNode } from 'react';
import type { OutcomeCounts } from '../../../src/http/api/stats.ts';
import { outcomeWords } from '../../../src/view/outcome-words.ts';

const parts: readonly {
  readonly name: keyof OutcomeCounts;
  readonly word: string;
  readonly colour: string;
}[] = [
  { name: 'succeeded', word: outcomeWords.succeeded.label, colour: 'var(--good)' },
  { name: 'denied', word: outcomeWords.denied.label, colour: 'var(--line-strong)' },
  { name: 'failed', word: outcomeWords.failed.label, colour: 'var(--bad)' },
  {
    name: 'timedOut',
    word: outcomeWords.timed_out.label,
    colour: 'color-mix(in srgb, var(--bad) 60%, var(--surface))',
  },
  { name: 'indeterminate', word: outcomeWords.indeterminate.label, colour: 'var(--unsure)' },
  { name: 'open', word: 'open', colour: 'var(--attention)' },
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
        {present.map(({ name, colour }) => (
          <span key={name} style={{ flexGrow: outcomes[name], background: colour }} />
        ))}
      </span>
      {legend && (
        <ul className="legend">
          {present.map(({ name, word, colour }) => (
            <li key={name}>
              <span className="swatch" style={{ background: colour }} aria-hidden="true" />
              {word}
              <strong>{outcomes[name].toLocaleString()}</strong>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
