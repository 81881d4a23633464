import type { ReactNode } from 'react';
import type { ContractsInForce, RuleHits } from '@quittance/server/internal/http/api/contract';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf, goTo, useRoute } from '../../route.ts';
import { Ago } from '../../ui/ago.tsx';
import { Empty } from '../../ui/empty.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Problem } from '../../ui/problem.tsx';
import { findRules, joinHits } from './join-hits.ts';
import { OtherHits } from './other-hits.tsx';
import { RuleTable } from './rule-table.tsx';
import { firstRules } from './first-rules.ts';

/** The rules in force and their recent hits. */
export function RulesTab({ inForce }: { readonly inForce: ContractsInForce }): ReactNode {
  const { query } = useRoute();
  const hits = useAnswer<RuleHits>('/v1/contracts/hits', {}, { everyMs: 10_000 });
  const search = query.get('search') ?? '';
  const { rules, others } = joinHits(inForce.rules, hits.data);
  const found = findRules(rules, search);
  if (!inForce.loaded)
    return (
      <Empty title="No rules in force" snippet={firstRules}>
        Without rules, only tool modes, budgets and guards apply. Save this as <code>contracts.yaml</code> and
        start the server with <code>quittance serve --contracts contracts.yaml</code>:
      </Empty>
    );
  return (
    <>
      <div className="rules-bar">
        <input
          type="search"
          data-search
          aria-label="Find rules by name, tool, action, message or tag"
          placeholder="Find rules"
          value={search}
          onChange={(event) =>
            goTo(addressOf(['contracts'], { search: event.target.value }), { replace: true })
          }
        />
        {hits.data !== undefined && (
          <p className="muted">
            {describeCounted(hits.data.calls)}
            {hits.data.since !== undefined && hits.data.calls > 1 && (
              <>
                , the oldest from <Ago at={hits.data.since} />
              </>
            )}
            . A rule in observe mode only records what it would have done.
          </p>
        )}
      </div>
      {hits.error !== undefined && <Problem error={hits.error} onRetry={hits.reload} />}
      {found.length === 0 ? (
        <Empty title="No matching rules">
          {rules.length === 0
            ? 'The documents in force contain no rules, only workflows or tool facts.'
            : 'No name, tool, action, message or tag matches the search.'}
        </Empty>
      ) : (
        <RuleTable rows={found} counted={hits.data !== undefined} />
      )}
      {inForce.workflows.length > 0 && (
        <section className="card" aria-labelledby="workflows">
          <header>
            <h2 id="workflows">Workflows</h2>
          </header>
          <ul className="body rule-tags">
            {inForce.workflows.map((name) => (
              <li key={name} className="chip">
                <ForeignText text={name} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {others.length > 0 && <OtherHits hits={others} />}
      {inForce.report !== undefined && <Report report={inForce.report} />}
    </>
  );
}

type ReportProps = { readonly report: NonNullable<ContractsInForce['report']> };

/** The result of composing several documents. */
function Report({ report: { overridden, candidates, warnings } }: ReportProps): ReactNode {
  if (overridden.length + candidates.length + warnings.length === 0) return null;
  return (
    <section className="card" aria-labelledby="composition">
      <header>
        <h2 id="composition">Composition of the documents</h2>
      </header>
      <ul className="body rule-notes">
        {overridden.map(({ id, from, by }, index) => (
          <li key={`overridden ${index}`}>
            <code>
              <ForeignText text={id} />
            </code>{' '}
            of <ForeignText text={from} /> is overridden by <ForeignText text={by} />.
          </li>
        ))}
        {candidates.map(({ id, from }, index) => (
          <li key={`candidate ${index}`}>
            <code>
              <ForeignText text={id} />
            </code>{' '}
            of <ForeignText text={from} /> is a candidate: it only records what it would have done.
          </li>
        ))}
        {warnings.map((warning, index) => (
          <li key={`warning ${index}`}>
            <ForeignText text={warning} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const describeCounted = (calls: number): string =>
  calls === 0
    ? 'No calls yet'
    : `Hits in ${calls === 1 ? 'one call' : `the newest ${calls.toLocaleString()} calls`}`;
