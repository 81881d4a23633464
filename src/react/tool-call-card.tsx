import { describeDecider } from '../call/describe-identity.ts';
import type { ReactNode } from 'react';
import { useId } from 'react';
import { ShownId, ShownText } from './shown-text.tsx';
import { resolutionWords } from '../view/status-words.ts';
import { elapsedTime } from '../view/remaining-time.ts';
import type { ToolCallView } from '../view/tool-call-view.ts';
import { AdviceLine } from './advice-line.tsx';
import { ArgumentsBlock } from './arguments-block.tsx';
import { ConsentPanel } from './consent-panel.tsx';
import { Disclosure } from './disclosure.tsx';
import { ModeChip } from './mode-chip.tsx';
import { OutputBlock } from './output-block.tsx';
import { PreviewBlock } from './preview-block.tsx';
import { StatusIcon } from './status-icon.tsx';
import type { ToolCallHandlers, ToolCallParts, ToolCallSubject } from './tool-call-status.tsx';
import { ToolCallStatus } from './tool-call-status.tsx';
import { TrailBlock } from './trail-block.tsx';
import { UndoBar } from './undo-bar.tsx';
import { useRefocus } from './use-refocus.ts';
import type { Reading } from './use-tool-calls.ts';

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
 * of `quittance/react.css`.
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
            <ModeChip mode={call.mode} origin={call.modeOrigin} />
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
