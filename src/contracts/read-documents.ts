/** From texts to rules put together: every problem of every document at once. */
import type { ContractDocument } from '../policy/contracts.ts';
import type { ContractsProblem } from '../policy/contracts-problem.ts';
import { contractsError } from '../policy/contracts-problem.ts';
import { composeRules } from '../policy/compose-rules.ts';
import type { DocumentResult } from '../policy/parse-document.ts';
import { readDocument } from '../policy/parse-document.ts';
import { resolveExtends } from '../policy/resolve-extends.ts';
import type { Ruleset } from '../policy/ruleset.ts';
import { sha256Hex } from '../policy/version-stamp.ts';
import type { ContractsOptions } from './contracts-options.ts';
import { toReadOptions } from './contracts-options.ts';
import type { ReadContracts } from './loaded-contracts.ts';

/** A document and where it comes from, for messages. */
export type DocumentText = { readonly source: string; readonly text: string | Uint8Array };

/** Reads a document, the same one only once: looking for parents and composing both need it. */
export type ReadText = (document: DocumentText) => DocumentResult;

export function createReadText(options: ContractsOptions): ReadText {
  const reading = toReadOptions(options);
  const known = new Map<DocumentText, DocumentResult>();
  return (document) => {
    const result = known.get(document) ?? readDocument(document.text, document.source, reading);
    known.set(document, result);
    return result;
  };
}

/** Composes documents, left to right. `parents` are what they may extend, by the name in their metadata. */
export function readDocuments(
  texts: readonly DocumentText[],
  parents: readonly DocumentText[],
  readText: ReadText,
): ReadContracts {
  const problems: ContractsProblem[] = [];
  const read = (document: DocumentText): Extract<DocumentResult, { ok: true }>['document'][] => {
    const result = readText(document);
    if (result.ok) return [result.document];
    problems.push(...result.problems);
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
  return { composed, documents: [...texts, ...parents].map(toDocument), files: [] };
}

const utf8 = new TextDecoder();

const toDocument = ({ source, text }: DocumentText): ContractDocument => ({
  name: source,
  stamp: sha256Hex(text),
  text: typeof text === 'string' ? text : utf8.decode(text),
});
