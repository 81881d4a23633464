import type { ReactNode } from 'react';
import { Fragment } from 'react';
import type { JsonValue } from 'quittance/internal/base/json';
import type { CallEvent } from 'quittance/internal/call/event';
import { prettyJson } from 'quittance/internal/view/pretty-json';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { TextDiff } from '../../ui/text-diff.tsx';
import { digestLabel } from '../../ui/digest-label.ts';
import type { InputPath, InputStage } from './input-stages.ts';
import { toInputPath } from './input-stages.ts';
import { ValueBlock } from '../../ui/value-block.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';

/** The arguments at every stage, with the changes between stages. Shows whether the approved arguments ran. */
export function InputPanel({ events }: { readonly events: readonly CallEvent[] }): ReactNode {
  const path = toInputPath(events);
  const { stages, changes, hidden } = path;
  const there = stages.filter(({ status }) => status !== 'none');
  const last = there.at(-1);
  return (
    <div className="inputs">
      <ol className="stages">
        {stages.map((stage) => (
          <li key={stage.name} data-status={stage.status}>
            <strong>{stage.name}</strong>
            <span className="muted">
              <ForeignText text={stage.note} />
            </span>
            {stage.digest === undefined ? (
              <span className="muted">–</span>
            ) : (
              <span className="digest">
                <code title={stage.digest}>{digestLabel(stage.digest)}</code>
                <CopyButton text={stage.digest} label={`Copy digest of the ${stage.name} arguments`} />
              </span>
            )}
          </li>
        ))}
      </ol>
      <MatchBadge path={path} />
      {there.slice(1).map((stage, index) => (
        <Change key={stage.name} before={there[index]} after={stage} />
      ))}
      {changes.length > 0 && (
        <ul className="changes">
          {changes.map(({ path, rule }, index) => (
            <li key={index}>
              <code>
                <ForeignText text={path} />
              </code>{' '}
              <span className="muted">
                <ForeignText text={rule} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {last?.value !== undefined && (
        <>
          <h3>
            {there.some(({ status }, at) => at > 0 && status === 'there')
              ? `Arguments (${last.name})`
              : 'Arguments'}
          </h3>
          <ValueBlock label={`Arguments (${last.name})`} value={last.value} />
        </>
      )}
      {hidden.length > 0 && (
        <p className="muted">
          Hidden values:{' '}
          {hidden.map((path, index) => (
            <Fragment key={path}>
              {index > 0 && ', '}
              <code>
                <ForeignText text={path} />
              </code>
            </Fragment>
          ))}
          . They are encrypted, and the tool receives the real values.
        </p>
      )}
    </div>
  );
}

/** Did the approved arguments run? If no one approved, did the requested arguments run? */
function MatchBadge({ path: { isAsApproved, isAsRequested } }: { readonly path: InputPath }): ReactNode {
  if (isAsRequested === undefined) return null;
  const [tone, text] =
    isAsApproved === true
      ? (['good', 'The executed arguments match the approved ones'] as const)
      : isAsApproved === false
        ? (['bad', 'The executed arguments differ from the approved ones'] as const)
        : isAsRequested
          ? (['good', 'The executed arguments match the requested ones'] as const)
          : (['active', 'The requested arguments were changed before execution, as shown'] as const);
  return (
    <p className="badge match" data-tone={tone}>
      <Icon name={tone === 'bad' ? 'close' : 'check'} />
      {text}
    </p>
  );
}

function Change({
  before,
  after,
}: {
  readonly before: InputStage | undefined;
  readonly after: InputStage;
}): ReactNode {
  if (before?.value === undefined || after.value === undefined) return null;
  const [one, other] = [toText(before.value), toText(after.value)];
  if (one === other) return null;
  return <TextDiff name={`${before.name} → ${after.name}`} before={one} after={other} />;
}

const toText = (value: JsonValue): string => (typeof value === 'string' ? value : prettyJson(value));
