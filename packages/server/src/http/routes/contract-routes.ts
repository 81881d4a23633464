import type { Route } from '../route.ts';
import { defineRoute } from '../route.ts';
import { takeSteps } from 'quittance/internal/base/steps';
import { LoadedContracts } from 'quittance/internal/contracts/loaded-contracts';
import type { OpenLedger } from 'quittance/internal/ledger/ledger';
import { sessionCounterPrefixes } from 'quittance/internal/ledger/claims';
import type { ComposedRule } from 'quittance/internal/policy/language/composed-rules';
import { lintInSteps } from 'quittance/internal/policy/compose/lint-rules';
import type { SessionMetric } from 'quittance/internal/policy/language/session-metric';
import { counterNameOf, sessionMetrics } from 'quittance/internal/policy/language/session-metric';
import type {
  CallToExplain,
  ContractsInForce,
  ContractsReload,
  RuleInForce,
  TypedDocuments,
} from '../api/contract.ts';
import type { ExplainCounters, ExplainOrder } from '../contract-work.ts';
import { explainWith, problemsOf } from '../contract-work.ts';
import { HttpRefusal } from '../problem.ts';
import { hasMoreValues } from '../read-request.ts';
import type { Service } from '../service.ts';
import { readCounters } from 'quittance/internal/ledger/reads';

export const contractRoutes: readonly Route[] = [
  defineRoute({
    method: 'GET',
    path: '/v1/contracts',
    access: 'viewer',
    summary: 'Shows the rules in force.',
    answer: 'ContractsInForce',
    handle: ({ service }) => Promise.resolve(readContractsInForce(service)),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/contracts/versions',
    access: 'viewer',
    summary: 'Lists the versions of the rules, newest first.',
    answer: 'ContractsVersions',
    handle: ({ service, ...asked }) => service.reader.answer('versions', {}, asked, { isRemembered: true }),
  }),
  defineRoute({
    method: 'GET',
    path: '/v1/contracts/hits',
    access: 'viewer',
    summary: 'Counts the newest calls that each rule matched, enforced or observed.',
    query: 'RuleHitsQuery',
    answer: 'RuleHits',
    handle: ({ service, query, ...asked }) =>
      service.reader.answer('hits', query, asked, { isRemembered: true }),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/contracts/validate',
    access: 'viewer',
    summary: 'Checks documents. Problems are an answer, not an error.',
    body: 'TypedDocuments',
    answer: 'ContractsCheck',
    handle: async ({ service, body, actor, signal }) =>
      jsonText(await checkTyped(service, body.documents, { caller: actor.name, signal })),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/contracts/explain',
    access: 'operator',
    summary: 'Explains what the rules in force, or the given rules, decide about a call.',
    body: 'CallToExplain',
    answer: 'ContractsExplanation',
    handle: async ({ service, body, actor, signal }) =>
      jsonText(await explainContractCall(service, body, { caller: actor.name, signal })),
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/contracts/backtest',
    access: 'operator',
    summary: 'Starts a job that applies the given rules to the calls of this ledger.',
    body: 'NewBacktest',
    answer: 'Job',
    status: 202,
    async handle({ service, body: { documents, ...slice }, actor, signal }) {
      service.jobs.refuseMore();
      // Refuse documents that cannot be loaded now, not with a job that fails.
      await refuseUnloadable(service, documents, { caller: actor.name, signal });
      return service.jobs.start({ kind: 'backtest', documents, slice }, actor.name);
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/v1/contracts/reload',
    access: 'admin',
    summary: 'Reloads the rules. If there are problems, the old rules stay in force.',
    answer: 'ContractsReload',
    handle: ({ service }) => reloadContracts(service),
  }),
];

/** An answer that is already JSON text, made in another thread. */
const jsonText = (text: string, status = 200): Response =>
  new Response(text, {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
  });

/** Rules for the routes: those in force and those in requests. */

/** The caller of the work, and the signal that ends its wait. */
type ContractsCaller = { readonly caller: string; readonly signal: AbortSignal };

const readContractsInForce = ({ contracts, reloadContracts: reload }: Service): ContractsInForce => ({
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

function checkTyped(
  { tools, contractThreads }: Service,
  documents: TypedDocuments['documents'],
  { caller, signal }: ContractsCaller,
): Promise<string> {
  const known = tools.map(({ name, input }) => ({ name, inputSchema: input.jsonSchema }));
  return contractThreads.run(caller, signal, { kind: 'check', documents, tools: known });
}

/** Throws `contracts.invalid` if the documents cannot be loaded. */
async function refuseUnloadable(
  { contractThreads }: Service,
  documents: TypedDocuments['documents'],
  { caller, signal }: ContractsCaller,
): Promise<void> {
  await contractThreads.run(caller, signal, { kind: 'load', documents });
}

/** The explanation as JSON text. */
async function explainContractCall(
  { contracts, ledger, contractThreads }: Service,
  { documents, toolName, arguments: input = {}, principal, metadata, output, sessionId }: CallToExplain,
  { caller, signal }: ContractsCaller,
): Promise<string> {
  const counters = sessionId === undefined ? undefined : await countersOf(ledger, sessionId, toolName);
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

async function reloadContracts({ contracts, reloadContracts: reload }: Service): Promise<ContractsReload> {
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
async function countersOf(ledger: OpenLedger, sessionId: string, toolName: string): Promise<ExplainCounters> {
  const [prefix] = sessionCounterPrefixes(sessionId);
  const metrics = Object.keys(sessionMetrics) as SessionMetric[]; // the keys of a complete table
  const counters = await readCounters(
    ledger,
    metrics.map((metric) => `${prefix}contract/${counterNameOf(metric, toolName)}`),
  );
  return Object.fromEntries(
    metrics.map((metric, index) => [metric, (counters[index]?.used ?? 0) + (counters[index]?.reserved ?? 0)]),
  );
}
