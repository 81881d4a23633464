import type { InputHTMLAttributes, ReactNode } from 'react';
import { useState } from 'react';
import { shownId } from 'quittance/internal/base/safe-id';

type Props = Omit<InputHTMLAttributes<HTMLInputElement>, 'value' | 'onChange' | 'onBlur' | 'onFocus'> & {
  readonly value: string;
  readonly onValue: (value: string) => void;
};

/**
 * A field for an id, or for a search that may contain one. It masks a value that looks like a secret, except while the
 * user types. It always submits the exact value.
 */
export function IdInput({ value, onValue, ...rest }: Props): ReactNode {
  const [typed, setTyped] = useState<string | undefined>(undefined);
  const shown = shownId(value);
  return (
    <input
      {...rest}
      value={typed ?? shown}
      // A mask cannot be edited: the first key replaces it.
      onFocus={({ currentTarget }) => shown !== value && currentTarget.select()}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        onValue(currentTarget.value);
      }}
      onBlur={() => setTyped(undefined)}
    />
  );
}
