/** A form for the arguments of a tool, made from its JSON Schema. Each problem is shown at its field. */
import type { ReactNode } from 'react';
import { useId } from 'react';
import type { JsonPath } from 'quittance/internal/base/json';
import { formatPath } from 'quittance/internal/base/json';
import { ForeignText } from '../ui/foreign-text.tsx';
import type { FieldProblem } from './form-draft.ts';
import { FieldInput } from './field-input.tsx';
import './schema-form.css';
import type { SchemaFormState } from './use-schema-form.ts';

type Props = {
  readonly form: SchemaFormState;
  /** Names the group of fields for assistive technology. */
  readonly label: string;
  /** Problems that the server found, shown at the same fields. */
  readonly problems?: readonly FieldProblem[];
  /** Report empty required fields too. Set it after the first attempt to send. */
  readonly showsAll: boolean;
  readonly disabled?: boolean;
};

export function SchemaForm({ form, label, problems = [], showsAll, disabled = false }: Props): ReactNode {
  const { field, way, draft, text, reading } = form;
  const own = reading.ok ? [] : reading.problems;
  const shown = [...own, ...problems];
  return (
    <fieldset className="schema-form" disabled={disabled}>
      <legend className="hidden">{label}</legend>
      {field !== undefined && (
        <div className="schema-form-ways" role="group" aria-label={`Enter ${label.toLowerCase()} as`}>
          <button type="button" aria-pressed={way === 'fields'} onClick={() => form.switchTo('fields')}>
            Fields
          </button>
          <button type="button" aria-pressed={way === 'json'} onClick={() => form.switchTo('json')}>
            JSON
          </button>
        </div>
      )}
      {field === undefined || way === 'json' ? (
        <JsonText label={label} text={text} problems={shown} onChange={form.changeText} />
      ) : (
        <FieldInput
          field={field}
          draft={draft}
          path={[]}
          label={label}
          isRequired
          problemAt={(path) => problemAt(shown, path, showsAll)}
          onChange={form.changeDraft}
        />
      )}
    </fieldset>
  );
}

function JsonText({
  label,
  text,
  problems,
  onChange,
}: {
  readonly label: string;
  readonly text: string;
  readonly problems: readonly FieldProblem[];
  readonly onChange: (text: string) => void;
}): ReactNode {
  const about = useId();
  return (
    <div className="schema-field">
      <label>
        <span className="schema-field-name">{label}</span>
        <textarea
          rows={Math.min(20, Math.max(6, text.split('\n').length + 1))}
          spellCheck={false}
          value={text}
          aria-invalid={problems.length > 0}
          aria-describedby={problems.length > 0 ? about : undefined}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      </label>
      <div id={about}>
        {problems.map(({ path, message }) => (
          <p key={formatPath(path) + message} className="schema-field-problem">
            {path.length > 0 && <code>{formatPath(path)}</code>} <ForeignText text={message} />
          </p>
        ))}
      </div>
    </div>
  );
}

const missing = 'This field is required.';

function problemAt(problems: readonly FieldProblem[], path: JsonPath, showsAll: boolean): string | undefined {
  const key = formatPath(path);
  return problems.find((each) => formatPath(each.path) === key && (showsAll || each.message !== missing))
    ?.message;
}
