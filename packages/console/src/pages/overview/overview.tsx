import type { ReactNode } from 'react';
import type { CallPage } from '@quittance/server/internal/http/api/call';
import type { Stats } from '@quittance/server/internal/http/api/stats';
import { useAnswer } from '../../api/use-answer.ts';
import { useStats } from '../../api/use-stats.ts';
import { formatNumber } from '../../charts/scale.ts';
import { OutcomesChart } from '../../charts/outcomes-chart.tsx';
import '../../styles/overview.css';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { isLongestSpan } from '../../ui/find-span.ts';
import { SpanPicker, useSpan } from '../../ui/span-picker.tsx';
import { Cost } from '../../ui/cost.tsx';
import { Age, formatDuration, formatTime } from '../../ui/time.tsx';
import { callsSince } from './calls-address.ts';
import { Card } from './card.tsx';
import { Figure } from './figure.tsx';
import { ReasonList } from './reason-list.tsx';
import { RuleStops } from './rule-stops.tsx';
import { ToolCards } from './tool-cards.tsx';
import { WaitingList } from './waiting-list.tsx';

const firstSnippet = `import { createRuntime, defineTool } from 'quittance';
import { openLedger } from 'quittance/ledger';

const ledger = await openLedger('.quittance/ledger.db');
const hello = defineTool({ name: 'get_hello', run: () => 'hello' });
const runtime = createRuntime({ tools: [hello], ledger });
await runtime.turn({ sessionId: 's1' }).call({ id: 'c1', name: 'get_hello', arguments: {} });`;

export default function Overview(): ReactNode {
  const span = useSpan('1h');
  const stats = useStats(span?.ms);
  return (
    <>
      <PageHead title="Overview" about="Outcomes of the calls in this ledger, and calls that need a person.">
        {span && <SpanPicker span={span} />}
      </PageHead>
      {stats.error !== undefined && <Problem error={stats.error} onRetry={stats.reload} />}
      {stats.data === undefined ? (
        stats.error === undefined && <Skeleton rows={8} />
      ) : (
        <Board stats={stats.data} canBeLonger={!isLongestSpan(span?.key)} />
      )}
    </>
  );
}

/** No calls in the period: older ones, or none at all. */
function NoCalls({ canBeLonger }: { readonly canBeLonger: boolean }): ReactNode {
  const newest = useAnswer<CallPage>('/v1/calls', { limit: 1 });
  if (newest.error !== undefined) return <Problem error={newest.error} onRetry={newest.reload} />;
  if (newest.data === undefined) return <Skeleton rows={8} />;
  const [call] = newest.data.rows;
  if (call === undefined)
    return (
      <Empty title="No calls yet" snippet={firstSnippet}>
        Calls appear here as soon as an agent makes one through this ledger. Make a first call:
      </Empty>
    );
  return (
    <Empty title="No calls in this period">
      The newest call is from {formatTime(call.requestedAt)}.{' '}
      {canBeLonger && 'Choose a longer period above, or list '}
      <Link to="/calls">{canBeLonger ? 'all calls' : 'List all calls'}</Link>.
    </Empty>
  );
}

function Board({ stats, canBeLonger }: { readonly stats: Stats; readonly canBeLonger: boolean }): ReactNode {
  const { totals, now } = stats;
  const callsAt = callsSince(stats.since);
  const ended = totals.calls - totals.open;
  if (totals.calls === 0 && now.held + now.open + now.unresolved === 0)
    return <NoCalls canBeLonger={canBeLonger} />;
  return (
    <>
      <Figures stats={stats} />
      <Card title="Waiting now" link={<Link to="/inbox">Inbox</Link>}>
        <WaitingList now={now} />
      </Card>
      <Card title="Outcomes over time" link={<Link to={callsAt({})}>Calls</Link>}>
        {totals.calls === 0 ? (
          <p className="muted">No calls in this period.{canBeLonger && ' Choose a longer one above.'}</p>
        ) : (
          <OutcomesChart
            title="Outcomes over time"
            stats={stats}
            toOf={(from, to) => callsSince(Math.max(from, stats.since), to)({})}
          />
        )}
      </Card>
      <div className="grid-2">
        <Card title="Why calls fail" link={<Link to="/tools">All tools</Link>}>
          <ReasonList
            none={ended === 0 ? 'No call ended in this period.' : 'No call failed in this period.'}
            codes={stats.codes.filter(({ denied }) => !denied)}
            {...{ of: ended, callsAt }}
          />
        </Card>
        <Card title="Stopped calls" link={<Link to="/contracts">Rules</Link>}>
          <ReasonList
            none="No call was denied in this period."
            codes={stats.codes.filter(({ denied }) => denied)}
            {...{ of: ended, callsAt }}
          />
          <RuleStops rules={stats.rules} callsAt={callsAt} />
        </Card>
        <ToolCards stats={stats} callsAt={callsAt} />
      </div>
    </>
  );
}

/** The key figures at the top of the page. */
function Figures({ stats }: { readonly stats: Stats }): ReactNode {
  const { totals, now, latency, since } = stats;
  const callsAt = callsSince(since);
  const ended = totals.calls - totals.open;
  const broken = totals.failed + totals.timedOut + totals.indeterminate;
  return (
    <div className="figures">
      <Figure label="Calls" value={formatNumber(totals.calls)} to={callsAt({})} />
      <Figure
        label="Error rate"
        value={ended === 0 ? '–' : `${((100 * broken) / ended).toFixed(1)} %`}
        tone={ended === 0 ? 'quiet' : broken > 0 ? 'bad' : 'good'}
        note={broken === 0 ? undefined : `${formatNumber(broken)} of ${formatNumber(ended)}`}
        to={callsAt({ errors: 'true' })}
      />
      <Figure
        label="Awaiting approval"
        value={formatNumber(now.held)}
        tone={now.held > 0 ? 'attention' : 'quiet'}
        note={<Longest at={now.waiting[0]?.askedAt} />}
        to="/inbox"
        approximate={!now.exact}
      />
      <Figure
        label="To reconcile"
        value={formatNumber(now.unresolved)}
        tone={now.unresolved > 0 ? 'unsure' : 'quiet'}
        note={<Longest at={now.doubtful[0]?.requestedAt} />}
        to="/reconcile"
        approximate={!now.exact}
      />
      <Figure
        label="Latency p95"
        value={formatDuration(latency.p95Ms)}
        note={`p50 ${formatDuration(latency.p50Ms)}`}
        to="/tools"
      />
      <Figure label="Cost" value={<Cost micros={totals.costMicros} />} to={callsAt({})} />
    </div>
  );
}

const Longest = ({ at }: { readonly at: number | undefined }): ReactNode =>
  at === undefined ? null : (
    <>
      longest <Age at={at} />
    </>
  );
