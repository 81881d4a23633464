import { describeDecider } from 'quittance/internal/call/describe-identity';
import type { ReactNode } from 'react';
import { useId } from 'react';
import { ShownId, ShownText } from './shown-text.tsx';
import { resolutionWords } from 'quittance/internal/view/status-words';
import { elapsedTime, remainingTime } from 'quittance/internal/view/remaining-time';
import type { ToolCallView, DisplayStatus, ShownAttempt } from 'quittance/internal/view/tool-call-view';
import { ArgumentsBlock } from './arguments-block.tsx';
import { ConsentPanel, ComparisonBlock } from './consent-panel.tsx';
import { Disclosure } from './disclosure.tsx';
import { PreviewBlock } from './preview-block.tsx';
import type { ToolCallHandlers, ToolCallParts, ToolCallSubject } from './tool-call-status.tsx';
import { ToolCallStatus } from './tool-call-status.tsx';
import { useRefocus } from './use-refocus.ts';
import type { Reading } from './use-tool-calls.ts';
import { reasonOf } from 'quittance/internal/call/reason';
import type { ToolMode, ToolModeOrigin } from 'quittance/internal/tool/mode';
import { toolModeTreatments } from 'quittance/internal/tool/mode';
import type { ToolRisk } from 'quittance/internal/tool/name-words';
import { userMessageOf } from 'quittance/internal/call/outcome';
import { CodeBlock, JsonBlock } from './code-block.tsx';
import { safeSentence } from 'quittance/internal/base/safe-id';
import { safeJson } from 'quittance/internal/base/safe-text';
import { outcomeTitle, outcomeWord } from 'quittance/internal/view/outcome-words';
import type { Undoing } from './use-undo.ts';

/** Parts of the card that the host renders. If a slot returns undefined, the card renders its own part. */
export type ToolCallSlots = {
  readonly arguments?: (call: ToolCallView) => ReactNode;
  readonly preview?: (call: ToolCallView) => ReactNode;
  readonly output?: (call: ToolCallView) => ReactNode;
  /** Below everything else. */
  readonly footer?: (call: ToolCallView) => ReactNode;
};

export type ToolCallCardProps = ToolCallSubject &
  ToolCallHandlers & {
    readonly slots?: ToolCallSlots | undefined;
    readonly className?: string | undefined;
    /** Overrides the system's color scheme. `data-quittance-theme` on an ancestor does the same. */
    readonly theme?: 'light' | 'dark' | undefined;
  };

/**
 * A card for one call: its status, preview, arguments and output, and the actions a person can take. Needs the styles
 * of `@quittance/react/react.css`.
 */
export function ToolCallCard(props: ToolCallCardProps): ReactNode {
  const { slots = {}, className, theme, ...rest } = props;
  const classes = ['qt-card', className].filter((name) => name !== undefined).join(' ');
  return (
    <ToolCallStatus
      {...rest}
      fallback={(reading) => <Waiting reading={reading} classes={classes} theme={theme} />}
    >
      {(parts) => <Card parts={parts} slots={slots} classes={classes} theme={theme} />}
    </ToolCallStatus>
  );
}

type Look = { readonly classes: string; readonly theme: 'light' | 'dark' | undefined };

