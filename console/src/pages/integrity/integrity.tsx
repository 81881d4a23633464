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

/** Is everything as it was written? Asked here, answered by the server, and to be taken away and checked elsewhere. */
export default function Integrity(): ReactNode {
  const mayVerify = useMay('admin');
  const [anchor, setAnchor] = useState('');
  const { job, error, starting, start, stop } = useJob('verify');
  const isRunning = job?.status === 'running';
  return (
    <>
      <PageHead
        title="Integrity"
        about="Every entry carries the hash of the one before it. Verifying reads all of them and finds what was changed, taken out, put in or moved."
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
                ? 'No verification runs, and none was started in this tab. One goes on when you leave the page, holds up no calls, and can be stopped.'
                : 'Only an admin can verify here. The command line can, wherever the ledger is:'}
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
              Whoever can write the ledger could compute its chains anew. An anchor, kept where they cannot
              write, finds that too: also a cut tail, and a session that is gone.
            </p>
            <CommandLine text="quittance verify --write-anchor today.anchor" />
            <p className="muted">Later, here or there, hold the ledger against it:</p>
            <CommandLine text="quittance verify --anchor today.anchor" />
          </div>
        </section>
      </div>
      <HeadTable />
    </>
  );
}
