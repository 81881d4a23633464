import type { JsonValue } from '../base/json.ts';
import { readEntry } from '../ledger/formats/v1/read-entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { ledgerSessionId } from '../ledger/ledger.ts';
import type { Contracts } from '../policy/judge/contracts.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { BacktestReport, CallVerdict } from './backtest-report.ts';
import { BacktestTally } from './backtest-report.ts';
import { SessionBacktest } from './backtest-session.ts';
import { inRecordedDirectory } from './recorded-directory.ts';

/** Which calls are judged. Those that came before in their sessions count for limits and workflows all the same. */
export type BacktestSlice = {
  readonly sessionId?: string | undefined;
  readonly toolName?: string | undefined;
  /** Milliseconds since 1970, included; by when a call was requested. */
  readonly since?: number | undefined;
  /** Not included. */
  readonly until?: number | undefined;
};

export type BacktestOptions = BacktestSlice & {
  /** The rules to try. */
  readonly contracts: Contracts;
  /** Tools as they are now: arguments and outputs are held against their schemas too. Their bodies are not run. */
  readonly tools?: readonly AnyTool[] | undefined;
  /** How many calls to show of each kind; 3 unless told. */
  readonly samples?: number | undefined;
  /** Told after each session, with how many calls it has. */
  readonly onProgress?: ((calls: number) => void) | undefined;
  /** Stops it; what was found until then is the report. */
  readonly signal?: AbortSignal | undefined;
};

type Readable = Pick<Ledger, 'queries' | 'entries' | 'artifacts'>;

/** What other rules would have said about the calls of a ledger. Nothing is run; a session at a time is read. */
export async function backtest(ledger: Readable, given: BacktestOptions): Promise<BacktestReport> {
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

/** The sessions in which calls of the slice may be. */
export async function* sessionsOf(
  ledger: Pick<Ledger, 'queries'>,
  { sessionId, since, until }: BacktestSlice,
): AsyncGenerator<{ readonly sessionId: string; readonly calls: number }, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await ledger.queries.findSessions({ since, until, text: sessionId, limit: 500, cursor });
    for (const session of page.rows)
      if (session.calls > 0 && (sessionId === undefined || session.sessionId === sessionId)) yield session;
    cursor = page.next;
  } while (cursor !== undefined);
}

const entriesAtOnce = 500;

/** Adds what would have been decided in one session. */
export async function backtestSession(
  ledger: Pick<Ledger, 'entries' | 'artifacts'>,
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
    const entries = await ledger.entries.read({ sessionId, after, limit: entriesAtOnce });
    for (const entry of entries) await session.take(readEntry(entry));
    const last = entries.at(-1);
    // Reading never waits for anything, so signals and screens get their turn here.
    await new Promise(setImmediate);
    if (last === undefined || entries.length < entriesAtOnce) break;
    after = last.position;
  }
  session.finish();
}

/** An output that was kept aside. Undefined where it is gone, or is no JSON. */
async function readOutput(
  ledger: Pick<Ledger, 'artifacts'>,
  sessionId: string,
  artifactId: string,
): Promise<JsonValue | undefined> {
  const artifact = await ledger.artifacts.read(sessionId, artifactId);
  if (typeof artifact?.content !== 'string') return undefined;
  try {
    return JSON.parse(artifact.content) as JsonValue;
  } catch {
    return undefined;
  }
}
