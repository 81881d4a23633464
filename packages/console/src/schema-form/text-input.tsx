/** An input for a text, a number or JSON. */
import type { ReactNode } from 'react';
import type { SimpleInputProps } from './field-input.tsx';
import { leftOut } from './form-draft.ts';

export function TextInput({
  field,
  draft,
  isRequired,
  isJson,
  input,
  onChange,
}: SimpleInputProps & { readonly isJson: boolean }): ReactNode {
  const text = draft.kind === 'typed' || draft.kind === 'json' ? draft.text : '';
  const type = (typed: string): void => {
    const mayBeEmpty = field.kind === 'text' && isRequired && draft.kind !== 'json';
    if (typed === '' && !mayBeEmpty) onChange(leftOut);
    else onChange({ kind: draft.kind === 'json' ? 'json' : 'typed', text: typed });
  };
  const shared = {
    ...input,
    value: text,
    spellCheck: false,
    autoComplete: 'off',
    placeholder: draft.kind === 'null' ? 'null' : '',
  };
  if (isJson || text.includes('\n') || text.length > longLine)
    return (
      <textarea
        {...shared}
        rows={Math.min(12, Math.max(3, text.split('\n').length))}
        onChange={({ currentTarget }) => type(currentTarget.value)}
      />
    );
  return (
    <input
      {...shared}
      type="text"
      inputMode={field.kind === 'number' ? (field.isInteger ? 'numeric' : 'decimal') : 'text'}
      onChange={({ currentTarget }) => type(currentTarget.value)}
    />
  );
}

const longLine = 80;
