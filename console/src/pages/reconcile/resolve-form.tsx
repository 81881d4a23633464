import type { ReactNode } from 'react';
import { useId, useRef, useState } from 'react';
import { formatPath, parseJson } from '../../../../src/base/json.ts';
import type { Resolution } from '../../../../src/call/event.ts';
import type { NewResolution } from '../../../../src/http/api/confirmation.ts';

const choices: readonly {
  readonly resolution: Resolution;
  readonly label: string;
  readonly means: string;
}[] = [
  {
    resolution: 'succeeded',
    label: 'It did happen',
    means: 'The effect is there. A repeat of the same call still asks a person first.',
  },
  {
    resolution: 'failed',
    label: 'It did not happen',
    means: 'The effect is not there. The agent may make the same call again.',
  },
  {
    resolution: 'safe_to_retry',
    label: 'Running it again does no harm',
    means: 'Whether it happened or not. The agent may make the same call again.',
  },
];

/** Says what was found. It is kept for ever beside the outcome, so it takes a choice and then a button. */
export function ResolveForm({
  onResolve,
}: {
  readonly onResolve: (resolution: NewResolution) => Promise<void>;
}): ReactNode {
  const [chosen, setChosen] = useState<Resolution>();
  const [reason, setReason] = useState('');
  const [result, setResult] = useState('');
  const [problem, setProblem] = useState<string>();
  const [sending, setSending] = useState(false);
  // No state: of two clicks in one moment the second must find it.
  const locked = useRef(false);
  const stem = useId();

  const submit = async (): Promise<void> => {
    if (locked.current) return;
    if (chosen === undefined) {
      setProblem('Choose what you found.');
      return;
    }
    const given = chosen === 'succeeded' && result.trim() !== '' ? parseJson(result) : undefined;
    if (given?.ok === false) {
      setProblem(
        `What it gave is no JSON: ${given.path.length === 0 ? '' : `${formatPath(given.path)}: `}${given.problem}`,
      );
      return;
    }
    setProblem(undefined);
    locked.current = true;
    setSending(true);
    await onResolve({
      resolution: chosen,
      ...(reason.trim() !== '' && { reason: reason.trim() }),
      ...(given?.ok === true && { result: given.value }),
    });
    locked.current = false;
    setSending(false);
  };
  return (
    <form
      className="dialog-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        void submit();
      }}
    >
      <fieldset className="choices">
        <legend className="hidden">What did you find?</legend>
        {choices.map(({ resolution, label, means }) => (
          <label key={resolution} className="choice">
            <input
              type="radio"
              name={`${stem}resolution`}
              value={resolution}
              checked={chosen === resolution}
              onChange={() => {
                setChosen(resolution);
                setProblem(undefined);
              }}
            />
            <span>
              <strong>{label}</strong>
              <span className="muted">{means}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <div className="field">
        <label htmlFor={`${stem}reason`}>How do you know? (optional)</label>
        <textarea
          id={`${stem}reason`}
          className="prose"
          rows={2}
          maxLength={10_000}
          placeholder="e.g. the transfer is on the bank's list, no. 4711"
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      </div>
      {chosen === 'succeeded' && (
        <div className="field">
          <label htmlFor={`${stem}result`}>What it gave, as JSON (optional)</label>
          <textarea
            id={`${stem}result`}
            rows={3}
            spellCheck={false}
            value={result}
            onChange={(event) => {
              setResult(event.currentTarget.value);
              setProblem(undefined);
            }}
          />
        </div>
      )}
      {problem !== undefined && (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      )}
      <div className="actions">
        <button type="submit" className="primary" aria-disabled={sending}>
          {sending ? 'Recording…' : 'Record for ever'}
        </button>
        <span className="muted">The outcome the model was told stays as it is.</span>
      </div>
    </form>
  );
}
