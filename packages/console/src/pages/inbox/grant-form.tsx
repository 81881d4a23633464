import { shownId } from 'quittance/internal/base/safe-id';
import type { ReactNode } from 'react';
import { useId, useState } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import type { GrantView } from 'quittance/internal/runtime/views';
import { limits } from 'quittance/internal/call/limits';
import type { ApiError } from '../../api/client.ts';
import { send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import { IdInput } from '../../ui/id-input.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { FormEnd } from '../../ui/form-end.tsx';
import { useToast } from '../../ui/toast.tsx';
import type { TypedGrant } from './read-grant.ts';
import { durations, readGrant, sameArguments } from './read-grant.ts';

type Props = {
  /** The call that the form starts from. */
  readonly like: {
    readonly sessionId: string;
    readonly toolName: string;
    readonly input: JsonValue | undefined;
    readonly hidden: readonly string[];
  };
  readonly onClose: () => void;
  readonly onGiven?: () => void;
};

/** Grants calls of a tool in a session. The default is narrow: one hour, and the arguments of the given call. */
export function GrantForm({ like, onClose, onGiven }: Props): ReactNode {
  const stem = useId();
  const { typed, set, problem, error, sending, give } = useNewGrant(like, stem, () => {
    onGiven?.();
    onClose();
  });
  const common = { stem, problem };
  return (
    <Dialog title="Grant calls in advance" onClose={onClose}>
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
        <Field {...common} name="sessionId" label="Session">
          {(field) => (
            <IdInput {...field} value={typed.sessionId} onValue={(sessionId) => set({ sessionId })} />
          )}
        </Field>
        <Field {...common} name="toolName" label="Tool" hint="A name, or a pattern such as get_*.">
          {(field) => <IdInput {...field} value={typed.toolName} onValue={(toolName) => set({ toolName })} />}
        </Field>
        <Field
          {...common}
          name="where"
          label="Condition (JSON)"
          hint="Uses the operators of rules: equals, lte, starts_with, in… Leave empty for any arguments."
        >
          {(field) => (
            <textarea
              {...field}
              rows={6}
              spellCheck={false}
              value={typed.where}
              onChange={(event) => set({ where: event.currentTarget.value })}
            />
          )}
        </Field>
        <GrantLimits {...common} typed={typed} set={set} />
        <Field {...common} name="reason" label="Reason (optional)">
          {(field) => (
            <input
              {...field}
              maxLength={limits.shortReasonChars}
              value={typed.reason}
              onChange={(event) => set({ reason: event.currentTarget.value })}
            />
          )}
        </Field>
        <FormEnd error={error} isSending={sending} onClose={onClose}>
          Add grant
        </FormEnd>
      </form>
    </Dialog>
  );
}

type GrantProblem = { readonly field: keyof TypedGrant; readonly text: string };

/** The state of the form, and the request. `stem`: prefix of the field ids. */
function useNewGrant(
  like: Props['like'],
  stem: string,
  onGiven: () => void,
): {
  readonly typed: TypedGrant;
  readonly set: (change: Partial<TypedGrant>) => void;
  readonly problem: GrantProblem | undefined;
  readonly error: ApiError | undefined;
  readonly sending: boolean;
  readonly give: () => Promise<void>;
} {
  const [typed, setTyped] = useState<TypedGrant>(() => ({
    sessionId: like.sessionId,
    toolName: like.toolName,
    where: sameArguments(like.input, like.hidden),
    forMs: limits.grant.usualMs,
    uses: '',
    reason: '',
  }));
  const [problem, setProblem] = useState<GrantProblem>();
  const [error, setError] = useState<ApiError>();
  const [sending, setSending] = useState(false);
  const showToast = useToast();
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
      showToast(
        `Grant added for ${shownId(grant.toolName)}. Calls that are already held still need an answer.`,
      );
      onGiven();
    } catch (thrown) {
      setError(toApiError(thrown));
      setSending(false);
    }
  };
  return { typed, set, problem, error, sending, give };
}

type Common = { readonly stem: string; readonly problem: GrantProblem | undefined };

/** How long the grant lasts, and for how many calls. */
function GrantLimits({
  typed,
  set,
  ...common
}: Common & {
  readonly typed: TypedGrant;
  readonly set: (change: Partial<TypedGrant>) => void;
}): ReactNode {
  return (
    <div className="field-pair">
      <Field {...common} name="forMs" label="Duration">
        {(field) => (
          <select
            {...field}
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
        )}
      </Field>
      <Field {...common} name="uses" label="Number of calls">
        {(field) => (
          <input
            {...field}
            inputMode="numeric"
            placeholder="no limit"
            value={typed.uses}
            onChange={(event) => set({ uses: event.currentTarget.value })}
          />
        )}
      </Field>
    </div>
  );
}

/** A label, its control, and the problem or hint that describes it. */
function Field({
  stem,
  problem,
  name,
  label,
  hint,
  children,
}: Common & {
  readonly name: keyof TypedGrant;
  readonly label: string;
  readonly hint?: string;
  readonly children: (attributes: {
    readonly id: string;
    readonly 'aria-describedby': string | undefined;
    readonly 'aria-invalid': boolean;
  }) => ReactNode;
}): ReactNode {
  const id = `${stem}${name}`;
  const hasProblem = problem?.field === name;
  const about = [hasProblem ? `${id}-problem` : '', hint === undefined ? '' : `${id}-hint`]
    .filter((each) => each !== '')
    .join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-describedby': about === '' ? undefined : about,
        'aria-invalid': hasProblem,
      })}
      {hasProblem && (
        <p className="field-problem" id={`${id}-problem`} role="alert">
          {problem.text}
        </p>
      )}
      {hint !== undefined && (
        <p className="muted" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
