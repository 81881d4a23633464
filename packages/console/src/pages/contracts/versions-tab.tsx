import type { ReactNode } from 'react';
import type { ContractsVersion, ContractsVersions } from '@quittance/server/internal/http/api/contract';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf, goTo, useRoute } from '../../route.ts';
import { Empty } from '../../ui/empty.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { digestLabel } from '../../ui/digest-label.ts';
import { Skeleton } from '../../ui/skeleton.tsx';
import { TextDiff } from '../../ui/text-diff.tsx';
import { formatTime } from '../../ui/time.tsx';
import { compareVersions } from './compare-versions.ts';

/** The history of rules in force, from the ledger, with the changes of each version. */
export function VersionsTab({ current }: { readonly current: string | undefined }): ReactNode {
  const { data, error, reload } = useAnswer<ContractsVersions>('/v1/contracts/versions');
  const { query } = useRoute();
  const wanted = query.get('at');
  const compared = query.get('with');
  if (error !== undefined) return <Problem error={error} onRetry={reload} />;
  if (data === undefined) return <Skeleton rows={6} />;
  const { rows } = data;
  const index = Math.max(
    0,
    rows.findIndex(({ loadedAt }) => String(loadedAt) === wanted),
  );
  const shown = rows[index];
  if (shown === undefined)
    return (
      <Empty title="No versions yet">
        The ledger records every version of the rules, from the first runtime with contracts that uses it.
      </Empty>
    );
  return (
    <div className="versions">
      <nav className="card version-list" aria-label="Versions, newest first">
        <ol>
          {rows.map(({ policyVersion, loadedAt }, at) => (
            <li key={`${loadedAt} ${at}`}>
              <Link
                to={addressOf(['contracts', 'versions'], { at: String(loadedAt) })}
                aria-current={at === index ? 'true' : undefined}
              >
                <code>{digestLabel(policyVersion)}</code>
                {at === 0 && policyVersion === current && <span className="chip">in force</span>}
                <time className="muted" dateTime={new Date(loadedAt).toISOString()}>
                  {formatTime(loadedAt)}
                </time>
              </Link>
            </li>
          ))}
        </ol>
      </nav>
      <Version
        version={shown}
        before={
          compared === null
            ? rows[index + 1]
            : (rows.find(({ loadedAt }) => String(loadedAt) === compared) ?? rows[index + 1])
        }
        rows={rows}
      />
    </div>
  );
}

type VersionProps = {
  readonly version: ContractsVersion;
  /** The version that it is compared with. */
  readonly before: ContractsVersion | undefined;
  readonly rows: readonly ContractsVersion[];
};

function Version({ version, before, rows }: VersionProps): ReactNode {
  const changes = compareVersions(before?.documents ?? [], version.documents);
  return (
    <section className="card" aria-labelledby="version">
      <header>
        <h2 id="version">{before === undefined ? 'First version' : 'Changes'}</h2>
        {before !== undefined && (
          <label className="version-choice">
            <span className="muted">compared with</span>
            <select
              value={String(before.loadedAt)}
              onChange={(event) =>
                goTo(
                  addressOf(['contracts', 'versions'], {
                    at: String(version.loadedAt),
                    with: event.target.value,
                  }),
                )
              }
            >
              {rows
                .filter((row) => row !== version)
                .map(({ loadedAt, policyVersion }) => (
                  <option key={loadedAt} value={String(loadedAt)}>
                    {digestLabel(policyVersion)}, {formatTime(loadedAt)}
                  </option>
                ))}
            </select>
          </label>
        )}
      </header>
      <div className="body version-body">
        {changes.length === 0 && <p className="muted">No changes: the same documents were loaded again.</p>}
        {changes.map((change) => (
          <article key={change.name}>
            {change.how === 'unknown' ? (
              <p>
                <ForeignText text={change.name} />{' '}
                <span className="muted">differs. No source available: it was not loaded as text.</span>
              </p>
            ) : (
              <TextDiff name={change.name} before={change.before} after={change.after} />
            )}
          </article>
        ))}
      </div>
    </section>
  );
}
