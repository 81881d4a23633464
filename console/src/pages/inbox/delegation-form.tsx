import type { ReactNode } from 'react';
import { useId, useState } from 'react';
import { safeId } from '../../../../src/base/safe-id.ts';
import type { NewDelegation } from '../../../../src/http/api/confirmation.ts';
import type { DelegationView } from '../../../../src/runtime/people/delegations.ts';
import type { ApiError } from '../../api/client.ts';
import { send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Problem } from '../../ui/problem.tsx';
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
  const [to, setTo] = useState('');
  const [forMs, setForMs] = useState<number>(ends[1].forMs);
  const [reason, setReason] = useState('');
  const [problem, setProblem] = useState<string>();
  const [error, setError] = useState<ApiError>();
  const [sending, setSending] = useState(false);
  const showToast = useToast();
  const give = async (): Promise<void> => {
    if (sending) return;
    if (to.trim() === '') {
      setProblem('Enter the name of the person.');
      document.getElementById(`${stem}to`)?.focus();
      return;
    }
    setSending(true);
    setError(undefined);
    const request: NewDelegation = {
      to: to.trim(),
      until: Date.now() + forMs,
      ...(reason.trim() !== '' && { reason: reason.trim() }),
    };
    try {
      const given = await send<DelegationView>('/v1/delegations', request);
      showToast(`${safeId(given.to)} approves in your place from now on.`);
      onGiven();
      onClose();
    } catch (thrown) {
      setError(toApiError(thrown));
      setSending(false);
    }
  };
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
        <div className="field">
          <label htmlFor={`${stem}to`}>Person</label>
          <input
            id={`${stem}to`}
            value={to}
            maxLength={1_000}
            aria-invalid={problem !== undefined}
            aria-describedby={`${stem}hint`}
            onChange={(event) => {
              setTo(event.currentTarget.value);
              setProblem(undefined);
            }}
          />
          {problem !== undefined && (
            <p className="field-problem" role="alert">
              {problem}
            </p>
          )}
          <p className="muted" id={`${stem}hint`}>
            Their name at the identity provider, or the name of their token.
          </p>
        </div>
        <div className="field">
          <label htmlFor={`${stem}for`}>Ends after</label>
          <select
            id={`${stem}for`}
            value={forMs}
            onChange={(event) => setForMs(Number(event.currentTarget.value))}
          >
            {ends.map(({ label, forMs: value }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label htmlFor={`${stem}reason`}>Reason (optional)</label>
          <input
            id={`${stem}reason`}
            value={reason}
            maxLength={1_000}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
        </div>
        {error !== undefined && <Problem error={error} />}
        <div className="actions">
          <button type="submit" className="primary" disabled={sending}>
            Delegate
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}
