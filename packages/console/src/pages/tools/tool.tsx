import type { ReactNode } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { ToolDetail, ToolRow } from '@quittance/server/internal/http/api/tool';
import type { Treatment } from 'quittance/internal/tool/mode';
import { defaultTreatments, toolModeTreatments } from 'quittance/internal/tool/mode';
import { pathOf } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf } from '../../route.ts';
import { RunButton } from '../../run-call/run-button.tsx';
import '../../styles/overview.css';
import '../../charts/charts.css';
import '../../styles/tools.css';
import { ForeignId, ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { modeOriginWords, modeWords } from '../../ui/mode-words.ts';
import { OutcomeBar } from '../../ui/outcome-bar.tsx';
import { isNotFound, Missing } from '../../ui/missing.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { digestLabel } from '../../ui/digest-label.ts';
import { Skeleton } from '../../ui/skeleton.tsx';
import { Cost } from '../../ui/cost.tsx';
import { formatDuration } from '../../ui/time.tsx';
import { Figure } from '../overview/figure.tsx';
import { CountOf, RankedList } from '../overview/ranked-list.tsx';
import { formatShare, toneOfShare } from './format-share.ts';
import { LatestCalls } from './latest-calls.tsx';
import { SchemaCard } from './schema-card.tsx';
import { SchemaHistory } from './schema-history.tsx';
import { ToolOverTime } from './tool-over-time.tsx';

export default function ToolPage({ toolName }: { readonly toolName: string }): ReactNode {
  const { data, error, reload } = useAnswer<ToolDetail>(pathOf('tools', toolName), {}, { everyMs: 10_000 });
  if (isNotFound(error))
    return (
      <>
        <PageHead title="Tool" />
        <Missing what="tool" id={toolName} to="/tools" list="All tools">
          The server has no tool of this name, and no call in this ledger used it.
        </Missing>
      </>
    );
  return (
    <>
      <nav aria-label="Breadcrumb">
        <Link to="/tools">Tools</Link>
      </nav>
      <PageHead
        title={<ForeignId id={toolName} />}
        about={data?.tool.description !== undefined && <ForeignText text={data.tool.description} />}
      >
        <RunButton label="Run…" request={{ toolName, input: {}, missing: [], repeats: undefined }} />
        <Link className="button" to={addressOf(['contracts', 'try'], { tool: toolName })}>
          Test the rules
        </Link>
        <Link className="button" to={addressOf(['calls'], { toolName })}>
          Calls
        </Link>
      </PageHead>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {data === undefined ? error === undefined && <Skeleton rows={8} /> : <Board detail={data} />}
    </>
  );
}

function Board({ detail: { tool, schema, codes, schemas } }: { readonly detail: ToolDetail }): ReactNode {
  const { errorRate, latency } = tool;
  const ended = tool.calls - tool.outcomes.open;
  return (
    <div className="tool-board">
      <div className="figures">
        <Figure label="Calls" value={tool.calls.toLocaleString()} note="in this ledger" />
        <Figure
          label="Error rate"
          value={formatShare(errorRate)}
          tone={errorRate === 0 ? 'good' : toneOfShare(errorRate)}
          note="of executed calls"
        />
        <Figure label="Latency p50" value={formatDuration(latency.p50Ms)} />
        <Figure
          label="Latency p95"
          value={formatDuration(latency.p95Ms)}
          note={`p99 ${formatDuration(latency.p99Ms)}`}
        />
        <Figure label="Cost" value={<Cost micros={tool.costMicros} />} />
      </div>
      <ToolOverTime toolName={tool.name} />
      <div className="grid-2">
        <section className="card">
          <header>
            <h2>Details</h2>
          </header>
          <div className="body">
            <About tool={tool} />
          </div>
        </section>
        <section className="card">
          <header>
            <h2>Outcomes</h2>
          </header>
          <div className="body">
            <OutcomeBar outcomes={tool.outcomes} legend />
            <RankedList
              none={tool.calls === 0 ? 'No calls yet.' : 'Every call succeeded.'}
              rows={codes.map(({ code, count }) => ({
                key: code,
                label: code,
                value: <CountOf count={count} of={ended} />,
                share: count / ended,
                to: addressOf(['calls'], { toolName: tool.name, code }),
                tone: 'quiet',
              }))}
            />
          </div>
        </section>
      </div>
      <LatestCalls toolName={tool.name} />
      <SchemaCard schema={schema} known={tool.known} />
      {schemas.length > 1 && <SchemaHistory toolName={safeId(tool.name)} versions={schemas} />}
    </div>
  );
}

const treatmentWords: { readonly [Of in Treatment]: string } = {
  run: 'runs',
  ask: 'asks a person',
  ask_unless_undo: 'asks a person, unless the tool has undo',
};

function About({ tool }: { readonly tool: ToolRow }): ReactNode {
  const { mode, modeOrigin, risk, known, handoff, schemaDigest, drifted } = tool;
  const { meaning } = toolModeTreatments[mode];
  return (
    <dl className="facts">
      <dt>Mode</dt>
      <dd>
        {modeWords[mode]} <span className="muted">({modeOriginWords[modeOrigin]})</span>
      </dd>
      <dt>Meaning</dt>
      <dd>{meaning}</dd>
      <dt>Risk</dt>
      <dd>{risk ?? 'none known'}</dd>
      <dt>By default</dt>
      <dd>{treatmentWords[defaultTreatments[mode]]}</dd>
      <dt>Executed by</dt>
      <dd>
        {known
          ? handoff
            ? 'a worker process, by hand-off'
            : 'the runtime of this server'
          : 'not a tool of this server: known only from the ledger'}
      </dd>
      <dt>Schema</dt>
      <dd>
        {schemaDigest === undefined ? (
          'unknown'
        ) : (
          <>
            <code title={schemaDigest}>{digestLabel(schemaDigest)}</code>{' '}
            {drifted ? (
              <span className="badge" data-tone="attention">
                changed since first use
              </span>
            ) : (
              <span className="muted">unchanged since first use</span>
            )}
          </>
        )}
      </dd>
    </dl>
  );
}
