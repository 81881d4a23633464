/** An open question: its reasons, the preview and arguments, and the possible answers. */
import type { ReactNode } from 'react';
import { useEffect, useId, useRef, useState } from 'react';
import {
  IncompleteWarning,
  ApprovalProgress,
  ArtifactArguments,
  ComparisonBlock,
  UnreadNote,
} from '@quittance/react/src/consent-panel.tsx';
import type { AnswerKind } from '@quittance/react/src/answer-form.tsx';
import { AnswerForm } from '@quittance/react/src/answer-form.tsx';
import { ArgumentsBlock } from '@quittance/react/src/arguments-block.tsx';
import { PreviewBlock } from '@quittance/react/src/preview-block.tsx';
import type { Consent } from '@quittance/react/src/use-consent.ts';
import type { ReadingGate } from '@quittance/react/src/use-reading-gate.ts';
import { useReadingGate } from '@quittance/react/src/use-reading-gate.ts';
import type { ToolCallView } from 'quittance/internal/view/tool-call-view';
import { useMe } from '../../api/use-me.ts';
import { LedgerName } from '../../ui/ledger-switch.tsx';
import { useShortcuts } from '../../ui/use-shortcuts.ts';
import { ApproveButton } from './approve-button.tsx';
import { Countdown } from './countdown.tsx';
import { EditForm } from './edit-form.tsx';
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
  /** Further actions next to the answers. */
  readonly children?: ReactNode;
  /** Choices that an approval takes with it. */
  readonly beforeAnswers?: ReactNode;
};

export function QuestionPanel({ call, consent, children, beforeAnswers }: Props): ReactNode {
  const { confirmation, status, canAnswer, error } = consent;
  const isBusy = status !== 'ready';
  const gate = useReadingGate(call, consent);
  const { form, can, toggle, close } = useAnswerForm(consent, gate.mayRun);
  const approval = useApproval(
    { ...consent, canApprove: gate.mayRun, approve: gate.approve },
    form === undefined && !isBusy,
  );
  useShortcuts({
    a: approval.arm,
    ...Object.fromEntries(openers.map(({ kind, key }) => [key, () => toggle(kind)])),
  });
  const [whyNot, unread] = [useId(), useId()];
  return (
    <div
      className="question-panel"
      ref={gate.panel}
      data-read={gate.reading.isRead}
      data-still={gate.isStill}
    >
      <WhyAsked confirmation={confirmation} />
      <ApprovalProgress confirmation={confirmation} />
      <QuestionSubject call={call} />
      {!confirmation.isComplete && <IncompleteWarning id={whyNot} />}
      {form !== undefined && (
        <OpenForm kind={form} call={call} consent={consent} gate={gate} onClose={close} />
      )}
      {canAnswer && consent.canApprove && !gate.reading.isRead && (
        <UnreadNote id={unread} reading={gate.reading} isWaived={gate.isWaived} onWaive={gate.waive} />
      )}
      {canAnswer && beforeAnswers}
      <footer className="question-answers" data-armed={approval.isArmed} ref={gate.answers}>
        {canAnswer ? (
          <AnswerButtons
            consent={consent}
            gate={gate}
            form={form}
            can={can}
            onToggle={toggle}
            describedBy={consent.canApprove ? unread : whyNot}
          >
            {children}
          </AnswerButtons>
        ) : (
          <p className="muted">
            Your role cannot decide. A user with the role <code>approver</code> can answer this.
          </p>
        )}
        <LedgerMark />
        <Countdown expiresAt={confirmation.expiresAt} timeoutEffect={confirmation.timeoutEffect} />
        <p className="question-progress" role="status">
          {approval.isArmed && (
            <>
              Press <kbd>Ctrl</kbd>+<kbd>Enter</kbd> to approve, or any other key to cancel.
            </>
          )}
          {status === 'sending' && 'Sending…'}
          {status === 'sent' && 'Sent. Waiting for the ledger to record it.'}
        </p>
        {gate.hasMoved && !isBusy && (
          <Refusal>This just changed or moved. Check it again before you answer.</Refusal>
        )}
        {error !== undefined && (
          <Refusal>
            <ForeignText text={error.message} />
          </Refusal>
        )}
      </footer>
    </div>
  );
}

type OpenFormProps = {
  readonly kind: AnswerKind;
  readonly call: ToolCallView;
  readonly consent: Consent;
  readonly gate: ReadingGate;
  readonly onClose: () => void;
};

