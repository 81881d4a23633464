import type { ReactNode } from 'react';
import { useId, useState } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { GrantView } from 'quittance/internal/runtime/views';
import { limits } from 'quittance/internal/call/limits';
import type { ApiError } from '../../api/client.ts';
import { pathOf, send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormEnd } from '../../ui/form-end.tsx';
import { useToast } from '../../ui/toast.tsx';

type Props = {
  readonly grant: GrantView;
  readonly onClose: () => void;
  readonly onRevoked: () => void;
};

/** Revokes a grant. Calls it already approved are not affected. */
export function RevokeForm({ grant, onClose, onRevoked }: Props): ReactNode {
  const { sessionId, grantId, toolName } = grant;
  const [reason, setReason] = useState('');
  const [error, setError] = useState<ApiError>();
  const [sending, setSending] = useState(false);
  const showToast = useToast();
  const field = useId();
  const revoke = async (): Promise<void> => {
    if (sending) return;
    setSending(true);
    try {
      await send(
        pathOf('sessions', sessionId, 'grants', grantId, 'revoke'),
        reason.trim() === '' ? {} : { reason: reason.trim() },
      );
      showToast(`Grant revoked. ${safeId(toolName)} needs approval again.`);
      onRevoked();
      onClose();
    } catch (thrown) {
      setError(toApiError(thrown));
      setSending(false);
    }
  };
  return (
    <Dialog title={`Revoke grant for ${safeId(toolName)}`} onClose={onClose}>
      <form
        className="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          void revoke();
        }}
      >
        <p>Matching calls need approval again. Calls that this grant already approved are not affected.</p>
        <div className="field">
          <label htmlFor={field}>Reason (optional)</label>
          <input
            id={field}
            value={reason}
            maxLength={limits.shortReasonChars}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
        </div>
        <FormEnd error={error} isSending={sending} onClose={onClose} tone="danger">
          Revoke
        </FormEnd>
      </form>
    </Dialog>
  );
}
