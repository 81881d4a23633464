import type { ReactNode } from 'react';
import { useId } from 'react';

type Props = {
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly disabled: boolean;
};

/** Larger than any anchor that the server accepts. */
const mostBytes = 8_000_000;

/** An anchor to compare the chains with, pasted or read from a file. */
export function AnchorField({ value, onChange, disabled }: Props): ReactNode {
  const field = useId();
  return (
    <details className="anchor">
      <summary>Compare with an anchor{value.trim() === '' ? '' : ' (set)'}</summary>
      <div className="anchor-inside">
        <label htmlFor={field}>Anchor text</label>
        <textarea
          id={field}
          rows={5}
          spellCheck={false}
          value={value}
          disabled={disabled}
          placeholder={'{\n  "quittance_anchor": 1,\n  …'}
          onChange={(event) => onChange(event.target.value)}
        />
        <label>
          or anchor file{' '}
          <input
            type="file"
            disabled={disabled}
            onChange={(event) => {
              const file = event.target.files?.[0];
              if (file !== undefined && file.size <= mostBytes) void file.text().then(onChange);
            }}
          />
        </label>
      </div>
    </details>
  );
}