/** The form of an answer. The one for an edit stays while it is sent: a refused edit can be corrected. */
function OpenForm({ kind, call, consent, gate, onClose }: OpenFormProps): ReactNode {
  const about = { call, consent, isStill: gate.isTextStill, howRead: gate.howRead, onClose };
  if (kind === 'edit') return <EditForm {...about} />;
  return consent.status === 'ready' && <AnswerForm key={kind} kind={kind} {...about} />;
}

/** The ledger that the answer counts in: an approval in production must not look like one in a test. */
function LedgerMark(): ReactNode {
  const { name, color } = useMe().console;
  return name === undefined ? null : <LedgerName name={name} color={color} />;
}

const Refusal = ({ children }: { readonly children: ReactNode }): ReactNode => (
  <p className="question-refusal" role="alert">
    {children}
  </p>
);

/** The preview and the arguments that the answer is about. */
function QuestionSubject({ call }: { readonly call: ToolCallView }): ReactNode {
  const { preview, confirmation } = call;
  return (
    <>
      {preview === undefined && confirmation?.inputDigest !== undefined && (
        <section className="question-part">
          <h3>{confirmation.comparison === undefined ? 'No preview' : 'Compared with the last call'}</h3>
          <ComparisonBlock comparison={confirmation.comparison ?? 'none'} />
        </section>
      )}
      {preview !== undefined && (
        <section className="question-part">
          <h3>Preview</h3>
          <PreviewBlock shown={preview} />
        </section>
      )}
      <section className="question-part">
        <h3>Arguments</h3>
        <ArgumentsBlock call={call} isWhole />
        <ArtifactArguments artifacts={call.artifacts} />
      </section>
    </>
  );
}

type AnswerButtonsProps = {
  readonly consent: Consent;
  readonly gate: ReadingGate;
  readonly form: AnswerKind | undefined;
  readonly can: (kind: AnswerKind) => boolean;
  readonly onToggle: (kind: AnswerKind) => void;
  /** Element that says why the call cannot be approved yet. */
  readonly describedBy: string;
  readonly children: ReactNode;
};

function AnswerButtons(props: AnswerButtonsProps): ReactNode {
  const { consent, gate, form, can, onToggle, describedBy, children } = props;
  const { answers } = consent.confirmation;
  const isUnread = consent.canApprove && !gate.mayRun;
  return (
    <div className="actions" role="group" aria-label="Answer">
      {answers.includes('approve') && (
        <ApproveButton
          // A changed question starts unarmed.
          key={`${consent.confirmation.inputDigest ?? ''} ${consent.confirmation.revision ?? ''}`}
          buttonRef={gate.approval}
          // Approving while a form is open would discard the user's edit.
          isReady={consent.status === 'ready' && gate.mayRun && form === undefined}
          describedBy={gate.mayRun ? undefined : describedBy}
          title={
            form !== undefined
              ? 'Send or cancel the open form first'
              : isUnread
                ? 'Scroll to the end first'
                : 'a, then Ctrl+Enter'
          }
          first={isUnread && form === undefined ? 'scroll to the end first' : undefined}
          onApprove={gate.approve}
        />
      )}
      {openers
        .filter(({ kind }) => answers.includes(kind))
        .map(({ kind, label, key }) => (
          <button
            key={kind}
            type="button"
            className={kind === 'deny' ? 'danger' : ''}
            aria-expanded={form === kind}
            aria-disabled={!can(kind)}
            title={key}
            onClick={() => onToggle(kind)}
          >
            {label}
          </button>
        ))}
      {children}
    </div>
  );
}

/** Which answer form is open. Closing it restores the focus. */
function useAnswerForm(
  { confirmation, canAnswer, status }: Consent,
  mayRun: boolean,
): {
  readonly form: AnswerKind | undefined;
  readonly can: (kind: AnswerKind) => boolean;
  readonly toggle: (kind: AnswerKind) => void;
  readonly close: () => void;
} {
  const [form, setForm] = useState<AnswerKind>();
  const opener = useRef<HTMLElement | null>(null);
  const can = (kind: AnswerKind): boolean =>
    canAnswer && status === 'ready' && confirmation.answers.includes(kind) && (kind !== 'edit' || mayRun);
  return {
    form,
    can,
    toggle: (kind) => {
      if (!can(kind)) return;
      opener.current = document.activeElement instanceof HTMLElement ? document.activeElement : null;
      setForm(form === kind ? undefined : kind);
    },
    close: () => {
      setForm(undefined);
      opener.current?.focus();
    },
  };
}

const armedMs = 6_000;

/**
 * Approval by keyboard takes two steps: `a`, then Ctrl or Command with Enter. Any other key in between cancels it, which
 * protects against keys typed into the wrong window.
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
