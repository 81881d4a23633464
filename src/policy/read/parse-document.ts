/** Reads contract documents from the text of a file, or from a value given by a program. */
import { canonicalJson } from '../../base/canonical.ts';
import { formatPath, toJson } from '../../base/json.ts';
import type { ContractsProblem } from '../language/contracts-problem.ts';
import { contractsError } from '../language/contracts-problem.ts';
import type { DocumentNode } from './document-node.ts';
import { nodeFromJson } from './document-node.ts';
import type { DocumentReading } from './document-reading.ts';
import { DocumentReader } from './document-reader.ts';
import { readDocumentText } from './document-text.ts';
import type { ReadOptions, ReadSettings } from './read-options.ts';
import { createReadSettings } from './read-options.ts';
import { readRuleset } from './read-ruleset.ts';
import { readWorkflow } from './read-workflow.ts';
import { apiVersion } from '../language/rule-shape.ts';
import type { Ruleset } from '../language/ruleset.ts';
import { sha256Hex } from '../language/join-versions.ts';
import type { Workflow } from '../language/workflow.ts';
import { readYamlDocument } from './yaml-document.ts';

export type ParsedDocument =
  | { readonly kind: 'Ruleset'; readonly source: string; readonly ruleset: Ruleset }
  | { readonly kind: 'Workflow'; readonly source: string; readonly workflow: Workflow };

/** A document, or all of its problems. */
export type DocumentResult =
  | { readonly ok: true; readonly document: ParsedDocument }
  | { readonly ok: false; readonly problems: readonly ContractsProblem[] };

/** Reads the text of one document. Throws only `config.invalid`, for words that a host may not register. */
export function readDocument(
  text: string | Uint8Array,
  source: string,
  options?: ReadOptions,
): DocumentResult {
  const settings = createReadSettings(options);
  const problems: ContractsProblem[] = [];
  const given = readDocumentText(text, source, problems);
  const node = given && readYamlDocument(given.text, given.reading);
  const document = node && readKind(node, given.reading, settings, given.version);
  return conclude(document, problems, source);
}

/** The same for a document given as a value. Its version is the digest of its canonical JSON. */
export function readDocumentValue(value: unknown, source: string, options?: ReadOptions): DocumentResult {
  const settings = createReadSettings(options);
  const problems: ContractsProblem[] = [];
  const reading: DocumentReading = { source, locate: () => ({ line: 1, column: 1 }), problems };
  const json = toJson(value);
  if (!json.ok) {
    const field = formatPath(json.path).replace(/^\$\.?/, '');
    const message = `The document is not plain data: ${json.problem}.`;
    return { ok: false, problems: [{ source, line: undefined, column: undefined, field, message }] };
  }
  const version = sha256Hex(canonicalJson(json.value));
  return conclude(readKind(nodeFromJson(json.value), reading, settings, version), problems, source);
}

/** Reads the text of one document, or throws `contracts.invalid` with every problem. */
export function parseDocument(
  text: string | Uint8Array,
  source: string,
  options?: ReadOptions,
): ParsedDocument {
  const result = readDocument(text, source, options);
  if (!result.ok) throw contractsError(result.problems);
  return result.document;
}

function conclude(
  document: ParsedDocument | undefined,
  problems: readonly ContractsProblem[],
  source: string,
): DocumentResult {
  if (problems.length > 0) return { ok: false, problems };
  if (document !== undefined) return { ok: true, document };
  // A reader that returns nothing reports why. If one forgets, the document is still rejected.
  const message = 'The document could not be read.';
  return { ok: false, problems: [{ source, line: undefined, column: undefined, field: '', message }] };
}

/** The kind decides which other fields may follow, so a document of unknown kind is not read further. */
function readKind(
  node: DocumentNode,
  reading: DocumentReading,
  settings: ReadSettings,
  version: string,
): ParsedDocument | undefined {
  const at = new DocumentReader(node, reading);
  const { source } = reading;
  const members = at.members('an object with apiVersion, kind and metadata');
  if (members === undefined) return undefined;
  const kindAt = members.find(({ key }) => key === 'kind')?.value;
  const kind = kindAt
    ? kindAt.oneOf(['Ruleset', 'Workflow'], { ContractBundle: 'Ruleset' })
    : at.refuse('kind is missing: expected Ruleset or Workflow.');
  if (kind === 'Workflow') {
    const workflow = readWorkflow(at, version, settings.parseRegex);
    return workflow && { kind, source, workflow };
  }
  const versionAt = members.find(({ key }) => key === 'apiVersion')?.value;
  if (versionAt === undefined) at.refuse(`apiVersion is missing: expected ${apiVersion}.`);
  else versionAt.oneOf([apiVersion]);
  // If the kind is missing or misspelt, it is most likely this one, and its other problems are worth reporting.
  const looksLikeRules = members.some(({ key }) => key === 'rules' || key === 'contracts');
  if (kind === undefined && !looksLikeRules) return undefined;
  const ruleset = readRuleset(at, settings, version);
  return ruleset && { kind: 'Ruleset', source, ruleset };
}
