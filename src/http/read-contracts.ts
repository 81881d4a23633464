/** Rules for the routes: those in force and those in requests. */
import { takeSteps } from '../base/steps.ts';
import { LoadedContracts } from '../contracts/loaded-contracts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { sessionCounterPrefixes } from '../ledger/session-counters.ts';
import type { ComposedRule } from '../policy/language/composed-rules.ts';
import { lintInSteps } from '../policy/compose/lint-rules.ts';
import type { SessionMetric } from '../policy/language/session-metric.ts';
import { counterNameOf, sessionMetrics } from '../policy/language/session-metric.ts';
import type {
  CallToExplain,
  ContractsInForce,
  ContractsReload,
  RuleInForce,
  TypedDocuments,
} from './api/contract.ts';
import type { ExplainCounters, ExplainOrder } from './contract-work.ts';
import { explainWith, problemsOf } from './contract-work.ts';
import { HttpRefusal } from './problem.ts';
import { hasMoreValues } from './read-request.ts';
import type { Service } from './service.ts';

/** The caller of the work, and the signal that ends its wait. */
export type ContractsCaller = { readonly caller: string; readonly signal: AbortSignal };

export const readContractsInForce = ({ contracts, reloadContracts: reload }: Service): ContractsInForce => ({
  loaded: contracts !== undefined,
  policyVersion: contracts?.policy.version,
  documents: contracts?.documents ?? [],
  rules: contracts?.policy.composed.rules.map(toRule) ?? [],
  workflows: contracts?.policy.workflows.map(({ name }) => name) ?? [],
  report: contracts?.policy.composed.report,
  canReload: reload !== undefined,
});

function toRule({ id, rule, mode, source, line }: ComposedRule): RuleInForce {
  return {
    ruleId: id,
    type: rule.type,
    mode,
    tool: 'tool' in rule ? rule.tool : 'tools' in rule ? rule.tools.join(', ') : undefined,
    action: 'action' in rule ? rule.action : 'outside' in rule ? rule.outside : undefined,
    message: 'message' in rule ? rule.message : undefined,
    source,
    line,
    tags: rule.tags,
  };
}

export function checkTyped(
  { tools, contractThreads }: Service,
  documents: TypedDocuments['documents'],
  { caller, signal }: ContractsCaller,
): Promise<string> {
  const toolNames = tools.map(({ name }) => name);
  return contractThreads.run(caller, signal, { kind: 'check', documents, toolNames });
}

/** Throws `contracts.invalid` if the documents cannot be loaded. */
export async function refuseUnloadable(
  { contractThreads }: Service,
  documents: TypedDocuments['documents'],
  { caller, signal }: ContractsCaller,
): Promise<void> {
  await contractThreads.run(caller, signal, { kind: 'load', documents });
}

/** The explanation as JSON text. */
export async function explainContractCall(
  { contracts, ledger, contractThreads }: Service,
  { documents, toolName, arguments: input = {}, principal, metadata, output, sessionId }: CallToExplain,
  { caller, signal }: ContractsCaller,
): Promise<string> {
  const counters = sessionId === undefined ? undefined : await readCounters(ledger, sessionId, toolName);
  const about = { toolName, input, principal, metadata, output, counters };
  if (documents !== undefined)
    return contractThreads.run(caller, signal, { kind: 'explain', documents, about });
  if (!(contracts instanceof LoadedContracts))
    throw new HttpRefusal(
      'http.not_available',
      'No rules are in force here. Give some in `documents`, or start the server with --contracts FILE.',
    );
  refuseLargeInput(about);
  return JSON.stringify(await explainWith(contracts, about));
}

/** The rules in force use functions, files and the environment of this process, so they run on this thread. */
function refuseLargeInput({ input, metadata, output }: ExplainOrder): void {
  const text = JSON.stringify([input, metadata ?? null, output ?? null]);
  if (text.length <= mostInputChars && !hasMoreValues(text, mostInputValues)) return;
  throw new HttpRefusal(
    'http.too_large',
    `The rules in force are explained for at most ${mostInputChars} characters and ${mostInputValues} JSON values of arguments, metadata and output together. Give the rules in \`documents\` to explain more.`,
  );
}

const mostInputChars = 65_536;
const mostInputValues = 1_000;

export async function reloadContracts({
  contracts,
  reloadContracts: reload,
}: Service): Promise<ContractsReload> {
  if (contracts === undefined || reload === undefined)
    throw new HttpRefusal(
      'http.not_available',
      'The rules of this server are not read from files. Start it with --contracts FILE.',
    );
  const before = contracts.policy.version;
  const result = await reload();
  const { version } = contracts.policy;
  return result.ok
    ? {
        ok: true,
        changed: version !== before,
        policyVersion: version,
        problems: [],
        warnings: await takeSteps(lintInSteps(contracts.policy.composed)),
      }
    : { ok: false, changed: false, policyVersion: before, problems: problemsOf(result.error), warnings: [] };
}

/** The counters for session rules: what this session has used so far. */
async function readCounters(ledger: Ledger, sessionId: string, toolName: string): Promise<ExplainCounters> {
  const [prefix] = sessionCounterPrefixes(sessionId);
  const metrics = Object.keys(sessionMetrics) as SessionMetric[]; // the keys of a complete table
  const counters = await ledger.claims.readCounters(
    metrics.map((metric) => `${prefix}contract/${counterNameOf(metric, toolName)}`),
  );
  return Object.fromEntries(
    metrics.map((metric, index) => [metric, (counters[index]?.used ?? 0) + (counters[index]?.reserved ?? 0)]),
  );
}
