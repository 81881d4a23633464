import type { ReactNode } from 'react';
import { useId, useState } from 'react';
import type { JsonValue } from '../base/json.ts';
import { formatPath, isJsonObject, parseJson } from '../base/json.ts';
import { prettyJson } from '../view/pretty-json.ts';
import type { ToolCallView } from '../view/tool-call-view.ts';
import { ShownText } from './shown-text.tsx';
import type { Consent, HowRead } from './use-consent.ts';

/** The answers that need words. */
export type AnswerKind = 'deny' | 'edit' | 'respond';

const texts: {
  readonly [Kind in AnswerKind]: { readonly label: string; readonly hint: string; readonly send: string };
} = {
  deny: { label: 'Reason (optional)', hint: 'The model is told.', send: 'Deny' },
  edit: {
    label: 'Arguments to run with instead',
    hint: 'JSON. A value that is hidden stays what it was if you leave its mask in place.',
    send: 'Run with these',
  },
  respond: {
    label: 'Answer for the model',
    hint: 'The tool does not run; the model reads this instead.',
    send: 'Send answer',
  },
};

/** A form for one answer. Escape closes it, Ctrl or Command with Enter sends it. */
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
  /** Whether what is shown has been the same text for a while. Asked before anything is let run. */
  readonly isStill: () => boolean;
  /** Whether the person has read to the end: recorded with an answer that lets the call run. */
  readonly howRead: HowRead;
  readonly onClose: () => void;
}): ReactNode {
  const [text, setText] = useState(kind === 'edit' ? editedText(editBase(call)) : '');
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [fieldId, hintId, problemId] = [useId(), useId(), useId()];
  const { label, hint, send } = texts[kind];

  const submit = (): void => {
    const found =
      kind === 'edit' && !isStill()
        ? 'What is asked changed a moment ago. Look at what it shows now, then answer.'
        : answer(kind, text, consent, howRead);
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
          // Not the dialog around us as well.
          event.stopPropagation();
          onClose();
        } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          submit();
        }
      }}
    >
      <label className="qt-label" htmlFor={fieldId}>
        {label}
      </label>
      <textarea
        id={fieldId}
        className={kind === 'edit' ? 'qt-field qt-code-field' : 'qt-field'}
        // Opened by a person who wants to write here.
        autoFocus
        spellCheck={kind !== 'edit'}
        dir={kind === 'edit' ? 'ltr' : 'auto'}
        rows={kind === 'edit' ? Math.min(14, text.split('\n').length + 1) : 2}
        value={text}
        aria-describedby={problem === undefined ? hintId : `${problemId} ${hintId}`}
        aria-invalid={problem !== undefined}
        onChange={({ currentTarget }) => {
          setText(currentTarget.value);
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
          ' These are the arguments before the schema of the tool changes them; it does so again with what you send.'}
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

/** As the panel shows it, with JSON escapes for what cannot be seen: sent back unchanged, it is the same value. */
const editedText = (input: JsonValue | undefined): string =>
  input === undefined
    ? ''
    : typeof input === 'string'
      ? JSON.stringify(input)
      : // Longer runs of spaces would push what follows into lines of its own.
        prettyJson(input).replaceAll(/(?<=\S) {8,}/g, (run) => '\\u0020'.repeat(run.length));

/** Gives the answer, or says why it cannot be given. */
function answer(kind: AnswerKind, text: string, consent: Consent, howRead: HowRead): string | undefined {
  switch (kind) {
    case 'deny':
      consent.deny(text);
      return undefined;
    case 'respond':
      if (text.trim() === '') return 'Write what the model is to be told.';
      consent.respond(text);
      return undefined;
    case 'edit': {
      const reading = parseJson(text);
      if (!reading.ok)
        return reading.path.length === 0
          ? `No JSON: ${reading.problem}`
          : `${formatPath(reading.path)}: ${reading.problem}`;
      if (!isJsonObject(reading.value)) return 'Arguments are an object: {"name": value}.';
      consent.edit(reading.value, undefined, howRead);
      return undefined;
    }
  }
}

/**
 * The schema is applied to what is sent. So an edit starts from what the schema was given, and not from what it made of
 * that: a default or a transform would be applied twice, or refuse its own output.
 */
const editBase = ({ input, acceptedInput }: ToolCallView): JsonValue | undefined => acceptedInput ?? input;

/** Does the schema turn the arguments into something else? Then the form does not show what the panel shows. */
const isTransformed = (call: ToolCallView): boolean =>
  call.input !== undefined && JSON.stringify(editBase(call)) !== JSON.stringify(call.input);
