import { shownId } from '../../../../src/base/safe-id.ts';
import type { ReactNode } from 'react';
import { useId, useState } from 'react';
import type { JsonValue } from '../../../../src/base/json.ts';
import type { GrantView } from '../../../../src/runtime/host/grant-view.ts';
import type { ApiError } from '../../api/client.ts';
import { send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import { IdInput } from '../../ui/id-input.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useToast } from '../../ui/toast.tsx';
import type { TypedGrant } from './read-grant.ts';
import { durations, readGrant, sameArguments } from './read-grant.ts';

type Props = {
  /** What it begins with: a call such as this. */
  readonly like: {
    readonly sessionId: string;
    readonly toolName: string;
    readonly input: JsonValue | undefined;
    readonly hidden: readonly string[];
  };
  readonly onClose: () => void;
  readonly onGiven?: () => void;
};

/** Permits calls of a tool in a session beforehand. Begins narrow: one hour, the arguments of the call it is like. */
export function GrantForm({ like, onClose, onGiven }: Props): ReactNode {
  const [typed, setTyped] = useState<TypedGrant>(() => ({
    sessionId: like.sessionId,
    toolName: like.toolName,
    where: sameArguments(like.input, like.hidden),
    forMs: 3_600_000,
    uses: '',
    reason: '',
  }));
  const [problem, setProblem] = useState<{ readonly field: keyof TypedGrant; readonly text: string }>();
  const [error, setError] = useState<ApiError>();
  const [sending, setSending] = useState(false);
  const showToast = useToast();
  const stem = useId();
  const set = (change: Partial<TypedGrant>): void => {
    setTyped((before) => ({ ...before, ...change }));
    setProblem(undefined);
  };
  const give = async (): Promise<void> => {
    if (sending) return;
    const reading = readGrant(typed);
    if (!reading.ok) {
      setProblem({ field: reading.field, text: reading.problem });
      document.getElementById(`${stem}${reading.field}`)?.focus();
      return;
    }
    setSending(true);
    setError(undefined);
    try {
      const grant = await send<GrantView>('/v1/grants', reading.grant);
      showToast(`Granted: ${shownId(grant.toolName)}. Calls that are held already still wait for an answer.`);
      onGiven?.();
      onClose();
    } catch (thrown) {
      setError(toApiError(thrown));
      setSending(false);
    }
  };
  const field = (
    name: keyof TypedGrant,
    label: string,
    hint: string | undefined,
    control: (attributes: {
      readonly id: string;
      readonly 'aria-describedby': string | undefined;
      readonly 'aria-invalid': boolean;
    }) => ReactNode,
  ): ReactNode => {
    const hasProblem = problem?.field === name;
    const about = [
      hasProblem ? `${stem}${name}-problem` : '',
      hint === undefined ? '' : `${stem}${name}-hint`,
    ]
      .filter((id) => id !== '')
      .join(' ');
    return (
      <div className="field">
        <label htmlFor={`${stem}${name}`}>{label}</label>
        {control({
          id: `${stem}${name}`,
          'aria-describedby': about === '' ? undefined : about,
          'aria-invalid': hasProblem,
        })}
        {hasProblem && (
          <p className="field-problem" id={`${stem}${name}-problem`} role="alert">
            {problem.text}
          </p>
        )}
        {hint !== undefined && (
          <p className="muted" id={`${stem}${name}-hint`}>
            {hint}
          </p>
        )}
      </div>
    );
  };
  return (
    <Dialog title="Permit calls beforehand" onClose={onClose}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          void give();
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void give();
        }}
      >
        {field('sessionId', 'Session', undefined, (attributes) => (
          <IdInput {...attributes} value={typed.sessionId} onValue={(sessionId) => set({ sessionId })} />
        ))}
        {field('toolName', 'Tool', 'A name, or a pattern such as get_*.', (attributes) => (
          <IdInput {...attributes} value={typed.toolName} onValue={(toolName) => set({ toolName })} />
        ))}
        {field(
          'where',
          'Only where (JSON)',
          'As rules say it: equals, lte, starts_with, in… Empty permits any arguments.',
          (attributes) => (
            <textarea
              {...attributes}
              rows={6}
              spellCheck={false}
              value={typed.where}
              onChange={(event) => set({ where: event.currentTarget.value })}
            />
          ),
        )}
        <div className="field-pair">
          {field('forMs', 'For', undefined, (attributes) => (
            <select
              {...attributes}
              value={String(typed.forMs)}
              onChange={(event) =>
                set({
                  forMs: durations.find(({ forMs }) => String(forMs) === event.currentTarget.value)?.forMs,
                })
              }
            >
              {durations.map(({ label, forMs }) => (
                <option key={label} value={String(forMs)}>
                  {label}
                </option>
              ))}
            </select>
          ))}
          {field('uses', 'Number of calls', undefined, (attributes) => (
            <input
              {...attributes}
              inputMode="numeric"
              placeholder="any"
              value={typed.uses}
              onChange={(event) => set({ uses: event.currentTarget.value })}
            />
          ))}
        </div>
        {field('reason', 'Reason (optional)', undefined, (attributes) => (
          <input
            {...attributes}
            maxLength={1_000}
            value={typed.reason}
            onChange={(event) => set({ reason: event.currentTarget.value })}
          />
        ))}
        {error !== undefined && <Problem error={error} />}
        <div className="actions">
          <button type="submit" className="primary" disabled={sending}>
            Give the grant
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
