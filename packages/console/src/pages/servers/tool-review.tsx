/**
 * The review of one tool: everything that the model reads about it, what changed since the last answer, and the form.
 *
 * The page keeps showing the tool that it showed first. If the server changes it meanwhile, the page says so and takes
 * no answer. A person must not approve a text that appeared under their eyes.
 */
import type { ReactNode } from 'react';
import { useEffect, useRef, useState } from 'react';
import type {
  McpServerDetail,
  McpToolAnswer,
  McpToolDetail,
  McpToolRow,
} from '@quittance/server/internal/http/api/mcp';
import { pathOf } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf } from '../../route.ts';
import '../../styles/servers.css';
import '../../styles/tools.css';
import { Ago } from '../../ui/ago.tsx';
import { digestLabel } from '../../ui/digest-label.ts';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { modeWords } from '../../ui/mode-words.ts';
import { isNotFound, Missing } from '../../ui/missing.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { ReviewForm } from './review-form.tsx';
import { needsReview, ReviewBadge } from './server-state.tsx';
import { CallFigure } from './server-tools.tsx';
import { ToolDiff, ToolTexts } from './tool-texts.tsx';

type Props = { readonly serverId: string; readonly toolName: string };

export default function ToolReviewPage({ serverId, toolName }: Props): ReactNode {
  const path = pathOf('mcp', 'servers', serverId);
  const { data, error, reload } = useAnswer<McpToolDetail>(
    `${path}/tool`,
    { name: toolName },
    { everyMs: 3_000 },
  );
  const { shown, showNewest } = useShown(data);
  const isOutdated = data !== undefined && shown !== undefined && data.tool.digest !== shown.tool.digest;
  if (isNotFound(error) && shown === undefined)
    return (
      <>
        <PageHead title="Tool" />
        <Missing what="tool" id={toolName} to={addressOf(['servers', serverId])} list="Tools of this server">
          The server does not list it, or is not known to this ledger.
        </Missing>
      </>
    );
  return (
    <>
      <nav aria-label="Breadcrumb" className="crumbs">
        <Link to="/servers">Servers</Link>
        <Link to={addressOf(['servers', serverId])}>
          <ForeignId id={shown?.server.name ?? serverId} />
        </Link>
      </nav>
      <PageHead title={<ForeignId id={toolName} />}>
        {shown !== undefined && <ReviewBadge tool={shown.tool} />}
      </PageHead>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {shown === undefined ? (
        error === undefined && <Skeleton rows={8} />
      ) : (
        <Review
          // A newer version is another tool: nothing chosen for the old one counts for it.
          key={shown.tool.digest}
          detail={shown}
          isOutdated={isOutdated}
          onShowNewest={() => showNewest()}
          onAnswered={(next) => {
            showNewest(next);
            reload();
          }}
        />
      )}
    </>
  );
}

/** Follows the answer of the server as long as the tool is the same. */
function useShown(data: McpToolDetail | undefined): {
  readonly shown: McpToolDetail | undefined;
  readonly showNewest: (next?: McpToolDetail) => void;
} {
  const [held, setHeld] = useState<McpToolDetail>();
  useEffect(() => {
    if (data !== undefined && (held === undefined || data.tool.digest === held.tool.digest)) setHeld(data);
  }, [data, held]);
  return { shown: held, showNewest: (next) => setHeld(next ?? data) };
}

function Review({
  detail,
  isOutdated,
  onShowNewest,
  onAnswered,
}: {
  readonly detail: McpToolDetail;
  readonly isOutdated: boolean;
  readonly onShowNewest: () => void;
  readonly onAnswered: (next: McpToolDetail) => void;
}): ReactNode {
  const { server, tool, listed, approved, answer, history } = detail;
  const done = useRef<HTMLDivElement>(null);
  const [saved, setSaved] = useState(false);
  useEffect(() => {
    if (saved) done.current?.focus();
  }, [saved]);
  return (
    <div className="tool-board">
      {isOutdated && (
        <div className="problem" role="alert">
          <p>
            <strong>The server changed this tool while you looked at it.</strong> Your answer would be about
            an older text, so it is not accepted.
          </p>
          <button type="button" onClick={() => onShowNewest()}>
            Show the new version
          </button>
        </div>
      )}
      {tool.warnings.length > 0 && (
        <section className="card warning-card" data-tone="bad" aria-labelledby="notices">
          <header>
            <h2 id="notices">Notices</h2>
          </header>
          <ul className="body server-warnings">
            {tool.warnings.map(({ code, text }) => (
              <li key={code}>{text}</li>
            ))}
          </ul>
        </section>
      )}
      {tool.status === 'changed' && (
        <ToolDiff changed={tool.changed ?? 'tool'} before={approved} after={listed} answer={answer} />
      )}
      <Facts detail={detail} />
      <ToolTexts listed={listed} trusted={server.trusted} />
      <section className="card" aria-labelledby="answer">
        <header>
          <h2 id="answer">What may it do?</h2>
          <code className="muted" title={tool.digest}>
            {digestLabel(tool.digest)}
          </code>
        </header>
        <div ref={done} tabIndex={-1} className="review-done">
          {saved && <Saved serverId={server.serverId} tool={tool} />}
        </div>
        <ReviewForm
          detail={detail}
          isOutdated={isOutdated}
          onAnswered={(next) => {
            setSaved(true);
            onAnswered(next);
          }}
        />
      </section>
      <History history={history} />
    </div>
  );
}

