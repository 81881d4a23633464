/** Renders the JSON Schema of contract documents. */
import { createDocumentSchema } from '../src/policy/read/document-schema.ts';
import { formatText } from './format-text.ts';

/** Every generated file by its path from the root of the repository. */
export async function renderContracts(): Promise<ReadonlyMap<string, string>> {
  const path = 'schema/contracts.schema.json';
  return new Map([[path, await formatText(path, JSON.stringify(createDocumentSchema()))]]);
}
