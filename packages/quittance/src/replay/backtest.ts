import { checkObject } from '../base/check-keys.ts';
import type { JsonValue } from '../base/json.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { BacktestReport, CallVerdict } from './backtest-report.ts';
import { BacktestTally } from './backtest-tally.ts';
import { SessionBacktest } from './backtest-session.ts';
import { inRecordedDirectory } from './recorded-directory.ts';
import { findSessions, readWholeArtifact } from '../ledger/reads.ts';

/** The calls to judge. Earlier calls of their sessions still count for limits and workflows. */
export type BacktestSlice = {
  readonly sessionId?: string | undefined;
  readonly toolName?: string | undefined;
  /** Milliseconds since 1970, inclusive; compared with the time of the request. */
  readonly since?: number | undefined;
  /** Exclusive. */
  readonly until?: number | undefined;
};

export type BacktestOptions = BacktestSlice & {
  /** The rules to try. */
  readonly contracts: Contracts;
  /** The current tools: inputs and outputs are also checked against their schemas. The tools do not run. */
  readonly tools?: readonly AnyTool[] | undefined;
  /** Number of calls to show of each kind; default: 3. */
  readonly samples?: number | undefined;
  /** Called after each session with its number of calls. */
  readonly onProgress?: ((calls: number) => void) | undefined;
  /** Stops the backtest; the report covers the calls judged so far. */
  readonly signal?: AbortSignal | undefined;
};

type Readable = Pick<Ledger, 'query' | 'readEntries' | 'readArtifact'>;

/** Judges the calls of a ledger by other rules. Nothing runs; one session is read at a time. */
export async function backtest(ledger: Readable, given: BacktestOptions): Promise<BacktestReport> {
  checkObject('backtest', given);
  const options = { ...given, contracts: await inRecordedDirectory(ledger, given.contracts) };
  const tally = new BacktestTally(options.contracts.policy.version, options.samples ?? defaultSamples);
  for await (const { sessionId, calls } of sessionsOf(ledger, options)) {
    if (isStopped(options)) break;
    await backtestSession(ledger, sessionId, options, tally);
    options.onProgress?.(calls);
  }
  return tally.toReport(!isStopped(options));
}

export const defaultSamples = 3;

const isStopped = ({ signal }: BacktestOptions): boolean => signal?.aborted === true;

/** The sessions that may contain calls of the slice. */
export async function* sessionsOf(
  ledger: Pick<Ledger, 'query'>,
  { sessionId, since, until }: BacktestSlice,
): AsyncGenerator<{ readonly sessionId: string; readonly calls: number }, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await findSessions(ledger, { since, until, text: sessionId, limit: 500, cursor });
    for (const session of page.rows)
      if (session.calls > 0 && (sessionId === undefined || session.sessionId === sessionId)) yield session;
    cursor = page.next;
  } while (cursor !== undefined);
}

const entriesAtOnce = 500;

/** Adds the verdicts of one session. */
export async function backtestSession(
  ledger: Pick<Ledger, 'readEntries' | 'query' | 'readArtifact'>,
  sessionId: string,
  options: BacktestOptions,
  tally: BacktestTally,
): Promise<void> {
  if (sessionId === ledgerSessionId) return;
  const { contracts, toolName, since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = options;
  const isMeant = (call: Pick<CallVerdict, 'toolName' | 'at'>): boolean =>
    call.at >= since && call.at < until && (toolName === undefined || toolName === call.toolName);
  const session = new SessionBacktest({
    policy: contracts.policy,
    workflowHost: contracts.workflowHost,
    tools: new Map((options.tools ?? []).map((tool) => [tool.name, tool])),
    readArtifact: (of, artifactId) => readOutput(ledger, of, artifactId),
    tell: (verdict) => {
      if (isMeant(verdict)) tally.add(verdict);
    },
    skip: (call, why) => {
      if (isMeant(call)) tally.skip(why);
    },
  });
  tally.addSession();
  for (let after = 0; !isStopped(options);) {
    const entries = await ledger.readEntries({ sessionId, after, limit: entriesAtOnce });
    for (const entry of entries) await session.take(readEntry(entry));
    const last = entries.at(-1);
    // Reading is synchronous, so this yields to signals and the terminal.
    await new Promise(setImmediate);
    if (last === undefined || entries.length < entriesAtOnce) break;
    after = last.position;
  }
  session.finish();
}

/** The output in an artifact. Undefined if it is missing or not JSON. */
async function readOutput(
  ledger: Pick<Ledger, 'readArtifact'>,
  sessionId: string,
  artifactId: string,
): Promise<JsonValue | undefined> {
  const artifact = await readWholeArtifact(ledger, sessionId, artifactId);
  if (typeof artifact?.content !== 'string') return undefined;
  try {
    return JSON.parse(artifact.content) as JsonValue;
  } catch {
    return undefined;
  }
}