function Card({
  parts,
  slots,
  classes,
  theme,
}: Look & { readonly parts: ToolCallParts; readonly slots: ToolCallSlots }): ReactNode {
  const { call, consent, undoing, now, label, tone, sentence, error } = parts;
  const nameId = useId();
  const heading = useRefocus(consent !== undefined);
  const name = call.displayName || call.toolName || 'Tool call';
  return (
    <article
      className={classes}
      aria-labelledby={nameId}
      aria-busy={call.status === 'running'}
      data-status={call.status}
      data-tone={tone}
      data-quittance-theme={theme}
    >
      <header className="qt-head">
        <StatusIcon status={call.status} />
        <div className="qt-title">
          <p className="qt-name" id={nameId} ref={heading} tabIndex={-1}>
            <ShownId id={name} />
          </p>
          <p className="qt-meta">
            <ModeChip mode={call.mode} origin={call.modeOrigin} risk={call.risk} />
            <span className="qt-call-id">
              <ShownId id={call.callId} />
            </span>
            <Elapsed call={call} />
          </p>
        </div>
        <p className="qt-pill">{label}</p>
      </header>
      <p className="qt-hidden" role="status">
        <ShownText text={parts.announcement} />
      </p>
      {sentence !== undefined && (
        <p className="qt-sentence">
          <ShownText text={sentence} />
        </p>
      )}
      <Doubt call={call} />
      <AdviceLine call={call} />
      {consent !== undefined ? (
        <ConsentPanel
          key={consent.confirmation.confirmationId}
          call={call}
          consent={consent}
          now={now}
          shownArguments={slots.arguments?.(call)}
          shownPreview={slots.preview?.(call)}
        />
      ) : (
        <>
          {call.preview !== undefined && (
            <Disclosure title="Preview">
              {slots.preview?.(call) ?? <PreviewBlock shown={call.preview} />}
            </Disclosure>
          )}
          {call.comparison !== undefined && (
            <Disclosure title="Compared with the last call">
              <ComparisonBlock comparison={call.comparison} />
            </Disclosure>
          )}
          <Disclosure title="Arguments">
            {slots.arguments?.(call) ?? <ArgumentsBlock call={call} />}
          </Disclosure>
        </>
      )}
      {slots.output?.(call) ?? <OutputBlock call={call} />}
      <TrailBlock call={call} />
      {undoing !== undefined && <UndoBar undoing={undoing} now={now} />}
      {slots.footer?.(call)}
      {error !== undefined && <Trouble error={error} retry={parts.retry} />}
    </article>
  );
}

function Elapsed({ call: { outcome, settledAt } }: { readonly call: ToolCallView }): ReactNode {
  if (settledAt === undefined || outcome === undefined || !('elapsedMs' in outcome)) return null;
  return <span>{elapsedTime(outcome.elapsedMs)}</span>;
}

/** Doubt about the effect of the call, late results, and the resolution. */
function Doubt({ call: { unresolved, resolution, late } }: { readonly call: ToolCallView }): ReactNode {
  const came = late.at(-1);
  return (
    <>
      {unresolved && (
        <p className="qt-doubt">
          The call may have taken effect. Check this before you retry it, and record the result.
        </p>
      )}
      {came !== undefined && (
        <p className="qt-doubt">
          <ShownText
            text={
              came.result.type === 'returned'
                ? `A result arrived after the deadline, ${elapsedTime(came.elapsedMs)} after the start. It does not change the outcome.`
                : `It failed after its deadline: ${came.result.error}`
            }
          />
        </p>
      )}
      {resolution !== undefined && (
        <p className="qt-doubt">
          <ShownText
            text={`Resolved by ${describeDecider(resolution.by)}: ${resolutionWords[resolution.resolution].toLowerCase()}${resolution.reason === undefined ? '.' : `. ${resolution.reason}`}`}
          />
        </p>
      )}
    </>
  );
}

function Waiting({ reading, classes, theme }: Look & { readonly reading: Reading }): ReactNode {
  if (reading.error !== undefined)
    return (
      <div className={classes} data-tone="bad" data-quittance-theme={theme}>
        <Trouble error={reading.error} retry={reading.retry} />
      </div>
    );
  return (
    <div className={`${classes} qt-waiting`} data-tone="quiet" data-quittance-theme={theme}>
      <p className="qt-sentence">
        {reading.hasEnded ? 'This call was not found.' : 'Waiting for this call…'}
      </p>
    </div>
  );
}

/** The shown state stays, but updates are missing. */
function Trouble({ error, retry }: { readonly error: Error; readonly retry: () => void }): ReactNode {
  return (
    <div className="qt-trouble" role="alert">
      <p>
        Updates stopped: <ShownText text={error.message} />
      </p>
      <button type="button" className="qt-button" onClick={retry}>
        Retry
      </button>
    </div>
  );
}

