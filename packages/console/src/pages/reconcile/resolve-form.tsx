import type { ReactNode } from 'react';
import { useId, useRef, useState } from 'react';
import { formatPath, parseJson } from 'quittance/internal/base/json';
import type { Resolution } from 'quittance/internal/call/event';
import type { NewResolution } from '@quittance/server/internal/http/api/confirmation';
import { resolutionWords } from 'quittance/internal/view/status-words';
import { limits } from 'quittance/internal/call/limits';

const choices: readonly { readonly resolution: Resolution; readonly means: string }[] = [
  {
    resolution: 'succeeded',
    means: 'The effect exists. Repeating the same call still needs approval.',
  },
  {
    resolution: 'failed',
    means: 'The effect does not exist. The agent may make the same call again.',
  },
  {
    resolution: 'safe_to_retry',
    means: 'Repeating the call does no harm in either case. The agent may make it again.',
  },
];

/** Records the resolution of a call. It is permanent, so it takes a choice and a button. */
export function ResolveForm({
  onResolve,
}: {
  readonly onResolve: (resolution: NewResolution) => Promise<void>;
}): ReactNode {
  const { typed, set, problem, sending, submit } = useNewResolution(onResolve);
  const stem = useId();
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
      <Choices
        name={`${stem}resolution`}
        chosen={typed.resolution}
        onChoose={(resolution) => set({ resolution })}
      />
      <div className="field">
        <label htmlFor={`${stem}reason`}>How do you know? (optional)</label>
        <textarea
          id={`${stem}reason`}
          className="prose"
          rows={2}
          maxLength={limits.reasonChars}
          placeholder="e.g. the bank lists the transfer as no. 4711"
          value={typed.reason}
          onChange={(event) => set({ reason: event.currentTarget.value })}
        />
      </div>
      {typed.resolution === 'succeeded' && (
        <div className="field">
          <label htmlFor={`${stem}result`}>Result as JSON (optional)</label>
          <textarea
            id={`${stem}result`}
            rows={3}
            spellCheck={false}
            value={typed.result}
            onChange={(event) => set({ result: event.currentTarget.value })}
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
          {sending ? 'Saving…' : 'Save permanently'}
        </button>
        <span className="muted">The outcome that the model received does not change.</span>
      </div>
    </form>
  );
}

const Choices = ({
  name,
  chosen,
  onChoose,
}: {
  readonly name: string;
  readonly chosen: Resolution | undefined;
  readonly onChoose: (resolution: Resolution) => void;
}): ReactNode => (
  <fieldset className="choices">
    <legend className="hidden">What did you find?</legend>
    {choices.map(({ resolution, means }) => (
      <label key={resolution} className="choice">
        <input
          type="radio"
          name={name}
          value={resolution}
          checked={chosen === resolution}
          onChange={() => onChoose(resolution)}
        />
        <span>
          <strong>{resolutionWords[resolution]}</strong>
          <span className="muted">{means}</span>
        </span>
      </label>
    ))}
  </fieldset>
);

type Typed = {
  readonly resolution: Resolution | undefined;
  readonly reason: string;
  readonly result: string;
};

/** The state of the form. It sends one resolution at a time. */
function useNewResolution(onResolve: (resolution: NewResolution) => Promise<void>): {
  readonly typed: Typed;
  readonly set: (change: Partial<Typed>) => void;
  readonly problem: string | undefined;
  readonly sending: boolean;
  readonly submit: () => Promise<void>;
} {
  const [typed, setTyped] = useState<Typed>({ resolution: undefined, reason: '', result: '' });
  const [problem, setProblem] = useState<string>();
  const [sending, setSending] = useState(false);
  // A ref, not state: the second of two clicks in the same moment must see it.
  const locked = useRef(false);
  const set = (change: Partial<Typed>): void => {
    setTyped((before) => ({ ...before, ...change }));
    if (change.reason === undefined) setProblem(undefined);
  };
  const submit = async (): Promise<void> => {
    if (locked.current) return;
    const { resolution, reason, result } = typed;
    if (resolution === undefined) {
      setProblem('Select what you found.');
      return;
    }
    const given = resolution === 'succeeded' && result.trim() !== '' ? parseJson(result) : undefined;
    if (given?.ok === false) {
      setProblem(
        `The result is not valid JSON: ${given.path.length === 0 ? '' : `${formatPath(given.path)}: `}${given.problem}`,
      );
      return;
    }
    setProblem(undefined);
    locked.current = true;
    setSending(true);
    await onResolve({
      resolution,
      ...(reason.trim() !== '' && { reason: reason.trim() }),
      ...(given?.ok === true && { result: given.value }),
    });
    locked.current = false;
    setSending(false);
  };
  return { typed, set, problem, sending, submit };
}
