import type { ReactNode } from 'react';
import { useId } from 'react';

type Props = {
  readonly label: string;
  readonly hint?: string;
  readonly rows: number;
  readonly value: string;
  /** Error of the JSON text. */
  readonly problem: string | undefined;
  readonly onChange: (text: string) => void;
};

/** A text field for JSON. */
export function JsonField({ label, hint, rows, value, problem, onChange }: Props): ReactNode {
  const about = useId();
  return (
    <div className="try-field">
      <label>
        <span>
          {label} {hint !== undefined && <small className="muted">{hint}</small>}
        </span>
        <textarea
          rows={rows}
          spellCheck={false}
          value={value}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : about}
          onChange={(event) => onChange(event.target.value)}
        />
      </label>
      {problem !== undefined && (
        <p id={about} className="try-problem">
          {problem}
        </p>
      )}
    </div>
  );
}
