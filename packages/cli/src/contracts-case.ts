/**
 * Case files of contracts: calls with their expected decisions. Parsed as strictly as contracts: unknown keys are
 * errors, and every problem has its line.
 */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import type { ContractsProblem } from 'quittance/internal/policy/language/contracts-problem';
import type { ClosedObject } from 'quittance/internal/policy/read/document-reader';
import { DocumentReader } from 'quittance/internal/policy/read/document-reader';
import { readDocumentText } from 'quittance/internal/policy/read/document-text';
import type { SessionCounters } from 'quittance/internal/policy/language/session-metric';
import { readYamlDocument } from 'quittance/internal/policy/read/yaml-document';
import type { Principal } from 'quittance/internal/tool/tool-context';
import type { ToolResources } from 'quittance/internal/tool/tool-resources';

/** Possible decisions on a call. */
export const caseWords = ['allow', 'ask', 'block', 'warn', 'redact'] as const;
export type CaseWord = (typeof caseWords)[number];

export type ContractCase = {
  readonly id: string;
  readonly source: string;
  readonly line: number | undefined;
  readonly toolName: string;
  readonly input: JsonObject;
  readonly principal: Principal | undefined;
  readonly metadata: JsonObject | undefined;
  readonly snapshot: JsonObject | undefined;
  readonly resources: ToolResources | undefined;
  /** The word that rules see as `environment`. */
  readonly environment: string | undefined;
  /** The variables that rules see as `env.NAME`. */
  readonly env: Readonly<Record<string, string>>;
  readonly counters: SessionCounters | undefined;
  readonly end:
    | { readonly type: 'result'; readonly value: JsonValue }
    | { readonly type: 'error'; readonly text: string }
    | undefined;
  /** Earlier successful calls of the session, as seen by workflows. */
  readonly before: readonly CaseStep[];
  readonly expected: {
    readonly word: CaseWord;
    readonly ruleId: string | undefined;
    readonly message: string | undefined;
    readonly output: { readonly value: JsonValue } | undefined;
  };
};

/** A call, or a person's approval of a stage. */
export type CaseStep =
  | {
      readonly type: 'call';
      readonly toolName: string;
      readonly input: JsonObject;
      readonly output: JsonValue;
    }
  | { readonly type: 'approval'; readonly stageId: string };

export type CaseFile = {
  readonly source: string;
  /** Folder that relative paths start from. */
  readonly workingDirectory: string | undefined;
  readonly homeDirectory: string | undefined;
  readonly cases: readonly ContractCase[];
};

export type CaseReading =
  | { readonly ok: true; readonly file: CaseFile }
  | { readonly ok: false; readonly problems: readonly ContractsProblem[] };

const caseKeys = [
  'id',
  'tool',
  'args',
  'principal',
  'metadata',
  'snapshot',
  'resources',
  'environment',
  'session',
  'before',
  'result',
  'error',
  'expect',
  'rule',
  'message_contains',
  'output',
] as const;

export function readCases(text: string | Uint8Array, source: string): CaseReading {
  const problems: ContractsProblem[] = [];
  const given = readDocumentText(text, source, problems);
  const node = given && readYamlDocument(given.text, given.reading);
  const at = node && new DocumentReader(node, given.reading);
  const fields = at?.closed(['working_directory', 'home_directory', 'cases']);
  const ids = new Set<string>();
  const cases = fields
    ?.required('cases')
    ?.items(1, 'cases')
    ?.flatMap((each) => {
      const read = readCase(each);
      if (read !== undefined && ids.has(read.id)) each.refuse(`Two cases have the id "${read.id}".`);
      ids.add(read?.id ?? '');
      return read ?? [];
    });
  const workingDirectory = fields?.optional('working_directory')?.text();
  const homeDirectory = fields?.optional('home_directory')?.text();
  if (problems.length > 0 || cases === undefined) return { ok: false, problems };
  return { ok: true, file: { source, workingDirectory, homeDirectory, cases } };
}

