/** A choice between values: of an enumeration, or yes and no. */
import type { ReactNode } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import { escapeJson } from 'quittance/internal/base/safe-text';
import type { SimpleInputProps } from './field-input.tsx';
import type { FormDraft } from './form-draft.ts';
import { leftOut } from './form-draft.ts';

export function ChoiceInput({
  field,
  draft,
  isRequired,
  choices,
  input,
  onChange,
}: SimpleInputProps & { readonly choices: readonly JsonValue[] }): ReactNode {
  const shown = [...choices, ...(field.isNullable && !choices.includes(null) ? [null] : [])];
  const chosen = shown.findIndex((choice) => isChosen(draft, choice));
  return (
    <select
      {...input}
      value={String(chosen)}
      onChange={({ currentTarget }) => {
        const index = Number(currentTarget.value);
        const choice = shown[index];
        if (choice === undefined) onChange(leftOut);
        else onChange(choice === null ? { kind: 'null' } : { kind: 'chosen', value: choice });
      }}
    >
      {(chosen === -1 || !isRequired) && <option value="-1">{isRequired ? 'Choose…' : 'Leave out'}</option>}
      {shown.map((choice, index) => (
        <option key={JSON.stringify(choice)} value={index}>
          {wordOf(choice)}
        </option>
      ))}
    </select>
  );
}

const isChosen = (draft: FormDraft, choice: JsonValue): boolean =>
  choice === null
    ? draft.kind === 'null'
    : draft.kind === 'chosen' && JSON.stringify(draft.value) === JSON.stringify(choice);

const wordOf = (choice: JsonValue): string => {
  if (choice === true) return 'yes';
  if (choice === false) return 'no';
  const quoted = escapeJson(JSON.stringify(choice));
  return typeof choice === 'string' && choice !== '' && quoted === JSON.stringify(choice) ? choice : quoted;
};