/** Says what was saved, and leads to the next tool without an answer. */
function Saved({ serverId, tool }: { readonly serverId: string; readonly tool: McpToolRow }): ReactNode {
  const { data } = useAnswer<McpServerDetail>(pathOf('mcp', 'servers', serverId));
  const next = data?.tools.find((other) => needsReview(other) && other.name !== tool.name);
  return (
    <div className="verdict" data-tone="good" role="status">
      <p>
        <strong>Your answer is saved.</strong> Running gateways apply it within seconds.
      </p>
      <p>
        {next === undefined ? (
          <Link to={addressOf(['servers', serverId])}>All tools of the server</Link>
        ) : (
          <Link className="button" to={addressOf(['servers', serverId], { tool: next.name })}>
            Next tool: <ForeignId id={next.name} />
          </Link>
        )}
      </p>
    </div>
  );
}

const origins: { readonly [Origin in McpToolRow['origin']]: string } = {
  annotated: 'by the annotations of the server',
  inferred: 'inferred from its name',
  default: 'nothing is known about it',
};

function Facts({ detail: { tool, answer } }: { readonly detail: McpToolDetail }): ReactNode {
  const { proposed, origin, mode, asks, status } = tool;
  return (
    <section className="card" aria-labelledby="facts">
      <header>
        <h2 id="facts">Review</h2>
        <ReviewBadge tool={tool} />
      </header>
      <dl className="body facts">
        <dt>Proposed mode</dt>
        <dd>
          {modeWords[proposed]} <span className="muted">({origins[origin]})</span>
        </dd>
        <dt>Answer</dt>
        <dd>
          {status === 'unknown' || mode === undefined
            ? 'none yet'
            : status === 'blocked'
              ? 'blocked'
              : `${modeWords[mode]}${asks ? ', asks every time' : ''}`}
          {status !== 'unknown' && (
            <span className="muted">
              {answer === undefined ? ' by the configuration' : <Given answer={answer} />}
            </span>
          )}
        </dd>
        <dt>Calls</dt>
        <dd>
          <CallFigure tool={tool} count={tool.calls} /> calls,{' '}
          <CallFigure tool={tool} count={tool.errors} outcome="ToolFailure" /> errors,{' '}
          <CallFigure tool={tool} count={tool.timeouts} outcome="ToolTimeout" /> timed out
        </dd>
      </dl>
    </section>
  );
}

const Given = ({ answer: { by, identity, at } }: { readonly answer: McpToolAnswer }): ReactNode => (
  <>
    {' '}
    by <ForeignText text={by} />
    {identity !== undefined && (
      <>
        {' '}
        (<ForeignText text={identity} />)
      </>
    )}
    , <Ago at={at} />
  </>
);

const verdicts: { readonly [Verdict in McpToolAnswer['verdict']]: string } = {
  allow: 'allowed as',
  ask: 'asks every time, as',
  block: 'blocked',
  forgotten: 'answer withdrawn',
};

function History({ history }: { readonly history: readonly McpToolAnswer[] }): ReactNode {
  if (history.length === 0) return null;
  return (
    <section className="card" aria-labelledby="answers">
      <header>
        <h2 id="answers">Answers so far</h2>
      </header>
      <ul className="body schema-changes">
        {history.map((answer, index) => (
          <li key={index}>
            <span>
              {verdicts[answer.verdict]}{' '}
              {(answer.verdict === 'allow' || answer.verdict === 'ask') && modeWords[answer.mode]}
              <span className="muted">
                <Given answer={answer} />, <code title={answer.digest}>{digestLabel(answer.digest)}</code>
              </span>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
