/** The tools of the server and of the ledger, with their numbers. */
import { classifyTool } from '../tool/mode.ts';
import type { ToolDetail, ToolRow } from './api/tool.ts';
import { Latencies, noOutcomeCounts } from './count-outcomes.ts';
import { HttpRefusal } from './problem.ts';
import type { Asker } from './reader.ts';
import type { Service } from './service.ts';
import type { ToolNumbers } from './tool-numbers.ts';
import { mostTools } from './tool-numbers.ts';

export async function listTools(service: Service, asked: Asker): Promise<readonly ToolRow[]> {
  const numbers = await readNumbers(service, undefined, asked);
  const names = new Set([...service.tools.map(({ name }) => name), ...numbers.keys()]);
  return [...names].slice(0, mostTools).map((name) => toRow(service, name, numbers.get(name)));
}

export async function readTool(service: Service, name: string, asked: Asker): Promise<ToolDetail> {
  const numbers = (await readNumbers(service, name, asked)).get(name);
  const tool = service.tools.find((each) => each.name === name);
  if (tool === undefined && numbers === undefined)
    throw new HttpRefusal(
      'http.not_found',
      `Neither the server nor the ledger has a tool named ${JSON.stringify(name.slice(0, 100))}. GET /v1/tools lists them.`,
    );
  return {
    tool: toRow(service, name, numbers),
    schema: tool?.input.jsonSchema,
    codes: (numbers?.codes ?? []).map(([code, count]) => ({ code, count })),
    schemas: service.schemas.versionsOf(name),
  };
}

async function readNumbers(
  { reader }: Service,
  toolName: string | undefined,
  asked: Asker,
): Promise<ReadonlyMap<string, ToolNumbers>> {
  const rows = await reader.value('tools', { toolName }, asked, { isRemembered: true });
  return new Map(rows.map((row) => [row.toolName, row]));
}

function toRow({ tools, schemas }: Service, name: string, numbers: ToolNumbers | undefined): ToolRow {
  const tool = tools.find((each) => each.name === name);
  const guess = classifyTool(name);
  const outcomes = numbers?.outcomes ?? noOutcomeCounts();
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
    latency: numbers?.latency ?? new Latencies().toPercentiles(),
    costMicros: numbers?.costMicros ?? 0,
    schemaDigest: schemas.digestOf(name),
    drifted: schemas.hasDrifted(name),
  };
}