function readCase(at: DocumentReader): ContractCase | undefined {
  const fields = at.closed(caseKeys);
  if (fields === undefined) return undefined;
  const id = fields.required('id')?.text();
  const toolName = fields.required('tool')?.text();
  const word = fields.required('expect')?.oneOf(caseWords);
  const environment = readEnvironment(fields.optional('environment'));
  if (fields.has('result') && fields.has('error'))
    at.refuse('A call ends with either a result or an error; keep one of them.');
  const result = fields.optional('result');
  const error = fields.optional('error')?.text({ least: 0 });
  if ((word === 'warn' || word === 'redact') && result === undefined && error === undefined)
    fields
      .optional('expect')
      ?.refuse(`expect is ${word}, which only post rules can produce: the case needs a result or an error.`);
  const output = fields.optional('output');
  const read = {
    source: at.reading.source,
    line: at.line,
    input: fields.optional('args')?.object() ?? {},
    principal: readPrincipal(fields.optional('principal')),
    metadata: fields.optional('metadata')?.object(),
    snapshot: fields.optional('snapshot')?.object(),
    resources: readResources(fields.optional('resources')),
    ...environment,
    counters: readCounters(fields.optional('session')),
    end:
      result !== undefined
        ? ({ type: 'result', value: result.json() } as const)
        : error === undefined
          ? undefined
          : ({ type: 'error', text: error } as const),
    before: fields.optional('before')?.items()?.flatMap(readStep) ?? [],
  };
  const ruleId = fields.optional('rule')?.text();
  const message = fields.optional('message_contains')?.text();
  if (id === undefined || toolName === undefined || word === undefined) return undefined;
  return {
    id,
    toolName,
    ...read,
    expected: { word, ruleId, message, output: output && { value: output.json() } },
  };
}

const principalKeys = ['user_id', 'service_id', 'org_id', 'role', 'ticket_ref', 'claims'] as const;

export function readPrincipal(at: DocumentReader | undefined): Principal | undefined {
  const fields = at?.closed(principalKeys);
  if (fields === undefined) return undefined;
  const text = (key: (typeof principalKeys)[number]): string | undefined => fields.optional(key)?.text();
  const [userId, serviceId, orgId] = [text('user_id'), text('service_id'), text('org_id')];
  const [role, ticketRef] = [text('role'), text('ticket_ref')];
  const claims = fields.optional('claims')?.object();
  return {
    ...(userId !== undefined && { userId }),
    ...(serviceId !== undefined && { serviceId }),
    ...(orgId !== undefined && { orgId }),
    ...(role !== undefined && { role }),
    ...(ticketRef !== undefined && { ticketRef }),
    ...(claims !== undefined && { claims }),
  };
}

function readResources(at: DocumentReader | undefined): ToolResources | undefined {
  const fields = at?.closed(['paths', 'commands', 'urls']);
  return (
    fields && {
      paths: fields.optional('paths')?.texts(),
      commands: fields.optional('commands')?.texts(),
      urls: fields.optional('urls')?.texts(),
    }
  );
}

/** A word is the environment itself; an object lists its variables. */
function readEnvironment(at: DocumentReader | undefined): Pick<ContractCase, 'environment' | 'env'> {
  if (at === undefined || at.node.type !== 'map') return { environment: at?.text(), env: {} };
  const variables = (at.members() ?? []).map(({ key, value }) => {
    const found = value.json();
    if (typeof found === 'object') value.expected('text, a number, true or false');
    return [key, typeof found === 'string' ? found : JSON.stringify(found)] as const;
  });
  return { environment: undefined, env: Object.fromEntries(variables) };
}

function readCounters(at: DocumentReader | undefined): SessionCounters | undefined {
  const fields = at?.closed([
    'tool_calls',
    'attempts',
    'per_tool',
    'failures',
    'consecutive_failures',
    'failures_per_tool',
    'consecutive_failures_per_tool',
  ]);
  if (fields === undefined) return undefined;
  const count = (key: Parameters<typeof fields.optional>[0]): number =>
    fields.optional(key)?.integer({ least: 0 }) ?? 0;
  const perTool = (key: Parameters<typeof fields.optional>[0]): ((toolName: string) => number) => {
    const counts = (fields.optional(key)?.members() ?? []).flatMap(({ key: toolName, value }) => {
      const used = value.integer({ least: 0 });
      return used === undefined ? [] : [[toolName, used] as const];
    });
    const byTool = new Map(counts);
    return (toolName) => byTool.get(toolName) ?? 0;
  };
  return {
    toolCalls: count('tool_calls'),
    attempts: count('attempts'),
    callsOf: perTool('per_tool'),
    failures: count('failures'),
    consecutiveFailures: count('consecutive_failures'),
    failuresOf: perTool('failures_per_tool'),
    consecutiveFailuresOf: perTool('consecutive_failures_per_tool'),
  };
}

function readStep(at: DocumentReader): readonly CaseStep[] {
  const fields: ClosedObject<'tool' | 'args' | 'result' | 'approve'> | undefined = at.closed([
    'tool',
    'args',
    'result',
    'approve',
  ]);
  const approval = fields?.optional('approve')?.text();
  if (approval !== undefined) return [{ type: 'approval', stageId: approval }];
  const toolName = fields?.required('tool')?.text();
  if (fields === undefined || toolName === undefined) return [];
  return [
    {
      type: 'call',
      toolName,
      input: fields.optional('args')?.object() ?? {},
      output: fields.optional('result')?.json() ?? null,
    },
  ];
}
