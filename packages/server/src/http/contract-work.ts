/** Work on documents that a caller sent. The caller may choose them to be slow or large. */
import { isQuittanceError } from 'quittance/internal/base/error';
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { readJsonText } from 'quittance/internal/base/json';
import { LoadedContracts } from 'quittance/internal/contracts/loaded-contracts';
import { createReadText, readDocuments } from 'quittance/internal/contracts/read-documents';
import type { KnownTool } from 'quittance/internal/policy/language/lint-warning';
import type { ContractsProblem } from 'quittance/internal/policy/language/contracts-problem';
import type { SessionMetric } from 'quittance/internal/policy/language/session-metric';
import { countersFrom } from 'quittance/internal/policy/language/session-metric';
import type { Principal } from 'quittance/internal/tool/tool-context';
import type { ContractsCheck, ContractsExplanation, TypedDocuments } from './api/contract.ts';

type Documents = TypedDocuments['documents'];

export type ContractOrder =
  | { readonly kind: 'check'; readonly documents: Documents; readonly tools: readonly KnownTool[] }
  | { readonly kind: 'explain'; readonly documents: Documents; readonly about: ExplainOrder }
  | { readonly kind: 'load'; readonly documents: Documents };

export type ExplainOrder = {
  readonly toolName: string;
  readonly input: JsonObject;
  readonly principal: Principal | undefined;
  readonly metadata: JsonObject | undefined;
  readonly output: JsonValue | undefined;
  /** The counters of session rules; undefined without a session. */
  readonly counters: ExplainCounters | undefined;
};

/** Counts by key, passed between threads. A missing key counts 0. */
export type ExplainCounters = Readonly<Partial<Record<SessionMetric, number>>>;

/** The answer as JSON text. Throws `contracts.invalid` if documents that must load do not. */
export async function workOnContracts(order: ContractOrder): Promise<string> {
  switch (order.kind) {
    case 'check':
      return JSON.stringify(checkDocuments(order.documents, order.tools));
    case 'explain':
      return JSON.stringify(await explainWith(loadTyped(order.documents), order.about));
    case 'load':
      loadTyped(order.documents);
      return '{}';
  }
}

/**
 * Loads documents that a caller typed. They are judged without an environment and may run nothing: a caller
 * must not learn from rules what the server's process knows.
 */
export function loadTyped(documents: Documents): LoadedContracts {
  const options = { env: {}, exec: false } as const;
  const texts = documents.map(({ name, text }) => ({ source: name, text }));
  return new LoadedContracts(readDocuments(texts, [], createReadText(options)), options);
}

export async function explainWith(
  loaded: LoadedContracts,
  { toolName, input, principal, metadata, output, counters }: ExplainOrder,
): Promise<ContractsExplanation> {
  const explanation = await loaded.explain(
    {
      toolName,
      input,
      ...(principal !== undefined && { principal }),
      ...(metadata !== undefined && { metadata }),
    },
    {
      ...(counters !== undefined && {
        counters: countersFrom((metric) => counters[metric] ?? 0),
      }),
      ...(output !== undefined && { end: { type: 'result', value: output } }),
    },
  );
  return { ...explanation, policyVersion: loaded.version };
}

function checkDocuments(documents: Documents, tools: readonly KnownTool[]): ContractsCheck {
  try {
    const loaded = loadTyped(documents);
    return {
      ok: true,
      policyVersion: loaded.version,
      problems: [],
      warnings: loaded.check(tools.length === 0 ? undefined : tools),
    };
  } catch (error) {
    return {
      ok: false,
      policyVersion: undefined,
      problems: problemsOf(error).slice(0, mostProblems),
      warnings: [],
    };
  }
}

const mostProblems = 200;

/** Every problem of documents. Rethrows any other error. */
export function problemsOf(error: unknown): readonly ContractsProblem[] {
  if (!isQuittanceError(error, 'contracts.invalid')) throw error;
  const listed: JsonValue = readJsonText(error.facts['problems'] ?? '[]');
  // Written by `contractsError`, as a list of them.
  return Array.isArray(listed) ? (listed as unknown as readonly ContractsProblem[]) : [];
}
