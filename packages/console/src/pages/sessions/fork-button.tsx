/** Makes the calls of a session again from one call on, in a new session. */
import type { ReactNode, SubmitEvent } from 'react';
import { useEffect, useState } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { NewFork, StartedFork, TimelineCall } from '@quittance/server/internal/http/api/session';
import type { ApiError } from '../../api/client.ts';
import { pathOf, send } from '../../api/client.ts';
import { toApiError } from '../../api/use-answer.ts';
import { useMay, useMe } from '../../api/use-me.ts';
import { addressOf, goTo } from '../../route.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { describeOutcome } from '../../ui/outcome-badge.tsx';
import { FormEnd } from '../../ui/form-end.tsx';

type Props = {
  readonly sessionId: string;
  /** The calls to choose from, newest first. */
  readonly rows: readonly TimelineCall[] | undefined;
  /** The call to start from, if the address names one. */
  readonly callId: string | undefined;
};

export function ForkButton({ sessionId, rows = [], callId }: Props): ReactNode {
  const [isOpen, setOpen] = useState(callId !== undefined);
  useEffect(() => {
    if (callId !== undefined) setOpen(true);
  }, [callId]);
  const may = useMay('operator');
  const close = (): void => {
    setOpen(false);
    if (callId !== undefined) goTo(addressOf(['sessions', sessionId]), { replace: true });
  };
  return (
    <>
      <button
        type="button"
        disabled={!may || rows.length === 0}
        title={may ? undefined : 'Only operators and admins can make calls.'}
        onClick={() => setOpen(true)}
      >
        Fork…
      </button>
      {isOpen && may && rows.length > 0 && (
        <ForkDialog sessionId={sessionId} rows={rows} callId={callId} onClose={close} />
      )}
    </>
  );
}

function ForkDialog({
  sessionId,
  rows,
  callId,
  onClose,
}: Props & { readonly rows: readonly TimelineCall[]; readonly onClose: () => void }): ReactNode {
  const { name } = useMe();
  const [at, setAt] = useState(() => callId ?? startOf(rows));
  const [continues, setContinues] = useState(false);
  const { error, isSending, fork } = useFork(sessionId);
  const oldestFirst = rows.toReversed();
  const index = oldestFirst.findIndex(({ call }) => call.callId === at);
  const count = oldestFirst.length - Math.max(index, 0);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    fork({ callId: at, continue: continues });
  };
  return (
    <Dialog title="Fork this session" onClose={onClose}>
      <form className="fork-form" onSubmit={submit}>
        <p className="muted">
          Makes the calls from the chosen one on again, with the arguments on record, in a new session. The
          tools run, every check applies, and calls may need approval. Earlier calls are not made again. The
          ledger records that <strong>{name}</strong> requested it.
        </p>
        <label className="schema-field">
          <span>First call to make again</span>
          <select value={at} onChange={({ currentTarget }) => setAt(currentTarget.value)}>
            {index === -1 && <option value={at}>{safeId(at)}</option>}
            {oldestFirst.map(({ call }, number) => (
              <option key={call.callId} value={call.callId}>
                {number + 1}. {safeId(call.toolName)}: {describeOutcome(call).word} ({safeId(call.callId)})
              </option>
            ))}
          </select>
        </label>
        <label className="inline-check">
          <input
            type="checkbox"
            checked={continues}
            onChange={({ currentTarget }) => setContinues(currentTarget.checked)}
          />
          Continue after a call that ends differently
        </label>
        <FormEnd {...{ error, isSending, onClose }}>
          {isSending
            ? 'Starting…'
            : index === -1
              ? 'Fork'
              : `Make ${count} ${count === 1 ? 'call' : 'calls'} again`}
        </FormEnd>
      </form>
    </Dialog>
  );
}

/** The first call that did not succeed, because people fork to see whether it succeeds now; otherwise the first call. */
function startOf(rows: readonly TimelineCall[]): string {
  const oldestFirst = rows.toReversed();
  const isGood = ({ call }: TimelineCall): boolean => describeOutcome(call).tone === 'good';
  return (oldestFirst.find((row) => !isGood(row)) ?? oldestFirst[0])?.call.callId ?? '';
}

function useFork(sessionId: string): {
  readonly error: ApiError | undefined;
  readonly isSending: boolean;
  readonly fork: (wanted: NewFork) => void;
} {
  const [error, setError] = useState<ApiError>();
  const [isSending, setSending] = useState(false);
  const ask = async (wanted: NewFork): Promise<void> => {
    setSending(true);
    setError(undefined);
    try {
      const started = await send<StartedFork>(pathOf('sessions', sessionId, 'forks'), wanted);
      goTo(addressOf(['sessions', started.sessionId]));
    } catch (thrown) {
      setError(toApiError(thrown));
      setSending(false);
    }
  };
  return { error, isSending, fork: (wanted) => void ask(wanted) };
}
