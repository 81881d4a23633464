/** Composes rules from texts and reports every problem of every document at once. */
import type { Awaitable } from '../base/json.ts';
import type { ContractDocument } from '../policy/judge/contracts.ts';
import type { ContractsProblem } from '../policy/language/contracts-problem.ts';
import { contractsError } from '../policy/language/contracts-problem.ts';
import { composeRules } from '../policy/compose/compose-rules.ts';
import type { DocumentResult } from '../policy/read/parse-document.ts';
import { readDocument } from '../policy/read/parse-document.ts';
import { resolveExtends } from '../policy/compose/resolve-extends.ts';
import type { Ruleset } from '../policy/language/ruleset.ts';
import { sha256Hex } from '../policy/language/join-versions.ts';
import type { ContractsOptions } from './contracts-options.ts';
import { toReadOptions } from './contracts-options.ts';
import type { ReadContracts } from './loaded-contracts.ts';

/** A document and its source, for messages. */
export type DocumentSource = { readonly source: string; readonly text: string | Uint8Array };

/** Reads a document, each only once: finding parents and composing both need it. */
export type ReadText = (document: DocumentSource) => Awaitable<DocumentResult>;

/** Reads documents synchronously. */
export function createReadText(
  options: ContractsOptions,
  recorded = false,
): (document: DocumentSource) => DocumentResult {
  const reading = { ...toReadOptions(options), recorded };
  return rememberDocuments((document) => readDocument(document.text, document.source, reading));
}

/** The same reader with a cache, so that no document is read twice. */
export function rememberDocuments<Result>(
  read: (document: DocumentSource) => Result,
): (document: DocumentSource) => Result {
  const known = new Map<DocumentSource, Result>();
  return (document) => {
    const result = known.get(document) ?? read(document);
    known.set(document, result);
    return result;
  };
}

/** Composes documents, left to right. `parents` are the rulesets they may extend, by the name in their metadata. */
export const readDocuments = (
  texts: readonly DocumentSource[],
  parents: readonly DocumentSource[],
  readText: (document: DocumentSource) => DocumentResult,
): ReadContracts => composeDocuments(texts.map(withResult(readText)), parents.map(withResult(readText)));

export type ReadDocument = { readonly text: DocumentSource; readonly result: DocumentResult };

const withResult =
  (readText: (document: DocumentSource) => DocumentResult) =>
  (text: DocumentSource): ReadDocument => ({ text, result: readText(text) });

/** The same for documents that are already read. */
export function composeDocuments(
  texts: readonly ReadDocument[],
  parents: readonly ReadDocument[],
): ReadContracts {
  const problems: ContractsProblem[] = [];
  const read = ({ result }: ReadDocument): Extract<DocumentResult, { ok: true }>['document'][] => {
    if (result.ok) return [result.document];
    for (const problem of result.problems) problems.push(problem);
    return [];
  };
  const documents = texts.flatMap(read);
  const known = new Map<string, Ruleset>();
  for (const document of [...documents, ...parents.flatMap(read)])
    if (document.kind === 'Ruleset') known.set(document.ruleset.name, document.ruleset);
  if (problems.length > 0) throw contractsError(problems);
  const composed = composeRules(
    documents.map((document) =>
      document.kind === 'Ruleset'
        ? { ...document, ruleset: resolveExtends(document.ruleset, (name) => known.get(name)) }
        : document,
    ),
  );
  return { composed, documents: [...texts, ...parents].map(({ text }) => toDocument(text)), files: [] };
}

const utf8 = new TextDecoder();

const toDocument = ({ source, text }: DocumentSource): ContractDocument => ({
  name: source,
  stamp: sha256Hex(text),
  text: typeof text === 'string' ? text : utf8.decode(text),
});
