/** The work of a job, in a thread with its own ledger handle or on this thread. */
import { parseAnchor } from 'quittance/internal/ledger/anchor';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import type { BacktestSlice } from 'quittance/internal/replay/backtest';
import { backtest } from 'quittance/internal/replay/backtest';
import type { BacktestReport } from 'quittance/internal/replay/backtest-report';
import { verifyLedger } from 'quittance/internal/replay/verify-ledger';
import type { TypedDocuments } from './api/contract.ts';
import type { Verification, VerifyFinding } from './api/job.ts';
import { loadTyped } from './contract-work.ts';
import { readTallies } from 'quittance/internal/ledger/reads';

export type JobOrder =
  | { readonly kind: 'verify'; readonly anchor: string | undefined }
  | {
      readonly kind: 'backtest';
      readonly documents: TypedDocuments['documents'];
      readonly slice: BacktestSlice;
    };

export type JobResult =
  | { readonly kind: 'verify'; readonly result: Verification }
  | { readonly kind: 'backtest'; readonly result: BacktestReport };

export type JobProgress = { readonly done: number; readonly total: number; readonly label: string };

const mostFindings = 100;

export async function runJobWork(
  ledger: OpenLedger,
  order: JobOrder,
  signal: AbortSignal,
  tell: (progress: JobProgress) => void,
): Promise<JobResult> {
  switch (order.kind) {
    case 'verify':
      return { kind: 'verify', result: await verify(ledger, order.anchor, signal, tell) };
    case 'backtest': {
      const contracts = loadTyped(order.documents);
      const { calls: total } = await countCalls(ledger);
      let done = 0;
      const result = await backtest(ledger, {
        ...order.slice,
        contracts,
        signal,
        onProgress(calls) {
          done += calls;
          tell({ done, total: Math.max(total, done), label: 'calls' });
        },
      });
      return { kind: 'backtest', result };
    }
  }
}

async function verify(
  ledger: OpenLedger,
  anchor: string | undefined,
  signal: AbortSignal,
  tell: (progress: JobProgress) => void,
): Promise<Verification> {
  const findings: VerifyFinding[] = [];
  const { totals, problems } = await verifyLedger(
    ledger,
    anchor === undefined ? undefined : parseAnchor(anchor),
    {
      signal,
      startProgress(label, total) {
        let done = 0;
        return {
          step: () => tell({ done: ++done, total, label }),
          done: () => tell({ done: total, total, label }),
        };
      },
    },
    ({ kind, message, sessionId, callId, sequence, position }) => {
      if (findings.length < mostFindings)
        findings.push({ kind, message, sessionId, callId, sequence, position });
      return Promise.resolve();
    },
  );
  const { entries, sessions, calls } = totals;
  return { ok: problems === 0 && !signal.aborted, entries, sessions, calls, problems, findings };
}

async function countCalls(ledger: OpenLedger): Promise<{ readonly calls: number }> {
  const [all] = await readTallies(ledger, { by: [] });
  return { calls: all?.calls ?? 0 };
}
