import type { ReactNode, SubmitEvent } from 'react';
import { useState } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { CallAnswer, CallDetail } from '@quittance/server/internal/http/api/call';
import type { ApiError } from '../../api/client.ts';
import { pathOf, send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import { useMay } from '../../api/use-me.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { FormEnd } from '../../ui/form-end.tsx';
import { formatTime, useServerNow } from '../../ui/time.tsx';
import { useToast } from '../../ui/toast.tsx';

/** Undoes the call, if the tool supports it and the undo period has not ended. Asks for a reason. */
export function UndoButton({
  detail: { call },
  onDone,
}: {
  readonly detail: CallDetail;
  readonly onDone: () => void;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const may = useMay('operator');
  const now = useServerNow(1_000);
  const outcome = call.settled?.outcome;
  const handle = outcome !== undefined && 'undo' in outcome ? outcome.undo : undefined;
  if (handle === undefined || call.undone !== undefined) return null;
  if (handle.until !== undefined && now >= handle.until)
    return <span className="muted">Undo expired at {formatTime(handle.until)}</span>;
  return (
    <>
      <button
        type="button"
        disabled={!may}
        title={may ? undefined : 'Only operators and admins can undo calls.'}
        onClick={() => setOpen(true)}
      >
        Undo…
      </button>
      {isOpen && (
        <UndoDialog
          path={pathOf('sessions', call.sessionId, 'calls', call.callId, 'undo')}
          toolName={call.toolName}
          onClose={() => setOpen(false)}
          onDone={onDone}
        />
      )}
    </>
  );
}

function UndoDialog({
  path,
  toolName,
  onClose,
  onDone,
}: {
  readonly path: string;
  readonly toolName: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): ReactNode {
  const showToast = useToast();
  const [reason, setReason] = useState('');
  const [status, setStatus] = useState<'ready' | 'sending'>('ready');
  const [error, setError] = useState<ApiError | undefined>(undefined);
  const undo = async (): Promise<void> => {
    setStatus('sending');
    setError(undefined);
    try {
      const answer = await send<CallAnswer>(path, reason.trim() === '' ? {} : { reason: reason.trim() });
      showToast(describe(answer), answer.decision === 'deny' ? 'bad' : 'good');
      onClose();
      onDone();
    } catch (thrown) {
      setError(toApiError(thrown));
      setStatus('ready');
    }
  };
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    if (status === 'ready') void undo();
  };
  return (
    <Dialog title={`Undo ${safeId(toolName)}`} onClose={onClose}>
      <form className="undo-form" onSubmit={submit}>
        <p>The tool reverses the effect of this call. The undo is a separate call with its own records.</p>
        <label>
          Reason (optional)
          <textarea rows={3} value={reason} onChange={(event) => setReason(event.target.value)} />
        </label>
        <FormEnd error={error} isSending={status === 'sending'} onClose={onClose}>
          Undo call
        </FormEnd>
      </form>
    </Dialog>
  );
}

function describe(answer: CallAnswer): string {
  switch (answer.decision) {
    case 'settled':
      return answer.isError ? 'The tool could not undo the call.' : 'Undone.';
    case 'deny':
      return 'The undo was denied.';
    case 'held':
      return 'The undo needs approval: see the inbox.';
    case 'running':
    case 'allow':
      return 'Undo in progress.';
  }
}
