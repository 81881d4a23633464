import type { ReactNode } from 'react';
import type { ContractsVersion, ContractsVersions } from '../../../../src/http/api/contract.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf, useRoute } from '../../route.ts';
import { Empty } from '../../ui/empty.tsx';
import { ForeignText } from '../../ui/foreign-text.tsx';
import { Link } from '../../ui/link.tsx';
import { Problem } from '../../ui/problem.tsx';
import { shortDigest } from '../../ui/short-digest.ts';
import { Skeleton } from '../../ui/skeleton.tsx';
import { TextDiff } from '../../ui/text-diff.tsx';
import { formatTime } from '../../ui/time.tsx';
import { compareVersions } from './compare-versions.ts';

/** Which rules were in force, from the ledger, and what changed from one to the next. */
export function VersionsTab({ current }: { readonly current: string | undefined }): ReactNode {
  const { data, error, reload } = useAnswer<ContractsVersions>('/v1/contracts/versions');
  const wanted = useRoute().query.get('at');
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
      <Empty title="No rules have come into force yet">
        The ledger keeps which rules came into force and when, from the first time a runtime with contracts
        uses it.
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
                <code>{shortDigest(policyVersion)}</code>
                {at === 0 && policyVersion === current && <span className="chip">in force</span>}
                <time className="muted" dateTime={new Date(loadedAt).toISOString()}>
                  {formatTime(loadedAt)}
                </time>
              </Link>
            </li>
          ))}
        </ol>
      </nav>
      <Version version={shown} before={rows[index + 1]} />
    </div>
  );
}

type VersionProps = { readonly version: ContractsVersion; readonly before: ContractsVersion | undefined };

function Version({ version, before }: VersionProps): ReactNode {
  const changes = compareVersions(before?.documents ?? [], version.documents);
  return (
    <section className="card" aria-labelledby="version">
      <header>
        <h2 id="version">{before === undefined ? 'The first version' : 'What changed'}</h2>
        <code className="muted" title={version.policyVersion}>
          {shortDigest(version.policyVersion)}
        </code>
      </header>
      <div className="body version-body">
        {changes.length === 0 && (
          <p className="muted">
            The same documents as before: they were read again, and came into force again.
          </p>
        )}
        {changes.map((change) => (
          <article key={change.name}>
            {change.how === 'unknown' ? (
              <p>
                <ForeignText text={change.name} />{' '}
                <span className="muted">differs, and its text is not kept: it did not come as text.</span>
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
