import type { ReactNode } from 'react';
import { useRef, useState, useId } from 'react';
import { ShownText, ShownId, ExactText } from './shown-text.tsx';
import type { ToolCallView, ShownConfirmation } from 'quittance/internal/view/tool-call-view';
import type { AnswerKind } from './answer-form.tsx';
import { AnswerForm } from './answer-form.tsx';
import { ArgumentsBlock } from './arguments-block.tsx';
import { PreviewBlock } from './preview-block.tsx';
import type { Consent } from './use-consent.ts';
import { useReadingGate } from './use-reading-gate.ts';
import { remainingTime } from 'quittance/internal/view/remaining-time';
import type { ReadingGate } from './use-reading-gate.ts';
import { describeIdentity } from 'quittance/internal/call/describe-identity';
import { hasPolicy } from 'quittance/internal/call/quorum';
import { formatPath } from 'quittance/internal/base/json';
import { safeText } from 'quittance/internal/base/safe-text';
import type { ArtifactArgument, ArgumentComparison } from 'quittance/internal/call/event';
import { CodeBlock } from './code-block.tsx';
import type { ReadingProgress } from './use-reading.ts';

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
        <ComparisonBlock comparison={confirmation.comparison ?? 'none'} />
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

const openers: readonly { readonly kind: AnswerKind; readonly label: string }[] = [
  { kind: 'deny', label: 'Deny…' },
  { kind: 'edit', label: 'Edit…' },
  { kind: 'respond', label: 'Respond…' },
];

/** The buttons that answer the question, with the reason why approving is not possible yet. */
function AnswerBar({
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

const words = { approve: 'approved', edit: 'edited and approved', deny: 'denied' } as const;

/** Who has already said yes, and who is still missing. Nothing if any one person may decide. */
export function ApprovalProgress({
  confirmation,
}: {
  readonly confirmation: Pick<ShownConfirmation, 'asks' | 'votes' | 'fallen' | 'missing'>;
}): ReactNode {
  const { asks, votes, fallen, missing } = confirmation;
  if (!hasPolicy(asks)) return null;
  return (
    <section className="qt-approvals" aria-label="Approvals">
      <ul>
        {votes.map(({ decision, by }, index) => (
          <li key={index} data-vote={decision === 'deny' ? 'no' : 'yes'}>
            <strong>
              <ShownText text={by.name} />
            </strong>{' '}
            {words[decision]}
            {(by.behalf ?? []).map((each) => (
              <span key={each.delegation}>
                {' '}
                for <ShownText text={each.name} />
              </span>
            ))}{' '}
            <span className="qt-muted">
              <ShownText text={describeIdentity(by.identity)} />
            </span>
          </li>
        ))}
        {fallen.map(({ by, why }, index) => (
          <li key={`fallen ${index}`} data-vote="void">
            <strong>
              <ShownText text={by.name} />
            </strong>{' '}
            no longer counts: <ShownText text={why} />
          </li>
        ))}
        {missing.map(({ who, missing: count, quorum, ruleId }, index) => (
          <li key={`missing ${index}`} data-vote="missing">
            <strong>
              {count} of {quorum} missing:
            </strong>{' '}
            <ShownText text={who} />{' '}
            <span className="qt-muted">
              rule <ShownText text={ruleId} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The artifacts named in the arguments: the tool receives their content. */
export function ArtifactArguments({
  artifacts,
}: {
  readonly artifacts: readonly ArtifactArgument[];
}): ReactNode {
  return artifacts.map(({ path, artifactId, digest, sizeBytes, mimeType, preview, inPlace }) => (
    <div key={formatPath(path)} className="qt-artifact-argument">
      <p className="qt-note">
        <ShownText text={formatPath(path)} /> is the content of <ShownId id={artifactId} />: {sizeBytes}{' '}
        bytes, <ShownText text={mimeType} />, digest <code>{safeText(digest)}</code>.
        {!inPlace && ' The schema of the tool transformed it: the arguments above show the result.'}
      </p>
      <CodeBlock label={`Beginning of ${safeText(artifactId)}`} text={preview} />
    </div>
  ));
}

/** Replaces a missing preview: a comparison with an earlier call, or a note that there is none. */
export function ComparisonBlock({
  comparison,
}: {
  readonly comparison: ArgumentComparison | 'none';
}): ReactNode {
  if (comparison === 'none')
    return (
      <p className="qt-note">
        The tool has no preview, and there is no comparison with an earlier call on the same resource.
      </p>
    );
  const { callId, fields, more } = comparison;
  return (
    <>
      <p className="qt-note">
        The tool has no preview. Compared with call <ExactText text={callId} /> on the same resource
        {fields.length === 0 ? ': the arguments are the same.' : ':'}
      </p>
      {fields.length > 0 && (
        <PreviewBlock
          shown={{
            revision: 1,
            ready: true,
            preview: { kind: 'fields', fields },
            snapshot: {},
            expiresAt: undefined,
          }}
        />
      )}
      {more > 0 && <p className="qt-note">And {more.toLocaleString()} more differences.</p>}
    </>
  );
}

/** Says how much has been in view, and offers to decide without the rest. */
export function UnreadNote({
  id,
  reading: { lines, seen },
  isWaived,
  onWaive,
}: {
  readonly id: string;
  readonly reading: ReadingProgress;
  readonly isWaived: boolean;
  readonly onWaive: (isWaived: boolean) => void;
}): ReactNode {
  return (
    <div className="qt-unread">
      <p id={id}>
        {lines > 0
          ? `About ${seen.toLocaleString('en')} of ${lines.toLocaleString('en')} lines viewed.`
          : 'Not all of it has been viewed.'}{' '}
        To approve, scroll from start to end.
      </p>
      <label>
        <input
          type="checkbox"
          checked={isWaived}
          onChange={({ currentTarget }) => onWaive(currentTarget.checked)}
        />{' '}
        Continue without reading to the end
      </label>
    </div>
  );
}
