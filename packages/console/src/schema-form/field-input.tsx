/** One field of a form, and the fields inside it. */
import type { ReactNode } from 'react';
import { useId } from 'react';
import type { JsonPath, JsonValue } from 'quittance/internal/base/json';
import { safeId } from 'quittance/internal/base/safe-id';
import { ForeignText } from '../ui/foreign-text.tsx';
import { ChoiceInput } from './choice-input.tsx';
import type { FormDraft } from './form-draft.ts';
import { leftOut, toDraft } from './form-draft.ts';
import type { FormField } from './form-field.ts';
import { TextInput } from './text-input.tsx';

export type FieldInputProps = {
  readonly field: FormField;
  readonly draft: FormDraft;
  readonly path: JsonPath;
  readonly label: string;
  readonly isRequired: boolean;
  readonly problemAt: (path: JsonPath) => string | undefined;
  readonly onChange: (draft: FormDraft) => void;
};

/** Attributes that connect an input with its label, description and problem. */
type InputAttributes = {
  readonly id: string;
  readonly 'aria-invalid': boolean;
  readonly 'aria-required': boolean;
  readonly 'aria-describedby'?: string;
};

export type SimpleInputProps = FieldInputProps & { readonly input: InputAttributes };

export function FieldInput(props: FieldInputProps): ReactNode {
  const { field, draft, path } = props;
  if (draft.kind === 'json') return <SimpleField {...props} isJson />;
  switch (field.kind) {
    case 'object':
      return path.length === 0 ? <Members {...props} /> : <Group {...props} inside={Members} />;
    case 'list':
      return <Group {...props} inside={Items} />;
    case 'text':
    case 'number':
    case 'flag':
    case 'choice':
    case 'json':
      return <SimpleField {...props} isJson={field.kind === 'json'} />;
  }
}

/** A label, one input, its description and its problem. */
function SimpleField(props: FieldInputProps & { readonly isJson: boolean }): ReactNode {
  const { field, path, label, isRequired, problemAt, isJson } = props;
  const [id, hint, about] = [useId(), useId(), useId()];
  const problem = problemAt(path);
  const described = [
    ...(problem === undefined ? [] : [about]),
    ...(field.description === undefined ? [] : [hint]),
  ].join(' ');
  const input = {
    id,
    'aria-invalid': problem !== undefined,
    'aria-required': isRequired,
    ...(described !== '' && { 'aria-describedby': described }),
  };
  return (
    <div className="schema-field">
      <label className="schema-field-name" htmlFor={id}>
        <ForeignText text={label} />
        <small className="muted">
          {' '}
          {isJson ? 'JSON' : kindWord(field)}
          {isRequired ? '' : ', optional'}
        </small>
      </label>
      {isJson || field.kind === 'text' || field.kind === 'number' ? (
        <TextInput {...props} isJson={isJson} input={input} />
      ) : (
        <ChoiceInput {...props} choices={choicesOf(field)} input={input} />
      )}
      {field.description !== undefined && (
        <p id={hint} className="schema-field-hint">
          <ForeignText text={field.description} />
        </p>
      )}
      {problem !== undefined && (
        <p id={about} className="schema-field-problem">
          <ForeignText text={problem} />
        </p>
      )}
    </div>
  );
}

const kindWord = (field: FormField): string => {
  switch (field.kind) {
    case 'number':
      return field.isInteger ? 'whole number' : 'number';
    case 'flag':
      return 'yes or no';
    case 'choice':
      return 'choice';
    case 'object':
      return 'object';
    case 'list':
      return 'list';
    case 'json':
      return 'JSON';
    case 'text':
      return 'text';
  }
};

const choicesOf = (field: FormField): readonly JsonValue[] =>
  field.kind === 'choice' ? field.choices : [true, false];

/** An object or a list inside another value. It can be left out as a whole if it is optional. */
function Group({
  inside: Inside,
  ...props
}: FieldInputProps & { readonly inside: (props: FieldInputProps) => ReactNode }): ReactNode {
  const { field, draft, path, label, isRequired, problemAt, onChange } = props;
  const isThere = draft.kind === 'members' || draft.kind === 'items';
  const problem = problemAt(path);
  const empty = (): FormDraft => toDraft(field, field.kind === 'list' ? [] : {});
  return (
    <fieldset className="schema-group">
      <legend>
        <ForeignText text={label} />
        <small className="muted">
          {' '}
          {kindWord(field)}
          {isRequired ? '' : ', optional'}
        </small>
      </legend>
      {field.description !== undefined && (
        <p className="schema-field-hint">
          <ForeignText text={field.description} />
        </p>
      )}
      {isThere && <Inside {...props} />}
      {problem !== undefined && <p className="schema-field-problem">{problem}</p>}
      {!isThere && (
        <button type="button" onClick={() => onChange(empty())}>
          Add {safeId(label)}
        </button>
      )}
      {isThere && !isRequired && (
        <button type="button" className="link" onClick={() => onChange(leftOut)}>
          Leave out {safeId(label)}
        </button>
      )}
    </fieldset>
  );
}

function Members({ field, draft, path, problemAt, onChange }: FieldInputProps): ReactNode {
  if (field.kind !== 'object' || draft.kind !== 'members') return null;
  const others: FormField = {
    kind: 'json',
    isNullable: false,
    description: 'A JSON object with fields that the schema does not list.',
  };
  return (
    <>
      {field.members.map((member) => (
        <FieldInput
          key={member.name}
          field={member.field}
          draft={draft.members.get(member.name) ?? leftOut}
          path={[...path, member.name]}
          label={member.label}
          isRequired={member.isRequired}
          problemAt={problemAt}
          onChange={(next) => onChange({ ...draft, members: new Map(draft.members).set(member.name, next) })}
        />
      ))}
      {field.members.length === 0 && !field.isOpen && <p className="muted">This tool has no arguments.</p>}
      {(draft.others !== '' || (field.members.length === 0 && field.isOpen)) && (
        <FieldInput
          field={others}
          draft={{ kind: 'typed', text: draft.others }}
          path={[...path, '']}
          label="Other fields"
          isRequired={false}
          problemAt={problemAt}
          onChange={(next) => onChange({ ...draft, others: next.kind === 'typed' ? next.text : '' })}
        />
      )}
    </>
  );
}

function Items({ field, draft, path, label, problemAt, onChange }: FieldInputProps): ReactNode {
  if (field.kind !== 'list' || draft.kind !== 'items') return null;
  const { items } = draft;
  const put = (next: readonly FormDraft[]): void => onChange({ kind: 'items', items: next });
  return (
    <>
      <ol className="schema-items">
        {items.map((item, index) => (
          // Items have no identity but their place.
          <li key={index}>
            <FieldInput
              field={field.item}
              draft={item}
              path={[...path, index]}
              label={`${label} ${index + 1}`}
              isRequired
              problemAt={problemAt}
              onChange={(next) => put(items.with(index, next))}
            />
            <button
              type="button"
              className="ghost"
              aria-label={`Remove ${safeId(label)} ${index + 1}`}
              onClick={() => put(items.toSpliced(index, 1))}
            >
              ×
            </button>
          </li>
        ))}
      </ol>
      <button type="button" onClick={() => put([...items, emptyItem(field.item)])}>
        Add item
      </button>
    </>
  );
}

const emptyItem = (field: FormField): FormDraft =>
  field.kind === 'object'
    ? toDraft(field, {})
    : field.kind === 'list'
      ? toDraft(field, [])
      : field.kind === 'text'
        ? { kind: 'typed', text: '' }
        : leftOut;
