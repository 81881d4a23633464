import type { ReactNode } from 'react';
import { useState } from 'react';
import { useJob } from '../../api/use-job.ts';
import { useMay } from '../../api/use-me.ts';
import '../../styles/integrity.css';
import { CommandLine } from '../../ui/command-line.tsx';
import { JobProgress } from '../../ui/job-progress.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { AnchorField } from './anchor-field.tsx';
import { ExportCard } from './export-card.tsx';
import { HeadTable } from './head-table.tsx';
import { JobTable } from './job-table.tsx';
import { VerifyResult } from './verify-result.tsx';

/** Verifies the ledger, and shows how to export and anchor it. */
export default function Integrity(): ReactNode {
  const mayVerify = useMay('admin');
  const [anchor, setAnchor] = useState('');
  const { job, error, starting, start, stop } = useJob('verify');
  const isRunning = job?.status === 'running';
  return (
    <>
      <PageHead
        title="Integrity"
        about="Every entry contains the hash of the previous one. A verification finds entries that were changed, removed, inserted or reordered."
      >
        <button
          type="button"
          className="primary"
          disabled={!mayVerify || starting || isRunning}
          onClick={() => start(anchor.trim() === '' ? {} : { anchor })}
        >
          Verify now
        </button>
      </PageHead>
      <section className="card" aria-labelledby="verification">
        <header>
          <h2 id="verification">Verification</h2>
        </header>
        <div className="body verification">
          {error !== undefined && <Problem error={error} />}
          {job === undefined ? (
            <p className="muted">
              {mayVerify
                ? 'No verification running. A verification runs on the server, continues when you leave this page, and does not delay calls.'
                : 'Only admins can verify here. On the machine of the ledger, run:'}
            </p>
          ) : isRunning ? (
            <JobProgress job={job} title="Verifying" onStop={stop} />
          ) : (
            <VerifyResult job={job} />
          )}
          {mayVerify ? (
            <AnchorField value={anchor} onChange={setAnchor} disabled={isRunning} />
          ) : (
            <CommandLine text="quittance verify" />
          )}
        </div>
      </section>
      <JobTable current={job} />
      <div className="grid-2">
        <ExportCard />
        <section className="card" aria-labelledby="anchors">
          <header>
            <h2 id="anchors">Anchors</h2>
          </header>
          <div className="body integrity-words">
            <p>
              A person with write access to the ledger could recompute its chains. An anchor, stored where
              that person cannot write, reveals this. It also reveals a cut tail and a missing session.
            </p>
            <CommandLine text="quittance verify --write-anchor today.anchor" />
            <p className="muted">Later, compare the ledger with it:</p>
            <CommandLine text="quittance verify --anchor today.anchor" />
          </div>
        </section>
      </div>
      <HeadTable />
    </>
  );
}
