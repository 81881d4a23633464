/** Two sessions compared: calls that ended or were decided differently first, then other outputs, then the rest. */
import type { ReactNode } from 'react';
import type {
  ComparedCall,
  ComparedValue,
  SessionComparison,
} from '@quittance/server/internal/http/api/session';
import { pathOf } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf } from '../../route.ts';
import { Empty } from '../../ui/empty.tsx';
import { ForeignId } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { isNotFound, removedOrElsewhere } from '../../ui/missing.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { ComparedCallCard, ComparedValues } from './compared-call.tsx';
import '../../styles/sessions.css';
import '../../styles/comparison.css';

type Props = { readonly a: string; readonly b: string };

export default function Comparison({ a, b }: Props): ReactNode {
  const { data, error, reload } = useAnswer<SessionComparison>(
    pathOf('sessions', a, 'compare'),
    { with: b },
    { everyMs: 5_000 },
  );
  return (
    <>
      <PageHead
        title="Compare sessions"
        about={
          <>
            <Link to={addressOf(['sessions', a])}>
              <ForeignId id={a} />
            </Link>{' '}
            with{' '}
            <Link to={addressOf(['sessions', b])}>
              <ForeignId id={b} />
            </Link>
          </>
        }
      >
        <Link className="button" to={addressOf(['sessions', b], { compare: a })}>
          Swap
        </Link>
      </PageHead>
      {isNotFound(error) ? (
        <Empty title="Session not found">
          At least one of the two sessions does not exist. {removedOrElsewhere}{' '}
          <Link to="/sessions">All sessions</Link>
        </Empty>
      ) : (
        error !== undefined && <Problem error={error} onRetry={reload} />
      )}
      {data === undefined ? error === undefined && <Skeleton rows={8} /> : <Compared comparison={data} />}
    </>
  );
}

const groups = [
  ['end', 'Other ends and decisions'],
  ['output', 'Other outputs'],
  ['other', 'Other differences'],
] as const;

function Compared({ comparison }: { readonly comparison: SessionComparison }): ReactNode {
  const { calls, moreCalls, workflows, circumstances } = comparison;
  return (
    <>
      <Summary comparison={comparison} />
      {groups.map(([weight, title]) => (
        <Group
          key={weight}
          title={title}
          calls={calls.filter((call) => call.weight === weight)}
          comparison={comparison}
        />
      ))}
      {moreCalls > 0 && (
        <p className="muted">
          {moreCalls.toLocaleString()} more calls differ. <code>quittance diff</code> lists all of them.
        </p>
      )}
      <Values title="Final workflow states" values={workflows} />
      <Values
        title="Circumstances"
        about="Principals, models and rule versions. They do not count as differences."
        values={circumstances}
      />
    </>
  );
}

function Summary({ comparison }: { readonly comparison: SessionComparison }): ReactNode {
  const { a, b, fork, identical, same, changed, onlyA, onlyB, comparedByKeptForm } = comparison;
  const isCut = [a, b].some(
    (each, index) =>
      each.compared < each.calls &&
      !(
        fork !== undefined &&
        fork.of === (index === 0 ? 'a' : 'b') &&
        each.compared + fork.position >= each.calls
      ),
  );
  const skipped = fork === undefined ? 0 : leftOut(comparison, fork);
  const large = a.large + b.large;
  return (
    <section className="card" aria-labelledby="comparison-summary">
      <header>
        <h2 id="comparison-summary">{identical ? 'No differences' : 'The sessions differ'}</h2>
      </header>
      <div className="body comparison-summary">
        <dl className="numbers">
          <Figure label="Same" value={same} />
          <Figure label="Changed" value={changed} />
          <Figure label="Only in the first" value={onlyA} />
          <Figure label="Only in the second" value={onlyB} />
        </dl>
        <ul className="muted">
          <li>Ids and times are ignored.</li>
          {skipped > 0 && (
            <li>
              {skipped.toLocaleString()} {skipped === 1 ? 'call' : 'calls'} before the fork{' '}
              {skipped === 1 ? 'was' : 'were'} not made again and {skipped === 1 ? 'is' : 'are'} not compared.
            </li>
          )}
          {isCut && (
            <li>
              Large sessions: only the newest {a.compared.toLocaleString()} of {a.calls.toLocaleString()} and{' '}
              {b.compared.toLocaleString()} of {b.calls.toLocaleString()} calls are compared.{' '}
              <code>quittance diff</code> compares all.
            </li>
          )}
          {large > 0 && <li>{large.toLocaleString()} calls are too large to compare here.</li>}
          {comparedByKeptForm > 0 && (
            <li>
              {comparedByKeptForm.toLocaleString()} calls have redacted arguments and were compared by their
              stored form.
            </li>
          )}
        </ul>
      </div>
    </section>
  );
}

/** Calls of the source before the fork that were not compared. */
const leftOut = (
  { a, b }: SessionComparison,
  { of, position }: NonNullable<SessionComparison['fork']>,
): number => {
  const source = of === 'a' ? a : b;
  return source.compared + position === source.calls ? position : 0;
};

const Figure = ({ label, value }: { readonly label: string; readonly value: number }): ReactNode => (
  <div>
    <dt>{label}</dt>
    <dd>{value.toLocaleString()}</dd>
  </div>
);

function Group({
  title,
  calls,
  comparison,
}: {
  readonly title: string;
  readonly calls: readonly ComparedCall[];
  readonly comparison: SessionComparison;
}): ReactNode {
  if (calls.length === 0) return null;
  return (
    <section className="comparison-group" aria-label={title}>
      <h2>
        {title} <span className="muted">{calls.length}</span>
      </h2>
      {calls.map((call) => (
        <ComparedCallCard
          key={`${call.a?.callId ?? ''} ${call.b?.callId ?? ''}`}
          call={call}
          comparison={comparison}
        />
      ))}
    </section>
  );
}

function Values({
  title,
  about,
  values,
}: {
  readonly title: string;
  readonly about?: string;
  readonly values: readonly ComparedValue[];
}): ReactNode {
  if (values.length === 0) return null;
  return (
    <section className="comparison-group" aria-label={title}>
      <h2>{title}</h2>
      {about !== undefined && <p className="muted">{about}</p>}
      <div className="card">
        <ComparedValues values={values} />
      </div>
    </section>
  );
}
