import type { ReactNode } from 'react';
import { useRef, useState } from 'react';
import { ShownText } from './shown-text.tsx';
import type { ToolCallView } from '../view/tool-call-view.ts';
import { AnswerBar, IncompleteWarning } from './answer-bar.tsx';
import type { AnswerKind } from './answer-form.tsx';
import { AnswerForm } from './answer-form.tsx';
import { ApprovalProgress } from './approval-progress.tsx';
import { ArgumentsBlock } from './arguments-block.tsx';
import { ArtifactArguments } from './artifact-arguments.tsx';
import { ComparisonBlock } from './comparison-block.tsx';
import { PreviewBlock } from './preview-block.tsx';
import type { Consent } from './use-consent.ts';
import { useReadingGate } from './use-reading-gate.ts';

const sentWords = {
  approve: 'Approved',
  deny: 'Denied',
  edit: 'Approved with edited arguments',
  respond: 'Answered',
} as const;

/** A question to a person: who asks and why, the subject of the question, and the possible answers. */
export function ConsentPanel({
  call,
  consent,
  now,
  shownArguments,
  shownPreview,
}: Subject & {
  readonly consent: Consent;
  readonly now: number | undefined;
}): ReactNode {
  const { status, request, error, canAnswer } = consent;
  const [form, setForm] = useState<AnswerKind | undefined>(undefined);
  const opener = useRef<HTMLButtonElement | null>(null);
  const gate = useReadingGate(call, consent);
  const isBusy = status !== 'ready';
  return (
    <div className="qt-consent" ref={gate.panel} data-seen={gate.isStill}>
      <Asks consent={consent} />
      <ApprovalProgress confirmation={consent.confirmation} />
      <SubjectBlock call={call} shownArguments={shownArguments} shownPreview={shownPreview} />
      {canAnswer ? (
        <AnswerBar
          consent={consent}
          gate={gate}
          form={form}
          onToggleForm={(kind, button) => {
            opener.current = button;
            setForm(form === kind ? undefined : kind);
          }}
          now={now}
        />
      ) : (
        <>
          {!consent.confirmation.isComplete && <IncompleteWarning />}
          <p className="qt-note">Waiting for an approver.</p>
        </>
      )}
      {form !== undefined && !isBusy && (
        <AnswerForm
          key={form}
          kind={form}
          call={call}
          consent={consent}
          isStill={gate.isTextStill}
          howRead={gate.howRead}
          onClose={() => {
            setForm(undefined);
            opener.current?.focus();
          }}
        />
      )}
      <p className="qt-progress" role="status">
        {status === 'sending' && 'Sending…'}
        {status === 'sent' &&
          request !== undefined &&
          `${sentWords[request.decision]}. Waiting for the ledger to record it.`}
      </p>
      {gate.hasMoved && !isBusy && (
        <Alert>This just changed or moved. Check it again before you answer.</Alert>
      )}
      {error !== undefined && (
        <Alert>
          <ShownText text={error.message} />
        </Alert>
      )}
    </div>
  );
}

type Subject = {
  readonly call: ToolCallView;
  /** Rendered by the host in place of our blocks. */
  readonly shownArguments: ReactNode;
  readonly shownPreview: ReactNode;
};

/** The preview and the arguments that the answer is about. */
function SubjectBlock({ call, shownArguments, shownPreview }: Subject): ReactNode {
  const { preview, confirmation } = call;
  return (
    <>
      {preview === undefined && confirmation?.inputDigest !== undefined && (
        <ComparisonBlock comparison={confirmation.comparison} />
      )}
      {preview !== undefined && (
        <div>
          <p className="qt-label">Preview</p>
          {shownPreview === undefined ? (
            <PreviewBlock shown={preview} />
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
    </>
  );
}

const Alert = ({ children }: { readonly children: ReactNode }): ReactNode => (
  <p className="qt-error" role="alert">
    {children}
  </p>
);

/** Who asks, unless the card already says so, and the risks. */
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
