import type { ReactNode } from 'react';
import { useId, useState } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { NewDelegation } from '@quittance/server/internal/http/api/confirmation';
import type { DelegationView } from 'quittance/internal/runtime/delegations';
import { limits } from 'quittance/internal/call/limits';
import type { ApiError } from '../../api/client.ts';
import { send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormEnd } from '../../ui/form-end.tsx';
import { useToast } from '../../ui/toast.tsx';

const dayMs = 86_400_000;
const ends = [
  { label: '1 day', forMs: dayMs },
  { label: '1 week', forMs: 7 * dayMs },
  { label: '2 weeks', forMs: 14 * dayMs },
  { label: '30 days', forMs: 30 * dayMs },
  // A little less than the limit of 90 days: the clock of the server may be behind.
  { label: '12 weeks', forMs: 84 * dayMs },
] as const;

type Props = { readonly onClose: () => void; readonly onGiven: () => void };

/** Lets another person approve in one's own place. It always has an end. */
export function DelegationForm({ onClose, onGiven }: Props): ReactNode {
  const stem = useId();
  const { typed, set, problem, error, sending, give } = useNewDelegation(`${stem}to`, () => {
    onGiven();
    onClose();
  });
  return (
    <Dialog title="Delegate your approvals" onClose={onClose}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          void give();
        }}
      >
        <p>
          This person may approve in your place, with your groups and roles. You both count as one person.
        </p>
        <PersonField stem={stem} to={typed.to} problem={problem} onTo={(to) => set({ to })} />
        <div className="field">
          <label htmlFor={`${stem}for`}>Ends after</label>
          <select
            id={`${stem}for`}
            value={typed.forMs}
            onChange={(event) => set({ forMs: Number(event.currentTarget.value) })}
          >
            {ends.map(({ label, forMs }) => (
              <option key={forMs} value={forMs}>
                {label}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label htmlFor={`${stem}reason`}>Reason (optional)</label>
          <input
            id={`${stem}reason`}
            value={typed.reason}
            maxLength={limits.shortReasonChars}
            onChange={(event) => set({ reason: event.currentTarget.value })}
          />
        </div>
        <FormEnd error={error} isSending={sending} onClose={onClose}>
          Delegate
        </FormEnd>
      </form>
    </Dialog>
  );
}

type Typed = { readonly to: string; readonly forMs: number; readonly reason: string };

/** The state of the form, and the request. `personField`: the id of the field for the person. */
function useNewDelegation(
  personField: string,
  onGiven: () => void,
): {
  readonly typed: Typed;
  readonly set: (change: Partial<Typed>) => void;
  readonly problem: string | undefined;
  readonly error: ApiError | undefined;
  readonly sending: boolean;
  readonly give: () => Promise<void>;
} {
  const [typed, setTyped] = useState<Typed>({ to: '', forMs: ends[1].forMs, reason: '' });
  const [problem, setProblem] = useState<string>();
  const [error, setError] = useState<ApiError>();
  const [sending, setSending] = useState(false);
  const showToast = useToast();
  const set = (change: Partial<Typed>): void => {
    setTyped((before) => ({ ...before, ...change }));
    setProblem(undefined);
  };
  const give = async (): Promise<void> => {
    if (sending) return;
    const [to, reason] = [typed.to.trim(), typed.reason.trim()];
    if (to === '') {
      setProblem('Enter the name of the person.');
      document.getElementById(personField)?.focus();
      return;
    }
    setSending(true);
    setError(undefined);
    const request: NewDelegation = {
      to,
      until: Date.now() + typed.forMs,
      ...(reason !== '' && { reason }),
    };
    try {
      const given = await send<DelegationView>('/v1/delegations', request);
      showToast(`${safeId(given.to)} approves in your place from now on.`);
      onGiven();
    } catch (thrown) {
      setError(toApiError(thrown));
      setSending(false);
    }
  };
  return { typed, set, problem, error, sending, give };
}

function PersonField({
  stem,
  to,
  problem,
  onTo,
}: {
  readonly stem: string;
  readonly to: string;
  readonly problem: string | undefined;
  readonly onTo: (to: string) => void;
}): ReactNode {
  return (
    <div className="field">
      <label htmlFor={`${stem}to`}>Person</label>
      <input
        id={`${stem}to`}
        value={to}
        maxLength={limits.shortReasonChars}
        aria-invalid={problem !== undefined}
        aria-describedby={`${stem}hint`}
        onChange={(event) => onTo(event.currentTarget.value)}
      />
      {problem !== undefined && (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      )}
      <p className="muted" id={`${stem}hint`}>
        Their id (subject) at the identity provider, or the name of their token.
      </p>
    </div>
  );
}