/** Reason code of an unsuccessful call, and what to do about it. */
function AdviceLine({ call: { outcome, confirmation } }: { readonly call: ToolCallView }): ReactNode {
  if (outcome === undefined || !('code' in outcome)) return null;
  const { code } = outcome;
  return (
    <p className="qt-advice">
      <code>{code}</code>{' '}
      {code === 'confirmation.answered' && confirmation?.response !== undefined ? (
        <ShownText text={`Response for the model: ${confirmation.response}`} />
      ) : (
        // The reason table is written for Markdown.
        reasonOf(code).whatToDo.replaceAll('`', '')
      )}
    </p>
  );
}

const modeWords: { readonly [Mode in ToolMode]: string } = {
  read: 'read',
  safe_write: 'safe write',
  destructive: 'destructive',
  local: 'local',
  external: 'external',
};

const originWords: { readonly [Origin in ToolModeOrigin]: string } = {
  declared: 'declared',
  inferred: 'inferred from name',
  default: 'default',
};

type ModeChipProps = {
  readonly mode: ToolMode;
  readonly origin: ToolModeOrigin;
  readonly risk: ToolRisk | undefined;
};

/** The mode of a tool, its origin, and its risk if one is known. */
function ModeChip({ mode, origin, risk }: ModeChipProps): ReactNode {
  return (
    <span className="qt-mode" data-mode={mode} title={toolModeTreatments[mode].meaning}>
      {modeWords[mode]} <span className="qt-origin">({originWords[origin]})</span>
      {risk !== undefined && <span className="qt-origin"> risk: {risk}</span>}
    </span>
  );
}

/** The output of a call. */
function OutputBlock({ call: { outcome } }: { readonly call: ToolCallView }): ReactNode {
  switch (outcome?.type) {
    case undefined:
      return null;
    case 'ToolExecutionResult':
      return (
        <Disclosure title="Output">
          {typeof outcome.output === 'string' ? (
            <CodeBlock label="Output" text={outcome.output} />
          ) : (
            <JsonBlock label="Output" value={outcome.output} />
          )}
          <Files files={outcome.files} />
        </Disclosure>
      );
    case 'ToolArtifactReference':
      return (
        <Disclosure title={`Large output (${size(outcome.sizeBytes)})`}>
          <CodeBlock label="Beginning of the output" text={outcome.summary} />
          <p className="qt-note">
            Artifact{' '}
            <code>
              <ShownId id={outcome.artifactId} />
            </code>
          </p>
          <Files files={outcome.files} />
        </Disclosure>
      );
    case 'ToolFailure':
      // The card shows the tool's message for the user. This block shows its error for the developer.
      return userMessageOf(outcome) === undefined ? null : (
        <Disclosure title="Error">
          <CodeBlock label="Error" text={outcome.error} />
        </Disclosure>
      );
    case 'ToolTimeout':
    case 'ToolDenied':
      return null;
  }
}

function Files({
  files = [],
}: {
  readonly files?:
    | readonly { artifactId: string; mimeType: string; sizeBytes: number; name?: string }[]
    | undefined;
}): ReactNode {
  if (files.length === 0) return null;
  return (
    <ul className="qt-files">
      {files.map(({ artifactId, mimeType, sizeBytes, name }) => (
        <li key={artifactId}>
          <ShownText text={name ?? artifactId} />{' '}
          <span className="qt-note">
            <ShownText text={mimeType} />, {size(sizeBytes)}
          </span>
        </li>
      ))}
    </ul>
  );
}

const size = (bytes: number): string =>
  bytes < 1_000
    ? `${bytes} B`
    : bytes < 1_000_000
      ? `${(bytes / 1_000).toFixed(1)} kB`
      : `${(bytes / 1_000_000).toFixed(1)} MB`;

