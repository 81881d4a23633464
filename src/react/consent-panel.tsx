import type { ReactNode } from 'react';
import { useId, useRef, useState } from 'react';
import { ShownText } from './shown-text.tsx';
import { remainingTime } from '../view/remaining-time.ts';
import type { ToolCallView } from '../view/tool-call-view.ts';
import type { AnswerKind } from './answer-form.tsx';
import { AnswerForm } from './answer-form.tsx';
import { ArgumentsBlock } from './arguments-block.tsx';
import { ArtifactArguments } from './artifact-arguments.tsx';
import { ComparisonBlock } from './comparison-block.tsx';
import { PreviewBlock } from './preview-block.tsx';
import { UnreadNote } from './unread-note.tsx';
import type { Consent } from './use-consent.ts';
import { useReadingGate } from './use-reading-gate.ts';

const openers: readonly { readonly kind: AnswerKind; readonly label: string }[] = [
  { kind: 'deny', label: 'Deny…' },
  { kind: 'edit', label: 'Edit…' },
  { kind: 'respond', label: 'Respond…' },
];

const sentWords = {
  approve: 'Approved',
  deny: 'Denied',
  edit: 'Approved with other arguments',
  respond: 'Answered',
} as const;

/** A question to a person: who asks and why, everything the answer is about, and the ways to answer. */
export function ConsentPanel({
  call,
  consent,
  now,
  shownArguments,
  shownPreview,
}: {
  readonly call: ToolCallView;
  readonly consent: Consent;
  readonly now: number | undefined;
  readonly shownArguments: ReactNode;
  readonly shownPreview: ReactNode;
}): ReactNode {
  const { confirmation, status, request, error, canAnswer, canApprove } = consent;
  const [form, setForm] = useState<AnswerKind | undefined>(undefined);
  const opener = useRef<HTMLButtonElement | null>(null);
  const [whyNot, unread] = [useId(), useId()];
  const isBusy = status !== 'ready';
  const gate = useReadingGate(call, consent);
  const { reading, mayRun, hasMoved } = gate;
  const close = (): void => {
    setForm(undefined);
    opener.current?.focus();
  };
  return (
    <div className="qt-consent" ref={gate.panel} data-seen={gate.isStill}>
      <Asks consent={consent} />
      {call.preview === undefined && confirmation.inputDigest !== undefined && (
        <ComparisonBlock comparison={confirmation.comparison} />
      )}
      {call.preview !== undefined && (
        <div>
          <p className="qt-label">What it would do</p>
          {shownPreview === undefined ? (
            <PreviewBlock shown={call.preview} />
          ) : (
            <div data-qt-lines={0}>{shownPreview}</div>
          )}
        </div>
      )}
      <div>
        <p className="qt-label">Arguments</p>
        {shownArguments === undefined ? (
          <ArgumentsBlock call={call} isWhole />
        ) : (
          <div data-qt-lines={0}>{shownArguments}</div>
        )}
        <ArtifactArguments artifacts={call.artifacts} />
      </div>
      {!confirmation.isComplete && (
        <p className="qt-warning" id={whyNot}>
          Not everything this question is about has arrived here, so it cannot be approved. Reload, or deny
          it.
        </p>
      )}
      {canAnswer && canApprove && !reading.isRead && (
        <UnreadNote id={unread} reading={reading} isWaived={gate.isWaived} onWaive={gate.waive} />
      )}
      {canAnswer ? (
        <div className="qt-actions" role="group" aria-label="Answer" ref={gate.answers}>
          {confirmation.answers.includes('approve') && (
            <button
              type="button"
              className="qt-button qt-primary"
              ref={gate.approval}
              // It would approve what was asked, and drop what is being written.
              aria-disabled={isBusy || !mayRun || form !== undefined}
              aria-describedby={mayRun ? undefined : canApprove ? unread : whyNot}
              onClick={({ detail }) => {
                // The second click of a double click was meant for what stood here before.
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
                  if (isBusy || (kind === 'edit' && !mayRun)) return;
                  opener.current = currentTarget;
                  setForm(form === kind ? undefined : kind);
                }}
              >
                {label}
              </button>
            ))}
          <Countdown consent={consent} now={now} />
        </div>
      ) : (
        <p className="qt-note">Waiting for somebody who may decide.</p>
      )}
      {form !== undefined && !isBusy && (
        <AnswerForm
          key={form}
          kind={form}
          call={call}
          consent={consent}
          isStill={gate.isTextStill}
          howRead={gate.howRead}
          onClose={close}
        />
      )}
      <p className="qt-progress" role="status">
        {status === 'sending' && 'Sending…'}
        {status === 'sent' &&
          request !== undefined &&
          `${sentWords[request.decision]}. Waiting for the record.`}
      </p>
      {hasMoved && !isBusy && (
        <p className="qt-error" role="alert">
          This changed a moment ago, or moved. Look at what it shows now, then answer.
        </p>
      )}
      {error !== undefined && (
        <p className="qt-error" role="alert">
          <ShownText text={error.message} />
        </p>
      )}
    </div>
  );
}

/** Who asks, beyond what the card says already, and what makes it risky. */
function Asks({ consent: { confirmation } }: { readonly consent: Consent }): ReactNode {
  const { asks, risk, description } = confirmation;
  const others = asks.filter((ask) => asks.length > 1 || ask.description !== description);
  const [only] = asks.length === 1 ? asks : [];
  return (
    <>
      {others.length > 0 && (
        <ul className="qt-asks">
          {others.map(({ by, description: why }, index) => (
            <li key={index}>
              <span className="qt-note">
                {by.type}{' '}
                <strong>
                  <ShownText text={by.name} />
                </strong>
              </span>{' '}
              <ShownText text={why} />
            </li>
          ))}
        </ul>
      )}
      <div className="qt-why">
        {only !== undefined && others.length === 0 && (
          <p className="qt-note">
            Asked by {only.by.type}{' '}
            <strong>
              <ShownText text={only.by.name} />
            </strong>
          </p>
        )}
        {risk.length > 0 && (
          <ul className="qt-risks" aria-label="Risks">
            {risk.map((word) => (
              <li key={word}>
                <ShownText text={word} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
}

/** How long there is to answer, by this machine's clock. The ledger's decides, so nothing is switched off here. */
function Countdown({
  consent: { confirmation },
  now,
}: {
  readonly consent: Consent;
  readonly now: number | undefined;
}): ReactNode {
  const { expiresAt, timeoutEffect } = confirmation;
  if (expiresAt === undefined || now === undefined) return null;
  const left = expiresAt - now;
  const then = timeoutEffect === 'allow' ? 'it runs' : 'it is denied';
  return (
    <p className="qt-countdown" role="timer" data-soon={left < 60_000}>
      {left > 0 ? `${remainingTime(left)} left, then ${then}` : 'The time is up; an answer may come too late'}
    </p>
  );
}
