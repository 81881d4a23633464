import type { ReactNode } from 'react';
import { useMay } from '../../api/use-me.ts';
import { CommandLine } from '../../ui/command-line.tsx';
import { DownloadButton } from '../../ui/download-button.tsx';

/** Exports the ledger as a file that can be verified without it. */
export function ExportCard(): ReactNode {
  const mayExport = useMay('admin');
  return (
    <section className="card" aria-labelledby="export">
      <header>
        <h2 id="export">Export</h2>
        {mayExport && <DownloadButton path="/v1/export">Download ledger</DownloadButton>}
      </header>
      <div className="body integrity-words">
        <p>
          Every entry exactly as stored, as JSON lines, for an archive, an auditor or another machine. The
          file contains no encrypted values and no artifacts. To export one session, use its row below.
        </p>
        {!mayExport && <p className="muted">Only admins can export.</p>}
        <p className="muted">Verify the file without the ledger:</p>
        <CommandLine text="quittance verify --export ledger.jsonl" />
      </div>
    </section>
  );
}
