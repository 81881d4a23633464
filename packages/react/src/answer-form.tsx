import type { ReactNode } from 'react';
import { useId, useState } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import { formatPath, isJsonObject, parseJson } from 'quittance/internal/base/json';
import { editableJson } from 'quittance/internal/view/pretty-json';
import type { ToolCallView } from 'quittance/internal/view/tool-call-view';
import { ShownText } from './shown-text.tsx';
import type { Consent, HowRead } from './use-consent.ts';

/** Answers that open a form. */
export type AnswerKind = 'deny' | 'edit' | 'respond';

const texts: {
  readonly [Kind in AnswerKind]: { readonly label: string; readonly hint: string; readonly send: string };
} = {
  deny: { label: 'Reason (optional)', hint: 'The model sees this reason.', send: 'Deny' },
  edit: {
    label: 'Arguments to run with instead',
    hint: 'JSON. A hidden value keeps its original if you leave its mask unchanged.',
    send: 'Run with these',
  },
  respond: {
    label: 'Response for the model',
    hint: 'The tool does not run. The model sees this response instead.',
    send: 'Send response',
  },
};

const justChanged = 'The question just changed. Check it again before you answer.';

/** Form for one answer. Escape closes it; Ctrl or Command with Enter sends it. */
export function AnswerForm({
  kind,
  call,
  consent,
  isStill,
  howRead,
  onClose,
}: {
  readonly kind: AnswerKind;
  readonly call: ToolCallView;
  readonly consent: Consent;
  /** Has the shown text stayed the same for a moment? Checked before an answer that runs the call. */
  readonly isStill: () => boolean;
  /** Did the person read to the end? Recorded with an answer that runs the call. */
  readonly howRead: HowRead;
  readonly onClose: () => void;
}): ReactNode {
  const [text, setText] = useState(kind === 'edit' ? editedText(editBase(call)) : '');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [fieldId, hintId, problemId] = [useId(), useId(), useId()];
  const { hint, send } = texts[kind];

  const submit = (): void => {
    const found = kind === 'edit' && !isStill() ? justChanged : answer(kind, text, consent, howRead);
    setProblem(found);
    if (found === undefined) onClose();
  };
  return (
    <form
      className="qt-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') {
          // Do not close a surrounding dialog as well.
          event.stopPropagation();
          onClose();
        } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          submit();
        }
      }}
    >
      <AnswerField
        kind={kind}
        text={text}
        id={fieldId}
        describedBy={problem === undefined ? hintId : `${problemId} ${hintId}`}
        isInvalid={problem !== undefined}
        onChange={(next) => {
          setText(next);
          setProblem(undefined);
        }}
      />
      {problem !== undefined && (
        <p className="qt-error" id={problemId} role="alert">
          <ShownText text={problem} />
        </p>
      )}
      <p className="qt-note" id={hintId}>
        {hint}
        {kind === 'edit' &&
          isTransformed(call) &&
          ' The schema of the tool has not transformed these arguments yet. It is applied to your edit.'}
      </p>
      <div className="qt-actions">
        <button type="submit" className={kind === 'deny' ? 'qt-button qt-deny-now' : 'qt-button qt-primary'}>
          {send}
        </button>
        <button type="button" className="qt-button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function AnswerField({
  kind,
  text,
  id,
  describedBy,
  isInvalid,
  onChange,
}: {
  readonly kind: AnswerKind;
  readonly text: string;
  readonly id: string;
  readonly describedBy: string;
  readonly isInvalid: boolean;
  readonly onChange: (text: string) => void;
}): ReactNode {
  return (
    <>
      <label className="qt-label" htmlFor={id}>
        {texts[kind].label}
      </label>
      <textarea
        id={id}
        className={kind === 'edit' ? 'qt-field qt-code-field' : 'qt-field'}
        // The person opened this form to type in it.
        ref={focusOnMount}
        spellCheck={kind !== 'edit'}
        dir={kind === 'edit' ? 'ltr' : 'auto'}
        rows={kind === 'edit' ? Math.min(14, text.split('\n').length + 1) : 2}
        value={text}
        aria-describedby={describedBy}
        aria-invalid={isInvalid}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </>
  );
}

const focusOnMount = (element: HTMLElement | null): void => element?.focus();

/** The text as shown, with JSON escapes for invisible characters. Sent back unchanged, it is the same value. */
const editedText = (input: JsonValue | undefined): string => (input === undefined ? '' : editableJson(input));

/** Sends the answer, or returns the reason why it cannot be sent. */
function answer(kind: AnswerKind, text: string, consent: Consent, howRead: HowRead): string | undefined {
  switch (kind) {
    case 'deny':
      consent.deny(text);
      return undefined;
    case 'respond':
      if (text.trim() === '') return 'Enter a response for the model.';
      consent.respond(text);
      return undefined;
    case 'edit': {
      const reading = parseJson(text);
      if (!reading.ok)
        return reading.path.length === 0
          ? `Invalid JSON: ${reading.problem}`
          : `${formatPath(reading.path)}: ${reading.problem}`;
      if (!isJsonObject(reading.value)) return 'Arguments must be an object: {"name": value}.';
      consent.edit(reading.value, undefined, howRead);
      return undefined;
    }
  }
}

/**
 * The schema is applied to the edited arguments. The edit therefore starts from the schema's input: a default or
 * transform applied twice could change or reject the value.
 */
const editBase = ({ input, acceptedInput }: ToolCallView): JsonValue | undefined => acceptedInput ?? input;

/** Does the schema transform the arguments? Then the form shows different values than the panel. */
const isTransformed = (call: ToolCallView): boolean =>
  call.input !== undefined && JSON.stringify(editBase(call)) !== JSON.stringify(call.input);
