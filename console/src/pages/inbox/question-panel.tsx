/** A question to whoever looks: why it is asked, all that it is about, and the ways to answer. */
import type { ReactNode } from 'react';
import { useEffect, useId, useRef, useState } from 'react';
import type { AnswerKind } from '../../../../src/react/answer-form.tsx';
import { AnswerForm } from '../../../../src/react/answer-form.tsx';
import { ArgumentsBlock } from '../../../../src/react/arguments-block.tsx';
import { ArtifactArguments } from '../../../../src/react/artifact-arguments.tsx';
import { ComparisonBlock } from '../../../../src/react/comparison-block.tsx';
import { PreviewBlock } from '../../../../src/react/preview-block.tsx';
import { UnreadNote } from '../../../../src/react/unread-note.tsx';
import type { Consent } from '../../../../src/react/use-consent.ts';
import { useReadingGate } from '../../../../src/react/use-reading-gate.ts';
import type { ToolCallView } from '../../../../src/view/tool-call-view.ts';
import { useShortcuts } from '../../ui/use-shortcuts.ts';
import { Countdown } from './countdown.tsx';
import { WhyAsked } from './why-asked.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';

const openers: readonly { readonly kind: AnswerKind; readonly label: string; readonly key: string }[] = [
  { kind: 'deny', label: 'Deny…', key: 'd' },
  { kind: 'edit', label: 'Edit…', key: 'e' },
  { kind: 'respond', label: 'Respond…', key: 'r' },
];

type Props = {
  readonly call: ToolCallView;
  readonly consent: Consent;
  /** Beside the answers: what else can be done about the question. */
  readonly children?: ReactNode;
};

export function QuestionPanel({ call, consent, children }: Props): ReactNode {
  const { confirmation, status, canAnswer, canApprove, error } = consent;
  const [form, setForm] = useState<AnswerKind>();
  const opener = useRef<HTMLElement | null>(null);
  const [whyNot, unread] = [useId(), useId()];
  const isBusy = status !== 'ready';
  const gate = useReadingGate(call, consent);
  const { reading, mayRun, hasMoved } = gate;
  const can = (kind: AnswerKind): boolean =>
    canAnswer && !isBusy && confirmation.answers.includes(kind) && (kind !== 'edit' || mayRun);
  const open = (kind: AnswerKind): void => {
    if (!can(kind)) return;
    opener.current = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    setForm(form === kind ? undefined : kind);
  };
  const close = (): void => {
    setForm(undefined);
    opener.current?.focus();
  };
  const approval = useApproval(
    { ...consent, canApprove: mayRun, approve: gate.approve },
    form === undefined && !isBusy,
  );
  useShortcuts({
    a: approval.arm,
    ...Object.fromEntries(openers.map(({ kind, key }) => [key, () => open(kind)])),
  });
  return (
    <div className="question-panel" ref={gate.panel} data-read={reading.isRead} data-still={gate.isStill}>
      <WhyAsked confirmation={confirmation} />
      {call.preview === undefined && confirmation.inputDigest !== undefined && (
        <section className="question-part">
          <h3>{confirmation.comparison === undefined ? 'No preview' : 'Compared with the last call'}</h3>
          <ComparisonBlock comparison={confirmation.comparison} />
        </section>
      )}
      {call.preview !== undefined && (
        <section className="question-part">
          <h3>What it would do</h3>
          <PreviewBlock shown={call.preview} />
        </section>
      )}
      <section className="question-part">
        <h3>Arguments</h3>
        <ArgumentsBlock call={call} isWhole />
        <ArtifactArguments artifacts={call.artifacts} />
      </section>
      {!confirmation.isComplete && (
        <p className="qt-warning" id={whyNot}>
          Not everything this question is about is here to be seen, so it cannot be approved. Reload the page,
          or deny it.
        </p>
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
      {canAnswer && canApprove && !reading.isRead && (
        <UnreadNote id={unread} reading={reading} isWaived={gate.isWaived} onWaive={gate.waive} />
      )}
      <footer className="question-answers" data-armed={approval.isArmed} ref={gate.answers}>
        {canAnswer ? (
          <div className="actions" role="group" aria-label="Answer">
            {confirmation.answers.includes('approve') && (
              <button
                type="button"
                className="primary"
                // It would approve what was asked, and drop what is being written.
                ref={gate.approval}
                aria-disabled={isBusy || !mayRun || form !== undefined}
                aria-describedby={mayRun ? undefined : canApprove ? unread : whyNot}
                title={
                  form === undefined ? 'a, then Ctrl+Enter' : 'Send or cancel what you are writing first'
                }
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
              .map(({ kind, label, key }) => (
                <button
                  key={kind}
                  type="button"
                  className={kind === 'deny' ? 'danger' : ''}
                  aria-expanded={form === kind}
                  aria-disabled={!can(kind)}
                  title={key}
                  onClick={() => open(kind)}
                >
                  {label}
                </button>
              ))}
            {children}
          </div>
        ) : (
          <p className="muted">
            Your role reads and does not decide. Somebody with the role <code>approver</code> can answer this.
          </p>
        )}
        <Countdown expiresAt={confirmation.expiresAt} timeoutEffect={confirmation.timeoutEffect} />
        <p className="question-progress" role="status">
          {approval.isArmed && (
            <>
              Press <kbd>Ctrl</kbd>+<kbd>Enter</kbd> to approve, any other key to leave it.
            </>
          )}
          {status === 'sending' && 'Sending…'}
          {status === 'sent' && 'Sent. Waiting for the record.'}
        </p>
        {hasMoved && !isBusy && (
          <p className="question-refusal" role="alert">
            This changed a moment ago, or moved. Look at what it shows now, then answer.
          </p>
        )}
        {error !== undefined && (
          <p className="question-refusal" role="alert">
            <ForeignText text={error.message} />
          </p>
        )}
      </footer>
    </div>
  );
}

const armedMs = 6_000;

/**
 * Approval by keys takes two: `a`, and Ctrl or Command with Enter. Somebody who types into the wrong window presses one
 * of them sooner or later; any other key in between takes the first back.
 */
function useApproval(
  consent: Consent,
  isOpen: boolean,
): { readonly isArmed: boolean; readonly arm: () => void } {
  const [isArmed, setArmed] = useState(false);
  const approve = useRef(consent.approve);
  approve.current = consent.approve;
  const subject = `${consent.confirmation.confirmationId} ${consent.confirmation.inputDigest ?? ''} ${consent.confirmation.revision ?? ''}`;
  useEffect(() => setArmed(false), [subject, isOpen]);
  useEffect(() => {
    if (!isArmed) return;
    const press = (event: KeyboardEvent): void => {
      if (['Control', 'Meta', 'Shift', 'Alt'].includes(event.key)) return;
      setArmed(false);
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
      event.preventDefault();
      approve.current();
    };
    const timer = setTimeout(() => setArmed(false), armedMs);
    window.addEventListener('keydown', press, true);
    window.addEventListener('pointerdown', disarm);
    function disarm(): void {
      setArmed(false);
    }
    return () => {
      clearTimeout(timer);
      window.removeEventListener('keydown', press, true);
      window.removeEventListener('pointerdown', disarm);
    };
  }, [isArmed]);
  return {
    isArmed,
    arm: () => setArmed(isOpen && consent.canApprove && consent.confirmation.answers.includes('approve')),
  };
}
