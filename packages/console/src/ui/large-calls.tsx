import type { ReactNode } from 'react';
import { safeId } from 'quittance/internal/base/safe-id';
import type { LargeCallRef } from '@quittance/server/internal/http/api/confirmation';
import { CommandLine } from './command-line.tsx';
import { ForeignId } from './foreign-text.tsx';

/** Calls that are too large to send, with their size and the command that shows them. */
export function LargeCalls({ calls }: { readonly calls: readonly LargeCallRef[] }): ReactNode {
  if (calls.length === 0) return null;
  return (
    <section className="card large-calls" aria-label="Calls too large to show here">
      <header>
        <h2>{calls.length === 1 ? '1 call is' : `${calls.length} calls are`} too large to show here</h2>
      </header>
      <ul className="body">
        {calls.map(({ sessionId, callId, bytes }) => (
          <li key={JSON.stringify([sessionId, callId])}>
            <p>
              Call <ForeignId id={callId} /> of session <ForeignId id={sessionId} /> has {formatBytes(bytes)}{' '}
              of data. Run this command on the machine of the ledger to see it:
            </p>
            <CommandLine text={showCommand(sessionId, callId)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The CLI command that shows a call. It accepts ids as displayed. */
export const showCommand = (sessionId: string, callId: string): string =>
  `quittance show ${shellWord(safeId(callId))} --session ${shellWord(safeId(sessionId))}`;

export const formatBytes = (bytes: number): string =>
  bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
