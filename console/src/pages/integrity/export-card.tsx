import type { ReactNode } from 'react';
import { useMay } from '../../api/use-me.ts';
import { CommandLine } from '../../ui/command-line.tsx';
import { DownloadButton } from '../../ui/download-button.tsx';

/** The ledger as a file that can be checked without it. */
export function ExportCard(): ReactNode {
  const mayExport = useMay('admin');
  return (
    <section className="card" aria-labelledby="export">
      <header>
        <h2 id="export">Export</h2>
        {mayExport && <DownloadButton path="/v1/export">Download the ledger</DownloadButton>}
      </header>
      <div className="body integrity-words">
        <p>
          Every entry exactly as it is kept, as JSON lines: for an archive, an auditor, or another machine.
          Nothing sealed is in it, and artifacts are not. A single session is exported from its row below.
        </p>
        {!mayExport && <p className="muted">Only an admin can export here.</p>}
        <p className="muted">Whoever has the file checks it without the ledger:</p>
        <CommandLine text="quittance verify --export ledger.jsonl" />
      </div>
    </section>
  );
}