/** Every status has its own shape, so that color is never the only difference. */
const shapes: { readonly [Status in DisplayStatus]: ReactNode } = {
  requested: <path d="M8 4.5v3.8l2.4 1.5" />,
  held: <path d="M6.2 5v6M9.8 5v6" />,
  running: <path className="qt-spin" d="M8 3.6a4.4 4.4 0 1 1-4.4 4.4" />,
  succeeded: <path d="m4.8 8.3 2.2 2.2 4.2-4.6" />,
  failed: <path d="m5.5 5.5 5 5m0-5-5 5" />,
  denied: <path d="M4.6 8h6.8" />,
  timed_out: <path d="M5.2 4.2h5.6L5.2 11.8h5.6z" />,
  indeterminate: <path d="M6.1 6.3a1.9 1.9 0 1 1 2.7 1.8c-.6.3-.8.6-.8 1.2M8 11.4v.1" />,
  undone: <path d="M5 7h4.2a2.1 2.1 0 0 1 0 4.2H6.6M6.8 4.9 4.7 7l2.1 2.1" />,
};

/** Icon for a status; the label next to it says the same. */
function StatusIcon({ status }: { readonly status: DisplayStatus }): ReactNode {
  return (
    <span className="qt-icon" aria-hidden="true">
      <svg
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      >
        {shapes[status]}
      </svg>
    </span>
  );
}

/** Destinations of an external tool, the log, and the attempts if there were several. */
function TrailBlock({ call }: { readonly call: ToolCallView }): ReactNode {
  const { attempts, reached, log, startedAt } = call;
  return (
    <>
      {reached.length > 0 && (
        <div className="qt-reached">
          <span className="qt-label">Reached</span>
          <ul>
            {reached.map((place) => (
              <li key={place}>
                <ShownText text={place} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {attempts.length > 1 && (
        <Disclosure title={`${attempts.length} attempts`}>
          <ol className="qt-attempts">
            {attempts.map((attempt) => (
              <li key={attempt.attempt}>
                <ShownText text={attemptWords(attempt)} />
              </li>
            ))}
          </ol>
        </Disclosure>
      )}
      {log.length > 0 && (
        <Disclosure title={`Log (${log.length})`}>
          <ol className="qt-log">
            {log.map(({ at, message, fields }, index) => (
              <li key={index}>
                {startedAt !== undefined && <span className="qt-when">+{elapsedTime(at - startedAt)}</span>}
                <span>
                  <ShownText text={message} />
                  {fields !== undefined && <span className="qt-note"> {safeSentence(safeJson(fields))}</span>}
                </span>
              </li>
            ))}
          </ol>
        </Disclosure>
      )}
    </>
  );
}

function attemptWords({ outcome }: ShownAttempt): string {
  switch (outcome?.type) {
    case undefined:
      return 'Running';
    case 'ToolExecutionResult':
    case 'ToolArtifactReference':
      return `${outcomeTitle('succeeded')} after ${elapsedTime(outcome.elapsedMs)}`;
    case 'ToolTimeout':
      return `${outcomeTitle('timed_out')} after ${elapsedTime(outcome.elapsedMs)}`;
    case 'ToolFailure':
      return `${outcomeTitle(outcomeWord(outcome))}: ${outcome.error}`;
    case 'ToolDenied':
      return `${outcomeTitle('denied')}: ${outcome.details}`;
  }
}

/** Shown while the call can be undone. */
function UndoBar({
  undoing: { status, error, until, undo },
  now,
}: {
  readonly undoing: Undoing;
  readonly now: number | undefined;
}): ReactNode {
  const left = until === undefined || now === undefined ? undefined : until - now;
  return (
    <div className="qt-undo">
      <p>
        {status === 'sending'
          ? 'Undoing…'
          : status === 'sent'
            ? 'Undo requested.'
            : left === undefined
              ? 'This can be undone.'
              : left > 0
                ? `This can be undone for another ${remainingTime(left)}.`
                : 'The undo period has ended.'}
      </p>
      {error !== undefined && (
        <p className="qt-error" role="alert">
          <ShownText text={error.message} />
        </p>
      )}
      <button
        type="button"
        className="qt-button"
        aria-disabled={status !== 'ready'}
        onClick={({ detail }) => {
          // The second click of a double click was meant for the previous content.
          if (detail <= 1) undo();
        }}
      >
        Undo
      </button>
    </div>
  );
}
