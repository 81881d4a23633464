import type { ReactNode } from 'react';
import { useId } from 'react';
import { remainingTime } from '../view/remaining-time.ts';
import type { AnswerKind } from './answer-form.tsx';
import { UnreadNote } from './unread-note.tsx';
import type { Consent } from './use-consent.ts';
import type { ReadingGate } from './use-reading-gate.ts';

const openers: readonly { readonly kind: AnswerKind; readonly label: string }[] = [
  { kind: 'deny', label: 'Deny…' },
  { kind: 'edit', label: 'Edit…' },
  { kind: 'respond', label: 'Respond…' },
];

/** The buttons that answer the question, with the reason why approving is not possible yet. */
export function AnswerBar({
  consent: { confirmation, canApprove, status },
  gate,
  form,
  onToggleForm,
  now,
}: {
  readonly consent: Consent;
  readonly gate: ReadingGate;
  readonly form: AnswerKind | undefined;
  readonly onToggleForm: (kind: AnswerKind, button: HTMLButtonElement) => void;
  readonly now: number | undefined;
}): ReactNode {
  const [whyNot, unread] = [useId(), useId()];
  const { reading, mayRun } = gate;
  const isBusy = status !== 'ready';
  return (
    <>
      {!confirmation.isComplete && <IncompleteWarning id={whyNot} />}
      {canApprove && !reading.isRead && (
        <UnreadNote id={unread} reading={reading} isWaived={gate.isWaived} onWaive={gate.waive} />
      )}
      <div className="qt-actions" role="group" aria-label="Answer" ref={gate.answers}>
        {confirmation.answers.includes('approve') && (
          <button
            type="button"
            className="qt-button qt-primary"
            ref={gate.approval}
            // Approving while a form is open would discard the person's edit.
            aria-disabled={isBusy || !mayRun || form !== undefined}
            aria-describedby={mayRun ? undefined : canApprove ? unread : whyNot}
            onClick={({ detail }) => {
              // The second click of a double click was meant for the previous content.
              if (detail <= 1 && form === undefined && mayRun) gate.approve();
            }}
          >
            Approve
          </button>
        )}
        {openers
          .filter(({ kind }) => confirmation.answers.includes(kind))
          .map(({ kind, label }) => (
            <button
              key={kind}
              type="button"
              className={kind === 'deny' ? 'qt-button qt-deny' : 'qt-button'}
              aria-expanded={form === kind}
              aria-disabled={isBusy || (kind === 'edit' && !mayRun)}
              onClick={({ currentTarget }) => {
                if (!isBusy && (kind !== 'edit' || mayRun)) onToggleForm(kind, currentTarget);
              }}
            >
              {label}
            </button>
          ))}
        <Countdown confirmation={confirmation} now={now} />
      </div>
    </>
  );
}

export const IncompleteWarning = ({ id }: { readonly id?: string }): ReactNode => (
  <p className="qt-warning" id={id}>
    This question is incomplete here, so it cannot be approved. Reload the page, or deny the call.
  </p>
);

/** Time left to answer, by this machine's clock. The ledger's clock decides, so the buttons stay enabled. */
function Countdown({
  confirmation: { expiresAt, timeoutEffect },
  now,
}: {
  readonly confirmation: Consent['confirmation'];
  readonly now: number | undefined;
}): ReactNode {
  if (expiresAt === undefined || now === undefined) return null;
  const left = expiresAt - now;
  const then = timeoutEffect === 'allow' ? 'it runs' : 'it is denied';
  return (
    <p className="qt-countdown" role="timer" data-soon={left < 60_000}>
      {left > 0 ? `${remainingTime(left)} left, then ${then}` : 'Expired. An answer may come too late'}
    </p>
  );
}
