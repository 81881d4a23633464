import { checkObject } from '../base/check-keys.ts';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemClock } from '../base/deadlines.ts';
import { QuittanceError } from '../base/error.ts';
import type { Cassette } from '../replay/cassette.ts';
import { readCassette, writeCassette } from '../replay/write-cassette.ts';
import { recordCassette } from '../replay/record-cassette.ts';
import type { RecordedToolsOptions } from '../replay/recorded-tools.ts';
import { recordedTools } from '../replay/recorded-tools.ts';
import type { Runtime, RuntimeOptions } from '../runtime/create-runtime.ts';
import { createRuntimeOn } from '../runtime/create-runtime.ts';
import { createMemoryLedger } from '../store/memory/memory-ledger.ts';
import type { AnyTool } from '../tool/define-tool.ts';
import type { ManualClock } from './manual-clock.ts';
import { createManualClock } from './manual-clock.ts';

export type WithCassetteOptions<Tools extends readonly AnyTool[]> = Omit<
  RuntimeOptions<Tools>,
  'ledger' | 'clock' | 'ids'
> &
  Pick<RecordedToolsOptions, 'mode' | 'drift'> & {
    /**
     * `true`: run the real tools and write the cassette. `'once'`: only if there is none yet. `false`, the default:
     * play it. Nothing is recorded if the environment variable `CI` is set.
     */
    readonly record?: boolean | 'once';
    /** The recorded session. Default: `session`. */
    readonly sessionId?: string;
    /** Accept recorded calls that are not made, and calls without a recording. */
    readonly allowUnused?: boolean;
    /** Larger artifacts are left out of the cassette. Default: one million. */
    readonly maxArtifactBytes?: number;
    /** Environment variables; default: those of the process. */
    readonly environment?: Readonly<Record<string, string | undefined>>;
  };

/** The values a test works with; the same for recording and replay. */
export type CassetteRun<Tools extends readonly AnyTool[]> = {
  readonly tools: Tools;
  readonly runtime: Runtime<Tools>;
  /** For `runtime.turn`: other sessions are not in the cassette. */
  readonly sessionId: string;
  readonly recording: boolean;
  /** The clock of a replay; undefined while recording, which takes real time. */
  readonly clock: ManualClock | undefined;
};

/**
 * Runs a test on a cassette: with the real tools when recording, otherwise with the recordings, never with both.
 * Works in any test runner: it throws if the test must fail. After a replay it throws `cassette.unused` unless the
 * calls match the recording exactly.
 */
export async function withCassette<const Tools extends readonly AnyTool[], Result>(
  path: string,
  options: WithCassetteOptions<Tools>,
  work: (run: CassetteRun<Tools>) => Promise<Result>,
): Promise<Result> {
  checkObject('withCassette', options);
  const { record = false, environment = process.env } = options;
  const text = await readFile(path, 'utf8').catch(noFile);
  const mayRecord = !isSet(environment['CI']);
  if (mayRecord && (record === true || (record === 'once' && text === undefined)))
    return recordRun(path, options, work);
  if (text !== undefined) return playRun(readCassette(text), options, work);
  throw new QuittanceError(
    'config.invalid',
    mayRecord
      ? `There is no cassette ${path}. Record it with \`record: 'once'\`.`
      : `There is no cassette ${path}, and nothing is recorded if CI is set. Record it elsewhere and commit the file.`,
    { path },
  );
}

async function recordRun<Tools extends readonly AnyTool[], Result>(
  path: string,
  options: WithCassetteOptions<Tools>,
  work: (run: CassetteRun<Tools>) => Promise<Result>,
): Promise<Result> {
  const { sessionId = 'session', tools, maxArtifactBytes } = options;
  const ledger = createMemoryLedger();
  const runtime = createRuntimeOn<Tools>({ ...forRuntime(options), ledger, clock: systemClock });
  const result = await work({ tools, runtime, sessionId, recording: true, clock: undefined });
  await runtime.close();
  const cassette = await recordCassette(
    ledger,
    { sessionId },
    { tools, ...(maxArtifactBytes !== undefined && { maxArtifactBytes }) },
  );
  await mkdir(dirname(path), { recursive: true });
  // The cassette file is complete or absent.
  await writeFile(`${path}.part`, writeCassette(cassette));
  await rename(`${path}.part`, path);
  return result;
}

async function playRun<Tools extends readonly AnyTool[], Result>(
  cassette: Cassette,
  options: WithCassetteOptions<Tools>,
  work: (run: CassetteRun<Tools>) => Promise<Result>,
): Promise<Result> {
  const { sessionId = 'session', mode, drift, redaction, allowUnused } = options;
  const clock = createManualClock(cassette.createdAt);
  const recorded = recordedTools(cassette, options.tools, {
    clock,
    ...(mode !== undefined && { mode }),
    ...(drift !== undefined && { drift }),
    ...(redaction !== undefined && { redaction }),
  });
  const { tools, onConfirm } = recorded;
  const runtime = createRuntimeOn<Tools>({
    ...forRuntime(options),
    tools,
    // Without an approver in the recording, the replay has none either.
    ...(options.onConfirm !== undefined && { onConfirm }),
    clock,
    ledger: createMemoryLedger({ clock }),
  });
  const result = await work({ tools, runtime, sessionId, recording: false, clock });
  if (allowUnused !== true) recorded.assertConsumed();
  return result;
}

/** The options that belong to the runtime. */
function forRuntime<Tools extends readonly AnyTool[]>(
  options: WithCassetteOptions<Tools>,
): Omit<RuntimeOptions<Tools>, 'ledger'> {
  const own = ['mode', 'drift', 'record', 'sessionId', 'allowUnused', 'maxArtifactBytes', 'environment'];
  // The rest are options of the runtime, which checks them.
  return Object.fromEntries(Object.entries(options).filter(([key]) => !own.includes(key))) as Omit<
    RuntimeOptions<Tools>,
    'ledger'
  >;
}

const isSet = (value: string | undefined): boolean =>
  value !== undefined && value !== '' && value !== 'false' && value !== '0';

function noFile(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}
