/** Tools with their numbers: those the server has, and those the ledger tells of. */
import { classifyTool } from '../tool/mode.ts';
import type { ToolMode } from '../tool/mode.ts';
import type { ToolDetail, ToolRow } from './api/tool.ts';
import { Latencies, noOutcomes, outcomeWord } from './count-outcomes.ts';
import type { MutableCounts } from './count-outcomes.ts';
import { HttpRefusal } from './problem.ts';
import type { Service } from './service.ts';

type Numbers = {
  calls: number;
  costMicros: number;
  mode: ToolMode;
  readonly outcomes: MutableCounts;
  readonly latencies: Latencies;
  readonly codes: Map<string, number>;
};

/** A model may ask for any name it likes: so many are listed, the commonest first. */
const mostTools = 500;

export async function listTools(service: Service): Promise<readonly ToolRow[]> {
  const numbers = await readNumbers(service, undefined);
  const names = new Set([
    ...service.tools.map(({ name }) => name),
    ...[...numbers].toSorted(([, one], [, other]) => other.calls - one.calls).map(([name]) => name),
  ]);
  return [...names].slice(0, mostTools).map((name) => toRow(service, name, numbers.get(name)));
}

export async function readTool(service: Service, name: string): Promise<ToolDetail> {
  const numbers = (await readNumbers(service, name)).get(name);
  const tool = service.tools.find((each) => each.name === name);
  if (tool === undefined && numbers === undefined)
    throw new HttpRefusal(
      'http.not_found',
      `Nobody has asked for a tool named ${JSON.stringify(name.slice(0, 100))}, and the server has none. GET /v1/tools lists them.`,
    );
  return {
    tool: toRow(service, name, numbers),
    schema: tool?.input.jsonSchema,
    codes: [...(numbers?.codes ?? [])]
      .map(([code, count]) => ({ code, count }))
      .toSorted((one, other) => other.count - one.count),
    schemas: service.schemas.versionsOf(name),
  };
}

async function readNumbers({ ledger }: Service, toolName: string | undefined): Promise<Map<string, Numbers>> {
  const found = new Map<string, Numbers>();
  const tallies = await ledger.tallyCalls({ by: ['toolName', 'mode', 'outcome', 'code', 'bin'], toolName });
  for (const { toolName: name, mode, outcome, code, bin, calls, costMicros } of tallies) {
    const numbers = found.get(name) ?? {
      calls: 0,
      costMicros: 0,
      mode,
      outcomes: noOutcomes(),
      latencies: new Latencies(),
      codes: new Map<string, number>(),
    };
    found.set(name, numbers);
    numbers.calls += calls;
    numbers.costMicros += costMicros;
    numbers.outcomes[outcomeWord({ outcome, code })] += calls;
    numbers.latencies.add(bin, calls);
    if (code !== '') numbers.codes.set(code, (numbers.codes.get(code) ?? 0) + calls);
  }
  return found;
}

function toRow({ tools, schemas }: Service, name: string, numbers: Numbers | undefined): ToolRow {
  const tool = tools.find((each) => each.name === name);
  const guess = classifyTool(name);
  const outcomes = numbers?.outcomes ?? noOutcomes();
  const failures = outcomes.failed + outcomes.timedOut + outcomes.indeterminate;
  const ended = failures + outcomes.succeeded;
  return {
    name,
    known: tool !== undefined,
    description: tool?.description,
    mode: tool?.mode ?? numbers?.mode ?? guess.mode,
    modeOrigin: tool?.modeOrigin ?? guess.origin,
    handoff: tool?.handoff ?? false,
    calls: numbers?.calls ?? 0,
    outcomes,
    errorRate: ended === 0 ? undefined : failures / ended,
    latency: (numbers?.latencies ?? new Latencies()).toPercentiles(),
    costMicros: numbers?.costMicros ?? 0,
    schemaDigest: schemas.digestOf(name),
    drifted: schemas.hasDrifted(name),
  };
}
